/* runtime_text.c: adapts a file of runtime/ to a model. Tables contain only the
 * rows that the model's vocabularies need, and code for vocabularies or chats
 * is omitted if the model has none. */
#include "emit/text/embedded.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"
#include "runtime/core.h"

#include <string.h>

bool has_vocabulary(const Gen *g)
{
    return has_part(g, FileText);
}

bool has_embed(const Gen *g)
{
    return has_vocabulary(g) && !has_decoder(g->p);
}

bool has_chat(const Gen *g)
{
    return has_decoder(g->p) && has_vocabulary(g) && spec_chats(g->p->g->spec);
}

bool has_tasks(const Gen *g)
{
    const Spec *s = g->p->g->spec;
    const struct attn_task query = spec_task(s, ATTN_TASK_QUERY),
                           document = spec_task(s, ATTN_TASK_DOCUMENT);
    return has_embed(g)
        && (s->pair.second || query.length > 0 || query.prefix >= 0
            || document.length > 0 || document.prefix >= 0
            || document.skips > 0);
}

static bool has_fixed(const Gen *g)
{
    return plan_fixed(g->p);
}

static bool has_search(const Gen *g)
{
    return has_decoder(g->p);
}

static bool has_threads(const Gen *g)
{
    return has_part(g, FileThreads);
}

static bool is_beside(const Gen *g)
{
    return g->every;
}

/* ---- rows ---- */

typedef struct {
    int number;
    const char *name, *members;
} Row;

#define KIND(kind, ...) { kind, #kind, #__VA_ARGS__ },
static const Row kinds[] = {
#include "runtime/text/kinds.h"
};

#define STEP(op, ...) { op, #op, #__VA_ARGS__ },
static const Row steps[] = {
#include "runtime/text/steps.h"
};

#define STEP(op, ...) { op, #op, #__VA_ARGS__ },
static const Row split_steps[] = {
#include "runtime/text/split_steps.h"
};

#define STEP(op, ...) { op, #op, #__VA_ARGS__ },
static const Row writers[] = {
#include "runtime/text/writers.h"
};

static bool is_kind(const struct attn_vocab *v, int kind)
{
    return v->head->kind == kind;
}

static bool has_step(const struct attn_vocab *v, int op)
{
    for (int list = 0; list < 3; list++)
        for (int64_t i = 0; i < v->steps[list]; i++)
            if (v->step[list][i].op == op)
                return true;
    return false;
}

static const struct { /* #include lines replaced by the rows of the file */
    const char *line;
    const Row *row;
    int rows;
    bool (*has)(const struct attn_vocab *v, int number);
} tables[] = {
    { "#include \"kinds.h\"\n", kinds, sizeof kinds / sizeof *kinds, is_kind },
    { "#include \"steps.h\"\n", steps, sizeof steps / sizeof *steps, has_step },
    { "#include \"split_steps.h\"\n", split_steps,
      sizeof split_steps / sizeof *split_steps, has_step },
    { "#include \"writers.h\"\n", writers, sizeof writers / sizeof *writers,
      has_step },
};
enum { Tables = sizeof tables / sizeof *tables };

/* True if a vocabulary needs the row, or may need it because the vocabularies
 * are not loaded. */
static bool needs_row(const EmitOptions *o, int table, int number)
{
    struct attn_vocab v;
    if (!o->vocab[0] && !o->vocab[1])
        return true;
    for (int i = 0; i < 2; i++) {
        if (!o->vocab[i])
            continue;
        attn_vocab_open(&v, o->vocab[i]);
        if (tables[table].has(&v, number))
            return true;
    }
    return false;
}

/* Appends a row such as " [NAME] = { a, b },", wrapped at 80 columns. */
static void put_row(Buffer *b, const Row *row)
{
    const char *at = row->members;
    char head[80];
    size_t column = (size_t)snprintf(head, sizeof head, "    [%s] = {",
                                     row->name);
    const size_t indent = column;
    buffer_printf(b, "%s", head);
    while (*at) {
        const size_t n = strcspn(at, ",");
        const bool last = at[n] == '\0';
        if (column + n + 1 + (last ? strlen(" },") : 1) > 80) {
            buffer_printf(b, "\n%*s", (int)indent, "");
            column = indent;
        }
        buffer_printf(b, " %.*s%s", (int)n, at, last ? "" : ",");
        column += n + 2;
        at += n + strspn(at + n, ", \n");
    }
    buffer_printf(b, " },\n");
}

/* Appends the needed rows. If there are none, appends a row of zeros, because C
 * allows no empty table. */
static void put_rows(const EmitOptions *o, Buffer *b, int table)
{
    int rows = 0;
    for (int i = 0; i < tables[table].rows; i++)
        if (needs_row(o, table, tables[table].row[i].number)) {
            put_row(b, &tables[table].row[i]);
            rows++;
        }
    if (rows == 0)
        buffer_printf(b,
                      "    { 0 } /* not used by the model's vocabularies */\n");
}

/* ---- parts ---- */

static bool is_line(const char *at, size_t n, const char *line)
{
    return n == strlen(line) && !memcmp(at, line, n);
}

static int table_of(const char *at, size_t n)
{
    for (int t = 0; t < Tables; t++)
        if (is_line(at, n, tables[t].line))
            return t;
    return -1;
}

/* Conditions that are decided now. Their #if, #else and #endif lines are
 * removed, and the code between them is either kept or omitted. */
static const struct {
    const char *line;
    bool (*is)(const Gen *g); /* the value; NULL: always false */
} conditions[] = {
    { "#if ATTN_HAS_TEXT\n", has_vocabulary },
    { "#if ATTN_HAS_EMBED\n", has_embed },
    { "#if ATTN_HAS_CHAT\n", has_chat },
    { "#if ATTN_HAS_TASKS\n", has_tasks },
    { "#if ATTN_HAS_FIXED\n", has_fixed },
    { "#if ATTN_HAS_THREADS\n", has_threads },
    { "#if ATTN_HAS_SEARCH\n", has_search },
    { "#if ATTN_HAS_RANKS\n", has_ranks },
    { "#if ATTN_IS_BESIDE\n", is_beside },
    { "#if ATTN_IN_ATTNC\n", NULL },
};
enum { Conditions = sizeof conditions / sizeof *conditions, MostParts = 8 };

typedef struct { /* the #if lines around a line */
    struct {
        bool known, wanted;
    } at[MostParts];
    int n;
} Parts;

static bool begin_part(Parts *parts, const Gen *g, const char *at, size_t n)
{
    bool known = false, wanted = true;
    for (int i = 0; i < Conditions; i++)
        if (is_line(at, n, conditions[i].line)) {
            known = true;
            wanted = conditions[i].is && (g->every || conditions[i].is(g));
        }
    if (parts->n == MostParts)
        die("too many #ifs in each other");
    parts->at[parts->n].known = known;
    parts->at[parts->n].wanted = wanted;
    parts->n++;
    return known;
}

/* True if the adapted file keeps this line. */
static bool is_wanted(Parts *parts, const Gen *g, const char *at, size_t n)
{
    const int last = parts->n - 1;
    bool known = last >= 0 && parts->at[last].known;
    if (n > 3 && !memcmp(at, "#if", 3)) {
        known = begin_part(parts, g, at, n);
    } else if (is_line(at, n, "#else\n") && known) {
        parts->at[last].wanted = !parts->at[last].wanted;
    } else if (is_line(at, n, "#endif\n") && last >= 0) {
        parts->n--;
    } else {
        known = false;
    }
    for (int i = 0; i < parts->n; i++)
        if (!parts->at[i].wanted)
            return false;
    return !known;
}

const char *runtime_text(Gen *g, const char *name, size_t *n)
{
    const char *at = embedded_text(name, n), *end = at + *n;
    Buffer b = { .arena = g->a };
    Parts parts = { .n = 0 };
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t size = (size_t)(newline ? newline + 1 - at : end - at);
        const int table = table_of(at, size);
        if (!is_wanted(&parts, g, at, size)) {
            at += size;
            continue;
        }
        if (table >= 0)
            put_rows(g->o, &b, table);
        else
            buffer_add(&b, at, size);
        at += size;
    }
    *n = (size_t)b.n;
    return b.at;
}
