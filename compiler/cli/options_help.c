/* options_help.c: which command takes which option, for help and for hints. */
#include <string.h>

#include "cli/cli.h"

/* --------------------------------------------------------------- hints --- */
static const char *nearest_option(const char *word, int command)
{
    const char *names[256];
    int n = 0;
    for (int i = 0; i < n_options && n < 256; i++)
        if (option_table[i].commands & command)
            names[n++] = option_table[i].name;
    return nearest(word, names, n);
}

bool option_taken(const Command *c, const char *name)
{
    for (int i = 0; i < n_options; i++)
        if ((c->bit & option_table[i].commands)
            && !strcmp(option_table[i].name, name))
            return true;
    return false;
}

/* Names of the commands that take an option. */
static const char *takers(Arena *a, int bits)
{
    const char *list = "";
    for (int i = 0; i < n_commands; i++)
        if (commands[i].bit & bits)
            list = arena_printf(a, "%s%s%s", list, *list ? ", " : "",
                                commands[i].name);
    return list;
}

void option_unknown(Arena *a, const Command *c, const char *name)
{
    for (int i = 0; i < n_options; i++)
        if (strcmp(option_table[i].name, name) == 0)
            fail(ExitUsage, "attnc %s takes no %s: it belongs to %s", c->name,
                 name, takers(a, option_table[i].commands));
    const char *near = nearest_option(name, c->bit);
    if (near)
        fail(ExitUsage, "unknown option '%s': did you mean %s?", quote(name),
             near);
    fail(ExitUsage, "unknown option '%s'; attnc help %s lists them",
         quote(name), c->name);
}

/* ---------------------------------------------------------------- help --- */
static void print_option(FILE *out, const Option *row)
{
    bool is_long = row->name[1] == '-';
    char left[64];
    const char *between = is_long ? "=" : row->name[1] == 'O' ? "" : " ";
    snprintf(left, sizeof left, "%s%s%s", row->name, row->takes ? between : "",
             row->takes ? row->takes : "");
    fprintf(out, "  %-27s %s\n", left, row->help);
}

void print_help(FILE *out, const Command *c)
{
    if (c) {
        fprintf(out, "usage: attnc %s [options]%s%s\n%s\n\n", c->name,
                *c->takes ? " " : "", c->takes, c->summary);
        for (int i = 0; i < n_options; i++)
            if (option_table[i].commands & c->bit)
                print_option(out, &option_table[i]);
        return;
    }
    fputs("usage: attnc COMMAND [options] SPEC\n"
          "A Transformer's spec (YAML) in, C out.\n\n",
          out);
    for (int i = 0; i < n_commands; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fputs("\nattnc help COMMAND lists its options; attnc --version says "
          "which attnc this is.\n",
          out);
}
