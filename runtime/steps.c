/* steps.c: the table of steps: how a text is changed and cut before a model
 * makes ids of it. A step is a row and its functions.                       */
#include "core.h"

/* clang-format off */
static const struct attn_op steps_table[ATTN_STEP_TABLE] = {
    [ATTN_STEP_NONE] = { 0, 0, 0, 0 },
};
/* clang-format on */

ATTN_API const struct attn_op *attn_step_op(int32_t op)
{
    if (op <= ATTN_STEP_NONE || op >= ATTN_STEP_TABLE)
        return NULL;
    return &steps_table[op];
}
