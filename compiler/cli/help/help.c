/* help.c: attnc help and the manual pages, attnc(1) and one per command,
 * printed from the rows of commands.h, option_table.h and pages.c. Help and
 * manual have the same parts in the same order; a PageForm describes how each
 * part looks. The manual uses the macros of man(7). */
#include <ctype.h>
#include <stdlib.h>

#include "cli/help/pages.h"

/* ---- forms ---- */

/* Texts in which "%s", or "%27s" with a width, stands for an argument. HEAD and
 * NAME begin a colour; END ends it. */
#define HEAD "\1"
#define NAME "\2"
#define END "\3"
typedef struct {
    const char *group;    /* title */
    const char *option;   /* option with its value, meaning */
    const char *examples; /* title of the examples */
    const char *example;  /* line, purpose (in the manual: purpose, line) */
    const char *exits;    /* title of the exit codes */
    const char *exit;     /* code, meaning */
    const char *command;  /* name, summary */
    bool escaped;         /* escape what troff interprets in arguments */
} PageForm;

static const PageForm help_form = {
    .group = "\n" HEAD "%s:" END "\n",
    .option = "  " NAME "%27s" END " %s\n",
    .examples = "\n" HEAD "Examples:" END "\n",
    .example = "  " NAME "%s" END "\n      %s\n",
    .exits = "\n" HEAD "Exit codes:" END "\n",
    .exit = "  " NAME "%3s" END " %s\n",
    .command = "  " NAME "%10s" END " %s\n",
};

#define ITEM ".TP\n\\fB%s\\fR\n%s\n"
static const PageForm manual_form = {
    .group = ".SS %s\n",
    .option = ITEM,
    .examples = ".SH EXAMPLES\n"
                "models/ is a folder of attnc's sources. An installed attnc "
                "has it in share/attnc/models.\n",
    .example = ".PP\n%s:\n.PP\n.RS 4\n.EX\n%s\n.EE\n.RE\n",
    .exits = ".SH \"EXIT STATUS\"\n",
    .exit = ITEM,
    .command = ITEM,
    .escaped = true,
};

/* Prints text with the characters escaped that troff interprets. */
static void put_escaped(FILE *out, const char *text)
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

/* Prints a text of a form. Its arguments are texts. */
static void put(FILE *out, const PageForm *f, const char *text, ...)
{
    static const Paint role[] = { PaintText, PaintHead, PaintName, PaintEnd };
    va_list arguments;
    va_start(arguments, text);
    for (; *text; text++) {
        if (*text <= *END) {
            fputs(paint(out, role[(int)*text]), out);
        } else if (*text != '%') {
            fputc(*text, out);
        } else {
            char *end;
            const int width = (int)strtol(text + 1, &end, 10);
            const char *argument = va_arg(arguments, const char *);
            if (f->escaped)
                put_escaped(out, argument);
            else
                fprintf(out, "%-*s", width, argument);
            text = end; /* the s */
        }
    }
    va_end(arguments);
}

/* ---- parts of both ---- */
static void put_option(FILE *out, const PageForm *f, const Option *row)
{
    const bool takes = row->takes != NULL;
    const bool is_long = row->name[1] == '-';
    const char *joint = !takes              ? ""
                      : row->kind == Maybe  ? "[="
                      : is_long             ? "="
                      : row->name[1] == 'O' ? ""
                                            : " ";
    const char *value = takes ? row->takes : "";
    const char *end = row->kind == Maybe ? "]" : "";
    char left[64];
    snprintf(left, sizeof left, "%s%s%s%s", row->name, joint, value, end);
    if (f->escaped && takes)
        put(out, f, ".TP\n\\fB%s\\fR%s\\fI%s\\fR%s\n%s\n", row->name, joint,
            value, end, row->help);
    else
        put(out, f, f->option, left, row->help);
}

static void put_group(FILE *out, const PageForm *f, const Command *c, int group)
{
    bool any = false;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if ((int)row->group != group || !(row->commands & c->bit))
            continue;
        if (!any)
            put(out, f, f->group, group_title[group]);
        put_option(out, f, row);
        any = true;
    }
}

static void put_exits(FILE *out, const PageForm *f, int bits)
{
    put(out, f, f->exits);
    for (int i = 0; i < n_exits; i++) {
        char code[8];
        snprintf(code, sizeof code, "%d", exit_table[i].code);
        if (exit_table[i].commands & bits)
            put(out, f, f->exit, code, exit_table[i].meaning);
    }
}

static void put_parts(FILE *out, const PageForm *f, const Command *c)
{
    const Page *page = &pages[c - commands];
    for (int group = GroupOperands + 1; group < OptionGroups; group++)
        put_group(out, f, c, group);
    put(out, f, f->examples);
    for (int i = 0; i < PageExamples; i++) {
        const char *line = page->example[i].line;
        const char *what = page->example[i].what;
        put(out, f, f->example, f->escaped ? what : line,
            f->escaped ? line : what);
    }
    put_exits(out, f, c->bit);
}

static void put_commands(FILE *out, const PageForm *f)
{
    for (int i = 0; i < n_commands; i++)
        put(out, f, f->command, commands[i].name, commands[i].summary);
}

/* ---- help ---- */
void print_help(FILE *out, const Command *c)
{
    const PageForm *f = &help_form;
    put(out, f, HEAD "usage:" END " attnc ");
    if (c) {
        put(out, f, "%s [options]%s%s\n%s\n", c->name, *c->takes ? " " : "",
            c->takes, c->summary);
        put_parts(out, f, c);
        return;
    }
    put(out, f,
        "COMMAND [options] SPEC\n"
        "Compiles Transformer models to C. A SPEC is a YAML file, or the folder\n"
        "or .gguf file of a checkpoint.\n\n");
    put_commands(out, f);
    put(out, f,
        "\n`attnc help COMMAND` lists the options of a command, with "
        "examples.\n");
}

/* ---- manual ---- */
static void put_title(FILE *out, const char *name, const char *summary)
{
    fputs(".TH \"", out);
    for (const char *at = name; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    put(out, &manual_form,
        "\" 1 " ATTNC_DATE " \"attnc " ATTNC_VERSION "\"\n"
        ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n",
        name, summary);
}

/* Prints the end of a page, after the exit codes: the environment, and
 * references to other pages. */
static void put_end(FILE *out, const Command *c)
{
    static const char *const variable[][2] = {
        { "NO_COLOR", "set to anything: no colours on a terminal" },
        { "TERM", "dumb or not set: no colours either" },
        { "XDG_CACHE_HOME",
          "its folder attnc has compiled models and the records of attnc "
          "tune; default: ~/.cache" },
        { "ATTNC_BACKEND",
          "the back end of attnc run and score if --backend is not given; "
          "default: auto" },
        { "ATTNC_CACHE_LIMIT",
          "maximum bytes of compiled models there, such as 500M; "
          "default: 2G; 0: none" },
        { "TMPDIR", "folder for temporary files of C compilers" },
    };
    const PageForm *f = &manual_form;
    put(out, f, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof variable / sizeof *variable; i++)
        put(out, f, ITEM, variable[i][0], variable[i][1]);
    put(out, f, ".SH \"SEE ALSO\"\n");
    const char *before = c ? ".BR attnc (1),\n" : "";
    for (int i = 0; i < n_commands; i++) {
        if (&commands[i] == c)
            continue;
        fprintf(out, "%s.BR attnc\\-%s (1)", before, commands[i].name);
        before = ",\n";
    }
    fputc('\n', out);
}

static void put_page(FILE *out, const Command *c)
{
    char name[64];
    snprintf(name, sizeof name, "attnc-%s", c->name);
    put_title(out, name, c->summary);
    put(out, &manual_form, ".B attnc %s\n[\\fIoptions\\fR]", c->name);
    if (*c->takes)
        put(out, &manual_form, " \\fI%s\\fR", c->takes);
    put(out, &manual_form, "\n.SH DESCRIPTION\n%s\n.SH OPTIONS\n",
        pages[c - commands].about);
    put_parts(out, &manual_form, c);
}

void print_manual(FILE *out, const Command *c)
{
    if (c) {
        put_page(out, c);
    } else {
        put_title(out, "attnc", "a Transformer's spec in, C out");
        put(out, &manual_form,
            ".B attnc\n\\fICOMMAND\\fR [\\fIoptions\\fR] [\\fISPEC\\fR]\n"
            ".SH DESCRIPTION\n"
            "attnc compiles the spec of a Transformer, a YAML file, to C that "
            "needs no library: it builds the graph of operations, fuses them, "
            "plans memory and tiles, and emits one file. It also runs, "
            "measures, tunes and checks the model. A\n"
            ".I SPEC\n"
            "of \\- is stdin, an output file of \\- is stdout.\n"
            ".SH COMMANDS\n");
        put_commands(out, &manual_form);
        put_exits(out, &manual_form, CmdAll);
    }
    put_end(out, c);
}
