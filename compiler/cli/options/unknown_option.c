/* unknown_option.c: reports an option that a command does not accept and
 * suggests the one that the user probably meant. */
#include <ctype.h>
#include <string.h>

#include "cli/options/options.h"

#define SYNONYM(answer, names) { answer, names },
static const struct attn_synonym synonyms[] = {
#include "runtime/options/synonyms.h"
};

/* Returns the names that can be suggested: options, operands, and values such
 * as "--emit=obj"; also "<" if the command reads lines. */
static const char *const *names_of(Arena *a, int command, int *n)
{
    VEC(const char *) names = { 0 };
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (!(row->commands & command))
            continue;
        vec_push(a, &names, row->name);
        for (int k = 0; k < row->n_words; k++)
            vec_push(a, &names,
                     arena_printf(a, "%s=%s", row->name, row->words[k]));
    }
    if (command & (CmdTiers | CmdTokens))
        vec_push(a, &names, "<");
    *n = names.n;
    return names.at;
}

static const char *hint_of(Arena *a, int command, const char *word, int how)
{
    struct attn_options o = { .synonym = synonyms,
                              .synonyms = sizeof synonyms / sizeof *synonyms };
    o.name = names_of(a, command, &o.names);
    return attn_option_hint(word, &o, how);
}

bool option_misread(const char *word, int command)
{
    Arena *a = arena_new();
    const bool hint = hint_of(a, command, word, ATTN_HINT_NAMED) != NULL;
    arena_free(a);
    return hint;
}

/* ---- what is said ---- */

/* Returns the names of the commands that accept an option, with commas. */
static const char *takers(Arena *a, int bits)
{
    const char *list = "";
    for (int i = 0; i < n_commands; i++)
        if (commands[i].bit & bits)
            list = arena_printf(a, "%s%s%s", list, *list ? ", " : "",
                                commands[i].name);
    return list;
}

void unknown_option(Arena *a, const Command *c, const char *word)
{
    const char *name = arena_strndup(a, word, strcspn(word, "="));
    int bits = 0; /* the commands that accept it */
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (strcmp(row->name, name) != 0)
            continue;
        bits |= row->commands;
        if (row->commands & c->bit && row->takes)
            fail(ExitUsage, "%s takes its value without '=': %s %s", name, name,
                 row->takes);
        if (row->commands & c->bit)
            fail(ExitUsage, "%s takes no value", name);
    }
    const char *hint = hint_of(a, c->bit, name, ATTN_HINT_BEGUN);
    if (!hint && bits)
        fail(ExitUsage, "attnc %s takes no %s: it belongs to %s", c->name, name,
             takers(a, bits));
    if (!hint)
        hint = hint_of(a, c->bit, name, ATTN_HINT_NEAR);
    if (!hint)
        fail(ExitUsage, "unknown option '%s'; attnc help %s lists them",
             quote(name), c->name);
    fail(ExitUsage,
         islower((unsigned char)*hint)
             ? "unknown option '%s': %s"
             : "unknown option '%s': did you mean %s?",
         quote(name), hint);
}
