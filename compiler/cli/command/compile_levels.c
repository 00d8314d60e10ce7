/* compile_levels.c: attnc compile for several targets. */
#include "cli/command/compile.h"

bool levels_read(TargetPlans *l, const Options *o, Fault *why)
{
    const char *march = o->plain ? NULL : o->code.march;
    if (!is_target_list(march))
        return true;
    Arena *words = arena_new();
    const bool ok = target_list_read(&l->list, words, march, why);
    arena_free(words);
    return ok;
}

const char *level_last(const TargetPlans *l)
{
    return l->list.at[l->list.n - 1];
}

const char *levels_text(Arena *a, const TargetPlans *l, const Target *t)
{
    const char *all = l->list.n ? l->list.at[0] : t->name;
    for (int i = 1; i < l->list.n; i++)
        all = arena_printf(a, "%s,%s", all, l->list.at[i]);
    return all;
}

int levels_plan(TargetPlans *l, Engine *e)
{
    static const char *const none[] = { NULL };
    TargetList others = l->list;
    others.n--;
    const int code = engine_plans(e, &others, l->plan);
    e->target.march = "generic";
    e->target.features = none;
    e->target.guard = NULL;
    return code;
}
