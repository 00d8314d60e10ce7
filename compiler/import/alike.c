/* alike.c: reads a model type without rules by the rules of another family
 * (attnc import --as=FAMILY). A family allows that by `alike`, a text that says
 * what the code of another model type may compute differently. Neither keys nor
 * tensors show that, so the import ends only after a comparison or if the user
 * waives it. */
#include <string.h>

#include "base/strings.h"
#include "import/state.h"

/* Returns the rules of the family if they have `alike`, or NULL. */
static const Rules *alike_named(const RuleFiles *all, const char *family)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->at[i].family, family)
            && rules_text(all->at[i].top, "alike"))
            return &all->at[i];
    return NULL;
}

bool alike_find(Import *m, Rules *to)
{
    RuleFiles all = { 0 };
    const char *names = "";
    if (!rules_read(m->a, &all, NULL))
        return false;
    const Rules *found = alike_named(&all, m->o->as);
    if (found) {
        *to = *found;
        return true;
    }
    for (int i = 0; i < all.n; i++)
        if (rules_text(all.at[i].top, "alike"))
            names = arena_printf(m->a, "%s%s%s", names, *names ? ", " : "",
                                 all.at[i].family);
    error_at((Pos){ 0 },
             "--as=%s: only these families may stand for another model type: "
             "%s",
             quote(m->o->as), names);
    m->code = ExitUsage;
    return false;
}

/* Returns the part of a class's name that says what it computes: ForCausalLM,
 * Model. */
static const char *class_head(const char *name)
{
    static const char *const heads[] = { "LMHeadModel", "Model" };
    for (const char *at = strstr(name, "For"); at; at = strstr(at + 3, "For"))
        if (at[3] >= 'A' && at[3] <= 'Z')
            return at;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (ends_in(name, heads[i]))
            return heads[i];
    return name;
}

const Yaml *alike_class(const Yaml *known, const char *name)
{
    for (int i = 0; i < known->keys.n; i++)
        if (!strcmp(class_head(known->keys.at[i]->text), class_head(name)))
            return known->items.at[i];
    return NULL;
}
