/* program_options.c: emits the table of the program's options: the rows of
 * runtime/options/option_rows.h that apply to its kind of model. */
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"
#include "runtime/base/pool.h"
#include "runtime/options/program_rows.h"
#include "runtime/options/settings.h"

#include <string.h>

typedef struct {
    int use;
    const char *group, *kind, *name, *takes, *member;
    double least, most, value;
    const char *help;
} Row;

/* headings of the program's help for attnc's groups */
#define GROUP_Lines "Lines"
#define GROUP_Prompt "Prompt"
#define GROUP_Chat "Chat"
#define GROUP_Search "Search"
#define GROUP_Sampling "Sampling"
#define GROUP_Batch "Batch"
#define GROUP_Model "General"
#define GROUP_Code "General"
#define GROUP_General "General"

#define TEXT(words) #words
#define TEXT_OF(words) TEXT(words)
#define OPTION(use, group, kind, name, takes, place, member, least, most, \
               value, help)                                                 \
    { use,   GROUP_##group, TEXT_OF(KIND_##kind),        name, takes,       \
      TEXT_OF(AT_##place(member)), least, most, value, help },
#define PROGRAM_OPTION OPTION
static const Row rows[] = {
#include "runtime/options/option_rows.h"
};

#define SYNONYM(answer, names) { answer, names },
static const struct attn_synonym synonyms[] = {
#include "runtime/options/synonyms.h"
};

static int use_of(const Plan *p)
{
    if (has_decoder(p))
        return ATTN_FOR_LINES | ATTN_FOR_PROMPT | ATTN_FOR_SCORE
             | ATTN_FOR_CHAT;
    return p->g->spec->kind == KindAttention || p->g->spec->input_width > 0
             ? ATTN_FOR_NUMBERS
             : ATTN_FOR_ENCODE;
}

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names))
        names++;
    return *names;
}

/* True if the program accepts the option. Programs without threads or ranks
 * have no options for dividing calls. Ranks write no files: each has only its
 * part of a state, and all have the same answers. */
static bool is_taken(const Gen *g, const Row *row, int use)
{
    static const char *const ranks[] = { "--rank-timeout", "--collectives",
                                         "--input", NULL };
    static const char *const files[] = { "--save-state", "--load-state",
                                         "--shard",      "--resume",
                                         "-o",           NULL };
    return row->use & use && !is_among(row->name, has_ranks(g) ? files : ranks)
        && (has_part(g, FileThreads) || strcmp(row->name, "--threads") != 0)
        && (has_tasks(g) || strcmp(row->name, "--task") != 0)
        && (g->p->g->spec->prompts.n > 0
            || strcmp(row->name, "--prompt-name") != 0);
}

static void put_option_row(Gen *g, Emit *e, const Row *row, int use)
{
    let(e, "group", "%s", row->group);
    let(e, "name", "%s", row->name);
    let(e, "takes", "%s",
        row->takes ? arena_printf(g->a, "\"%s\"", row->takes) : "NULL");
    let(e, "kind", "%s", row->kind);
    let(e, "use", "%d", row->use & use);
    let(e, "member", "%s", row->member);
    let(e, "least", "%.12g", row->least);
    let(e, "most", "%.12g", row->most);
    let(e, "usual", "%.12g", row->value);
    let(e, "help", "%s", row->help);
    if (has_ranks(g) && !strcmp(row->name, "--threads"))
        let(e, "help", "number of threads of each rank; default: 1");
    put(e, "{ \"$group\", \"$name\", $takes, $kind, $use, AT($member),\n"
           "  $least, $most, $usual, \"$help\" },\n");
}

/* True if the program accepts the first word of the answer: an option or, e.g.,
 * "<". */
static bool is_answer(const Gen *g, const char *answer, int use)
{
    const char *name[sizeof rows / sizeof *rows + 3] = { "<", ">",
                                                         "FILE.weights" };
    struct attn_options o = { .name = name, .names = 3 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_taken(g, &rows[i], use))
            name[o.names++] = rows[i].name;
    return attn_hint_applies(answer, &o);
}

/* Emits a row of other tools' names for an option, wrapped at 80 columns. */
static void put_synonym(Emit *e, const struct attn_synonym *row)
{
    let(e, "answer", "%s", row->answer);
    let(e, "names", "%s", row->names);
    if (strlen(row->answer) + strlen(row->names) < 64) {
        put(e, "{ \"$answer\", \"$names\" },\n");
        return;
    }
    put(e, "{ \"$answer\",\n");
    for (const char *at = row->names; *at;) {
        size_t n = strlen(at);
        while (n > 64)
            for (n--; at[n - 1] != ' '; n--) {
            }
        let(e, "names", "%.*s", (int)n, at);
        at += n;
        put(e, *at ? "  \"$names\"\n" : "  \"$names\" },\n");
    }
}

static void put_synonyms(Gen *g, Emit *e, int use)
{
    put(e, "static const struct attn_synonym program_synonym[] = {\n");
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (is_answer(g, synonyms[i].answer, use))
            put_synonym(e, &synonyms[i]);
    put(e, "};\n\n");
}

void emit_options(Gen *g, Emit *e)
{
    const int use = use_of(g->p);
    let(e, "version", "%s", ATTNC_VERSION);
    put(e, "#define PROGRAM_ATTNC \"$version\"\n"
           "#define AT(member) offsetof(struct program, member)\n\n"
           "static const struct program_option program_option[] = {\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_taken(g, &rows[i], use))
            put_option_row(g, e, &rows[i], use);
    put(e, "};\n"
           "enum {\n"
           "    PROGRAM_OPTIONS = sizeof program_option / sizeof "
           "*program_option\n"
           "};\n\n");
    put_synonyms(g, e, use);
}
