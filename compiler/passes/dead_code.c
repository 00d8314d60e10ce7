/* dead-code: remove what no result needs.
 *
 *     %3 = relu %2                    (nothing)
 *     %4 = output %2            ->    %3 = output %2
 *
 * Results are the outputs, the rows and states put in a cache, what the caller
 * gave, and what was asked for by name. needs: nothing.  keeps: all else.
 * breaks: nothing.                       */
#include "passes/rewrite.h"

int dead_code(Graph *g)
{
    return graph_remove_dead(g);
}
