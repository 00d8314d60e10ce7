/* target_list.c: lists of targets, for files with the code of several. */
#include "machine/target.h"

#include <stdlib.h>
#include <string.h>

/* One of each kind of x86-64 that has FMAs. */
static const char portable[] =
    "x86-64-v3,x86-64-v3+avxvnni,x86-64-v4,x86-64-v4+avx512vnni,znver4,znver5,"
    "sapphirerapids";

bool is_target_list(const char *march)
{
    return march && (strchr(march, ',') || !strcmp(march, "portable"));
}

/* True if the same processors run the code of both. */
static bool same_processors(const char *name, const Target *t)
{
    Target other;
    Fault unused;
    if (!target_find(&other, name, 0, NULL, &unused))
        return false;
    const struct attn_processor a = target_processor(&other),
                                b = target_processor(t);
    return a.maker == b.maker && a.family == b.family && a.has == b.has;
}

static bool fits(const TargetList *all, const char *name, Target *t, Fault *why)
{
    if (!*name)
        return fault(why, ExitUsage, "--march: a target is missing at a comma");
    if (!strcmp(name, "portable"))
        return fault(why, ExitUsage,
                     "--march: portable is a list of its own: name nothing "
                     "beside it");
    if (!target_find(t, name, 0, NULL, why))
        return false;
    for (int i = 0; i < all->n; i++) {
        if (!strcmp(all->at[i], t->name))
            return fault(why, ExitUsage, "--march: %s is in the list twice",
                         name);
        if (same_processors(all->at[i], t))
            return fault(why, ExitUsage,
                         "--march: %s and %s are told apart by no feature that "
                         "the code needs: leave one out",
                         all->at[i], name);
    }
    if (!t->triple || strncmp(t->march, "x86", 3) != 0)
        return fault(why, ExitUsage,
                     "--march: a list is of x86-64 processors: leave out %s",
                     name);
    if (!t->fma)
        return fault(why, ExitUsage,
                     "--march: %s has no FMAs, so its results have other bits "
                     "than those of the others: leave it out",
                     name);
    if (all->n == MostTargets)
        return fault(why, ExitUsage, "--march: a list has at most %d targets",
                     MostTargets);
    return true;
}

bool target_list_read(TargetList *to, Arena *a, const char *march, Fault *why)
{
    Target found[MostTargets];
    const char *rest = strcmp(march, "portable") ? march : portable;
    to->n = 0;
    for (bool more = true; more;) {
        const size_t n = strcspn(rest, ",");
        Target t;
        if (!fits(to, arena_strndup(a, rest, n), &t, why))
            return false;
        int i = to->n++;
        for (; i > 0 && target_above(&t, &found[i - 1]); i--) {
            found[i] = found[i - 1];
            to->at[i] = to->at[i - 1];
        }
        found[i] = t;
        to->at[i] = t.name;
        more = rest[n] == ',';
        rest += n + 1;
    }
    return true;
}
