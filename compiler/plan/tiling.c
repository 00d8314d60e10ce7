/* tiling.c: the table of tiling parameters, and tilings as text. */
#include "plan/plan.h"

#include <string.h>

const char *const task_word[TaskKinds] = {
    [TaskMatmul] = "matmul",       [TaskSmallM] = "small_m",
    [TaskAttention] = "attention", [TaskRows] = "rows",
    [TaskSplit] = "split",
};

const TilingParameter tiling_parameters[TilingParameters] = {
#define PARAMETER(name, tasks, least, most, step, text)                        \
    { #name, tasks, least, most, step, text, offsetof(Tiling, name) },
#include "plan/tiling_parameters.h"
#undef PARAMETER
};

int32_t tiling_get(const Tiling *t, int parameter)
{
    int32_t value;
    memcpy(&value, (const char *)t + tiling_parameters[parameter].at,
           sizeof value);
    return value;
}

void tiling_set(Tiling *t, int parameter, int32_t value)
{
    memcpy((char *)t + tiling_parameters[parameter].at, &value, sizeof value);
}

static bool tiling_value_valid(const TilingParameter *k, TaskKind kind,
                               int32_t value)
{
    if (value == 0)
        return true;
    return k->tasks & On(kind) && value >= k->least && value <= k->most
        && (value - k->least) % k->step == 0;
}

bool tiling_valid(const Tiling *t, TaskKind kind)
{
    for (int i = 0; i < TilingParameters; i++)
        if (!tiling_value_valid(&tiling_parameters[i], kind, tiling_get(t, i)))
            return false;
    return true;
}

bool tiling_same(const Tiling *a, const Tiling *b)
{
    return memcmp(a, b, sizeof *a) == 0; /* only int32_t: no padding */
}

char *tiling_text(Arena *a, const Tiling *t)
{
    char *text = arena_printf(a, "%s", "");
    for (int i = 0; i < TilingParameters; i++)
        if (tiling_get(t, i))
            text = arena_printf(a, "%s%s%s=%d", text, *text ? " " : "",
                                tiling_parameters[i].name, tiling_get(t, i));
    return text;
}

bool task_same(const TaskKey *a, const TaskKey *b)
{
    return a->kind == b->kind && a->dtype == b->dtype
        && !strcmp(a->shape, b->shape) && !strcmp(a->epilogue, b->epilogue);
}
