/* exports.c: emits the functions that a file exports, from the rows of
 * runtime/exports.h: commented prototypes, and functions that pass the model to
 * the core's static functions. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

typedef enum {
    Always,
    Encodes,
    Decodes,
    Texts,
    Writes,
    EncodesIds,
    EncodesText,
    EncodesRows,
    Attends,
    Answers,
    AnswersText,
    Chats,
    TranslatesIds,
    TranslatesText
} When;

typedef struct {
    const char *type; /* C type; NULL: the parameter is the model, which callers
                       * do not pass */
    const char *name;
    const char *request; /* type of the core's request, if one begins here */
    bool end;            /* the request ends here; callers pass its members as
                          * parameters */
} Parameter;

enum { MaxParameters = 14 };

typedef struct {
    bool opened; /* takes an open model */
    When when;
    const char *result, *name;
    Parameter parameter[MaxParameters]; /* parameters; one without a name ends
                                         * the list */
    const char *comment;
} Export;

#define LIST(...) __VA_ARGS__
#define MODEL { .name = "m" }
#define P(type, name) { #type, #name, NULL, false }
#define REQUEST(type, ...) \
    { .name = "r", .request = #type }, __VA_ARGS__, { .name = "r", .end = true }
#define OPENED(when, result, name, parameters, comment)                        \
    { true, when, #result, #name, { LIST parameters }, comment },
#define EXPORT(when, result, name, parameters, comment)                        \
    { false, when, #result, #name, { LIST parameters }, comment },
static const Export exports[] = {
#include "runtime/exports.h"
};
enum { Exports = sizeof exports / sizeof *exports };

static bool is_named(const Spec *s)
{
    return s->source.file || s->target.file;
}

/* True if all inputs and outputs have vocabularies, and the file has code for
 * them. */
static bool is_text(const Plan *p, const EmitOptions *o)
{
    const Spec *s = p->g->spec;
    const bool reads = s->kind == KindDecoder || s->source.file;
    return reads && (s->target.file || s->kind == KindEncoder)
        && has_root(o, "vocab");
}

bool has_text(const Gen *g)
{
    return is_text(g->p, g->o);
}

static bool has_export(const Plan *p, const EmitOptions *o, const Export *x)
{
    const Spec *s = p->g->spec;
    if (!has_root(o, x->name))
        return false;
    if (x->opened && o->freestanding)
        return false;
    const bool ids = s->input == InputTokens && s->kind != KindAttention;
    const bool answers = ids && has_decoder(p);
    const bool translates = answers && s->kind == KindEncoderDecoder;
    switch (x->when) {
    case Always:         break;
    case Encodes:        return has_entry(p, EntryEncode);
    case Decodes:        return has_decoder(p);
    case Texts:          return is_named(s);
    case Writes:         return has_decoder(p) && is_named(s);
    case EncodesIds:     return ids && !has_decoder(p);
    case EncodesText:    return ids && !has_decoder(p) && is_text(p, o);
    case EncodesRows:    return s->kind == KindEncoder && !ids;
    case Attends:        return s->kind == KindAttention;
    case Answers:        return answers;
    case AnswersText:    return answers && is_text(p, o);
    case Chats:          return answers && is_text(p, o) && spec_chats(s);
    case TranslatesIds:  return translates;
    case TranslatesText: return translates && is_text(p, o);
    }
    return true;
}

bool has_export_of(const Plan *p, const EmitOptions *o, FilePart part)
{
    for (int x = 0; x < Exports; x++)
        if (is_root(part, exports[x].name) && has_export(p, o, &exports[x]))
            return true;
    return false;
}

const char *emit_exported(Arena *a, const Plan *p, const EmitOptions *o, int i)
{
    static const char *const others[] = { "model", "embedded", "options" };
    const int n = has_decoder(p) && has_root(o, "options") ? 3 : 2;
    if (i < n)
        return arena_printf(a, "%s_%s", p->prefix, others[i]);
    i -= n;
    for (int x = 0; x < Exports; x++)
        if (has_export(p, o, &exports[x]) && i-- == 0)
            return arena_printf(a, "%s_%s", p->prefix, exports[x].name);
    return NULL;
}

/* Returns a declaration from a type and a name: "const char *m". */
static const char *declared(Arena *a, const char *type, const char *name)
{
    const bool pointer = type[strlen(type) - 1] == '*';
    return arena_printf(a, "%s%s%s", type, pointer ? "" : " ", name);
}

/* Returns the type and name of an exported function: "const char
 * *tiny_open". */
static const char *head_of(Gen *g, const Export *x, const char *prefix)
{
    return declared(g->a, x->result,
                    arena_printf(g->a, "%s_%s", prefix, x->name));
}

/* Appends `next` to a list separated by commas. */
static const char *listed(Arena *a, const char *list, const char *next)
{
    return arena_printf(a, "%s%s%s", list, *list ? ", " : "", next);
}

/* Returns the parameters that callers see, e.g. "void *bound, const void
 * *file". */
static const char *parameters_of(Gen *g, const Export *x)
{
    const char *s = "";
    for (const Parameter *p = x->parameter; p->name; p++)
        if (p->type)
            s = listed(g->a, s, declared(g->a, p->type, p->name));
    return s;
}

/* Returns the parameters of the core's function, which include the model, and a
 * request instead of its members. */
static const char *core_parameters_of(Gen *g, const Export *x)
{
    const char *s = "";
    bool inside = false;
    for (const Parameter *p = x->parameter; p->name; p++) {
        const char *type = p->type    ? p->type
                         : p->request ? arena_printf(g->a, "const struct %s *",
                                                     p->request)
                                      : "const struct attn_model *";
        if (!inside && !p->end)
            s = listed(g->a, s, declared(g->a, type, p->name));
        inside = (inside || p->request) && !p->end;
    }
    return s;
}

/* Returns the arguments for the core's function, e.g. "&model, bound, file" or
 * "&r, out". */
static const char *arguments_of(Gen *g, const Export *x)
{
    const char *s = "";
    bool inside = false;
    for (const Parameter *p = x->parameter; p->name; p++) {
        if (!inside && !p->end)
            s = listed(g->a, s,
                       p->type      ? p->name
                       : p->request ? "&r"
                                    : "&model");
        inside = (inside || p->request) && !p->end;
    }
    return s;
}

/* Emits the request of a function, if it takes one. */
static void put_request(Emit *e, const Export *x)
{
    const Parameter *p = x->parameter;
    while (p->name && !p->request)
        p++;
    if (!p->name)
        return;
    const int mark = emit_mark(e);
    let(e, "request", "%s", p->request);
    put(e, "const struct $request r = {\n");
    for (p++; !p->end; p++) {
        let(e, "member", "%s", p->type ? p->name : "model");
        let(e, "value", "%s", p->type ? p->name : "&model");
        put(e, ".$member = $value,\n");
    }
    put(e, "};\n");
    emit_reset(e, mark);
}

/* Binds each exported name to prefix_name, for use in the comments. */
static void let_names(Emit *e, const char *prefix)
{
    for (int x = 0; x < Exports; x++)
        let(e, exports[x].name, "%s_%s", prefix, exports[x].name);
}

/* Binds the words that comments use to describe results. */
static void let_results(Gen *g, Emit *e, const char *prefix)
{
    static const char *const words[] = {
        "A row for each",
        "A row for each, behind one for the class token,",
        "A row for each, behind those for the class and distillation tokens,",
    };
    const char *each = words[spec_input_learned(g->p->g->spec)];
    let(e, "rows", "%s goes",
        is_pooled(g->p) ? "One row for all of them" : each);
    let(e, "columns", "%s_OUTPUT", upper_name(g->a, prefix));
}

void emit_export_prototypes(Gen *g, Emit *e, bool opened)
{
    const char *prefix = g->p->prefix;
    const int mark = emit_mark(e);
    let_names(e, prefix);
    let_results(g, e, prefix);
    for (int x = 0; x < Exports; x++) {
        const Export *row = &exports[x];
        if (row->opened != opened || !has_export(g->p, g->o, row))
            continue;
        put_comment(e, row->comment);
        put_call(e, head_of(g, row, prefix), parameters_of(g, row), ";");
        put(e, "\n");
    }
    emit_reset(e, mark);
}

void emit_all_prototypes(Gen *g, Emit *e)
{
    for (int x = 0; x < Exports; x++)
        put_call(e,
                 arena_printf(g->a, "ATTN_API %s",
                              head_of(g, &exports[x], "attn")),
                 core_parameters_of(g, &exports[x]), ";");
}

void emit_exports(Gen *g, Emit *e, bool opened)
{
    for (int x = 0; x < Exports; x++) {
        const Export *row = &exports[x];
        if (!has_export(g->p, g->o, row) || row->opened != opened)
            continue;
        const char *call = strcmp(row->result, "void") ? "return " : "";
        put_call(e, head_of(g, row, g->p->prefix), parameters_of(g, row), "");
        put(e, "{\n");
        put_request(e, row);
        put_call(e, arena_printf(g->a, "%sattn_%s", call, row->name),
                 arguments_of(g, row), ";");
        put(e, "}\n\n");
    }
}
