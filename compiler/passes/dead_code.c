/* dead_code.c: dead-code removes nodes that no result needs.
 *
 *     %3 = relu %2                    (nothing)
 *     %4 = output %2            ->    %3 = output %2
 *
 * Results are the outputs, rows and states written to a cache, the caller's
 * inputs, and nodes requested by name.
 * needs: nothing.  keeps: all else.  breaks: nothing. */
#include "passes/rewrite.h"

int dead_code(Graph *g)
{
    return graph_remove_dead(g);
}
