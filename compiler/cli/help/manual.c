/* manual.c: prints manual pages, attnc(1) and one per command, with the macros
 * of man(7), from the rows of commands.h, options.c and pages.c. */
#include <ctype.h>

#include "cli/help/pages.h"

/* Prints text and escapes the characters that troff interprets. */
static void put_manual_text(FILE *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", out);
    for (; *text; text++)
        switch (*text) {
        case '\\': fputs("\\e", out); break;
        case '-':  fputs("\\-", out); break;
        case '~':  fputs("\\(ti", out); break;
        case '^':  fputs("\\(ha", out); break;
        case '`':  fputs("\\(ga", out); break;
        case '\'': fputs("\\(aq", out); break;
        default:   fputc(*text, out);
        }
}

/* Prints a paragraph with a heading, `term`. */
static void print_item(FILE *out, const char *term, const char *what)
{
    fputs(".TP\n\\fB", out);
    put_manual_text(out, term);
    fputs("\\fR\n", out);
    put_manual_text(out, what);
    fputc('\n', out);
}

static void print_title(FILE *out, const char *name, const char *summary)
{
    fputs(".TH \"", out);
    for (const char *at = name; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fputs("\" 1 " ATTNC_DATE " \"attnc " ATTNC_VERSION "\"\n"
          ".SH NAME\n",
          out);
    put_manual_text(out, name);
    fputs(" \\- ", out);
    put_manual_text(out, summary);
    fputs("\n.SH SYNOPSIS\n", out);
}

static void print_environment(FILE *out)
{
    fputs(".SH ENVIRONMENT\n", out);
    print_item(out, "NO_COLOR", "set to anything: no colours on a terminal");
    print_item(out, "TERM", "dumb or not set: no colours either");
    print_item(out, "XDG_CACHE_HOME",
               "where the folder attnc has compiled models and the records of "
               "attnc tune; default: ~/.cache");
    print_item(out, "ATTNC_BACKEND",
               "of attnc run and score, where --backend is not given; default: "
               "auto");
    print_item(out, "ATTNC_CACHE_LIMIT",
               "how many bytes of compiled models are kept there, as 500M; "
               "default: 2G; 0: none");
    print_item(out, "TMPDIR", "for what C compilers write on the way");
}

static void put_exits(FILE *out, int bits)
{
    fputs(".SH \"EXIT STATUS\"\n", out);
    for (int i = 0; i < n_exits; i++) {
        char code[8];
        snprintf(code, sizeof code, "%d", exit_table[i].code);
        if (exit_table[i].commands & bits)
            print_item(out, code, exit_table[i].meaning);
    }
}

static void print_see_also(FILE *out, const Command *c)
{
    const char *before = "";
    fputs(".SH \"SEE ALSO\"\n", out);
    if (c) {
        fputs(".BR attnc (1)", out);
        before = ",\n";
    }
    for (int i = 0; i < n_commands; i++)
        if (&commands[i] != c) {
            fprintf(out, "%s.BR attnc\\-%s (1)", before, commands[i].name);
            before = ",\n";
        }
    fputc('\n', out);
}

/* ---- a command ---- */
static void print_option(FILE *out, const Option *row)
{
    fputs(".TP\n\\fB", out);
    put_manual_text(out, row->name);
    fputs("\\fR", out);
    if (row->takes) {
        fputs(option_joint(row), out);
        fputs("\\fI", out);
        put_manual_text(out, row->takes);
        fputs("\\fR", out);
        fputs(option_end(row), out);
    }
    fputc('\n', out);
    put_manual_text(out, row->help);
    fputc('\n', out);
}

static void put_group(FILE *out, const Command *c, OptionGroup group)
{
    bool any = false;
    for (int i = 0; i < n_options; i++)
        if (option_table[i].group == group
            && (option_table[i].commands & c->bit)) {
            if (!any)
                fprintf(out, ".SS %s\n", group_title[group]);
            print_option(out, &option_table[i]);
            any = true;
        }
}

static void put_examples(FILE *out, const Page *page)
{
    fputs(".SH EXAMPLES\n"
          "models/ is that of attnc's sources, or share/attnc/models of an "
          "installed attnc.\n",
          out);
    for (int i = 0; i < PageExamples; i++) {
        fputs(".PP\n", out);
        put_manual_text(out, page->example[i].what);
        fputs(":\n.PP\n.RS 4\n.EX\n", out);
        put_manual_text(out, page->example[i].line);
        fputs("\n.EE\n.RE\n", out);
    }
}

static void print_page(FILE *out, const Command *c)
{
    char name[64];
    const Page *page = &pages[c - commands];
    snprintf(name, sizeof name, "attnc-%s", c->name);
    print_title(out, name, c->summary);
    fprintf(out, ".B attnc %s\n[\\fIoptions\\fR]", c->name);
    if (*c->takes) {
        fputs(" \\fI", out);
        put_manual_text(out, c->takes);
        fputs("\\fR", out);
    }
    fputs("\n.SH DESCRIPTION\n", out);
    put_manual_text(out, page->about);
    fputs("\n.SH OPTIONS\n", out);
    for (int group = GroupOperands + 1; group < OptionGroups; group++)
        put_group(out, c, (OptionGroup)group);
    put_examples(out, page);
    put_exits(out, c->bit);
    print_environment(out);
    print_see_also(out, c);
}

/* ---- of all ---- */
static void print_overview(FILE *out)
{
    print_title(out, "attnc", "a Transformer's spec in, C out");
    fputs(".B attnc\n\\fICOMMAND\\fR [\\fIoptions\\fR] [\\fISPEC\\fR]\n"
          ".SH DESCRIPTION\n"
          "attnc compiles the spec of a Transformer, a YAML file, to C that "
          "needs no library: it builds the graph of operations, fuses them, "
          "plans memory and tiles, and emits one file. It also runs, measures, "
          "tunes and checks the model. A\n"
          ".I SPEC\n"
          "of \\- is stdin, an output file of \\- is stdout.\n"
          ".SH COMMANDS\n",
          out);
    for (int i = 0; i < n_commands; i++)
        print_item(out, commands[i].name, commands[i].summary);
    put_exits(out, CmdAll);
    print_environment(out);
    print_see_also(out, NULL);
}

void print_manual(FILE *out, const Command *c)
{
    if (c)
        print_page(out, c);
    else
        print_overview(out);
}
