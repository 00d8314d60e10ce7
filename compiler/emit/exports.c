/* exports.c: the functions that an emitted file exports, by the rows of
 * runtime/exports.h: prototypes with their comments, and the functions, which
 * call those of the core, static there, with the model.                     */
#include "emit/names.h"
#include "emit/sections.h"

#include <string.h>

typedef enum { Always, Encodes, Decodes, Texts } When;

typedef struct {
    const char *type; /* NULL: the model, which is not exported */
    const char *name;
} Parameter;

enum { MaxParameters = 12 };

typedef struct {
    When when;
    const char *result, *name;
    Parameter parameter[MaxParameters]; /* up to one without a name */
    const char *comment;
} Export;

#define LIST(...) __VA_ARGS__
#define MODEL { NULL, "m" }
#define P(type, name) { #type, #name }
#define EXPORT(when, result, name, parameters, comment)                        \
    { when, #result, #name, { LIST parameters }, comment },
static const Export exports[] = {
#include "runtime/exports.h"
};
enum { Exports = sizeof exports / sizeof *exports };

static bool has_export(const Plan *p, const Export *x)
{
    switch (x->when) {
    case Always:  break;
    case Encodes: return has_entry(p, EntryEncode);
    case Decodes: return has_decoder(p);
    case Texts:   return p->g->spec->kind != KindAttention;
    }
    return true;
}

const char *emit_exported(Arena *a, const Plan *p, int i)
{
    static const char *const others[] = { "model", "embedded", "options" };
    const int n = has_decoder(p) ? 3 : 2;
    if (i < n)
        return arena_printf(a, "%s_%s", p->prefix, others[i]);
    i -= n;
    for (int x = 0; x < Exports; x++)
        if (has_export(p, &exports[x]) && i-- == 0)
            return arena_printf(a, "%s_%s", p->prefix, exports[x].name);
    return NULL;
}

/* "const char *" and "m" side by side. */
static const char *declared(Arena *a, const char *type, const char *name)
{
    const bool pointer = type[strlen(type) - 1] == '*';
    return arena_printf(a, "%s%s%s", type, pointer ? "" : " ", name);
}

/* "const char *tiny_open". */
static const char *head_of(Gen *g, const Export *x, const char *prefix)
{
    return declared(g->a, x->result,
                    arena_printf(g->a, "%s_%s", prefix, x->name));
}

/* "void *bound, const void *file"; model: and the model. */
static const char *parameters_of(Gen *g, const Export *x, bool model)
{
    const char *s = "";
    for (const Parameter *p = x->parameter; p->name; p++)
        if (p->type || model)
            s = arena_printf(g->a, "%s%s%s", s, *s ? ", " : "",
                             declared(g->a,
                                      p->type ? p->type
                                              : "const struct attn_model *",
                                      p->name));
    return s;
}

/* "&model, bound, file". */
static const char *arguments_of(Gen *g, const Export *x)
{
    const char *s = "";
    for (const Parameter *p = x->parameter; p->name; p++)
        s = arena_printf(g->a, "%s%s%s", s, *s ? ", " : "",
                         p->type ? p->name : "&model");
    return s;
}

/* Binds each name to prefix_name, for the comments. */
static void let_names(Emit *e, const char *prefix)
{
    for (int x = 0; x < Exports; x++)
        let(e, exports[x].name, "%s_%s", prefix, exports[x].name);
}

/* The rows' prototypes under their comments. */
static void put_prototypes(Gen *g, Emit *e, const char *prefix, bool model)
{
    const int mark = emit_mark(e);
    let_names(e, prefix);
    for (int x = 0; x < Exports; x++) {
        const Export *row = &exports[x];
        const char *head = head_of(g, row, prefix);
        if (!has_export(g->p, row))
            continue;
        put_comment(e, row->comment);
        if (model)
            head = arena_printf(g->a, "ATTN_API %s", head);
        put_call(e, head, parameters_of(g, row, model), ";");
        put(e, "\n");
    }
    emit_reset(e, mark);
}

void emit_export_prototypes(Gen *g, Emit *e)
{
    put_prototypes(g, e, g->p->prefix, false);
}

void emit_core_prototypes(Gen *g, Emit *e)
{
    put_prototypes(g, e, "attn", true);
}

void emit_exports(Gen *g, Emit *e)
{
    for (int x = 0; x < Exports; x++) {
        const Export *row = &exports[x];
        if (!has_export(g->p, row))
            continue;
        put_call(e, head_of(g, row, g->p->prefix), parameters_of(g, row, false),
                 "");
        put(e, "{\n");
        put_call(e, arena_printf(g->a, "return attn_%s", row->name),
                 arguments_of(g, row), ";");
        put(e, "}\n\n");
    }
}
