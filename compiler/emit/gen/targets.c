/* targets.c: what the targets of a file have in common. */
#include "emit/gen/gen.h"

int level_count(const Gen *g)
{
    return g->o->nlevels ? g->o->nlevels + 1 : 0;
}

const Plan *level_plan(const Gen *g, int i)
{
    return i < g->o->nlevels ? g->o->levels[i] : g->p;
}

bool any_amx(const Gen *g)
{
    bool any = plan_has_amx(g->p);
    for (int i = 0; i < level_count(g); i++)
        any |= plan_has_amx(level_plan(g, i));
    return any;
}

const char *level_names(const Gen *g)
{
    const char *all = "";
    for (int i = 0; i < level_count(g); i++)
        all = arena_printf(g->a, "%s%s%s", all, i ? ", " : "",
                           level_plan(g, i)->target.name);
    return all;
}

void let_flags(const Gen *g, Emit *e, const char *next_line)
{
    const Target *t = &g->p->target;
    const bool one = !g->o->nlevels;
    let(e, "flags", "%s%s", one && t->guard ? " " : "",
        one ? target_flags(g->a, t) : "");
    let(e, "break", "%s", one && *t->features ? next_line : "");
}
