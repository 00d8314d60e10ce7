/* help.c: attnc help, printed from the rows of commands.h, options.c and
 * pages.c. */
#include "cli/help/pages.h"

static void print_head(FILE *out, const char *title)
{
    fprintf(out, "\n%s%s:%s\n", paint(out, PaintHead), title,
            paint(out, PaintEnd));
}

/* Prints a row such as " name what it is", with the name padded to
 * `columns`. */
static void print_row(FILE *out, int columns, const char *name,
                      const char *what)
{
    fprintf(out, "  %s%-*s%s %s\n", paint(out, PaintName), columns, name,
            paint(out, PaintEnd), what);
}

static void print_group(FILE *out, const Command *c, OptionGroup group)
{
    bool any = false;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (row->group != group || !(row->commands & c->bit))
            continue;
        char left[64];
        snprintf(left, sizeof left, "%s%s%s%s", row->name, option_joint(row),
                 row->takes ? row->takes : "", option_end(row));
        if (!any)
            print_head(out, group_title[group]);
        print_row(out, 27, left, row->help);
        any = true;
    }
}

static void print_examples(FILE *out, const Command *c)
{
    const Page *page = &pages[c - commands];
    print_head(out, "Examples");
    for (int i = 0; i < PageExamples; i++)
        fprintf(out, "  %s%s%s\n      %s\n", paint(out, PaintName),
                page->example[i].line, paint(out, PaintEnd),
                page->example[i].what);
}

static void print_exits(FILE *out, const Command *c)
{
    print_head(out, "Exit codes");
    for (int i = 0; i < n_exits; i++) {
        char code[8];
        snprintf(code, sizeof code, "%d", exit_table[i].code);
        if (exit_table[i].commands & c->bit)
            print_row(out, 3, code, exit_table[i].meaning);
    }
}

static void print_usage(FILE *out, const char *rest)
{
    fprintf(out, "%susage:%s attnc %s", paint(out, PaintHead),
            paint(out, PaintEnd), rest);
}

static void print_commands(FILE *out)
{
    print_usage(out, "COMMAND [options] SPEC\n"
                     "A Transformer's spec (YAML) in, C out.\n\n");
    for (int i = 0; i < n_commands; i++)
        print_row(out, 10, commands[i].name, commands[i].summary);
    fputs("\nattnc help COMMAND lists its options; attnc --version says "
          "which attnc this is.\n",
          out);
}

void print_help(FILE *out, const Command *c)
{
    if (!c) {
        print_commands(out);
        return;
    }
    print_usage(out, c->name);
    fprintf(out, " [options]%s%s\n%s\n", *c->takes ? " " : "", c->takes,
            c->summary);
    for (int group = GroupOperands + 1; group < OptionGroups; group++)
        print_group(out, c, (OptionGroup)group);
    print_examples(out, c);
    print_exits(out, c);
}
