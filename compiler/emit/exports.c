/* exports.c: the core's functions that an emitted file exports, all of which
 * check what they are given. The core is static there. A door has the core
 * function's comment and arguments, without the model, and the model's name for
 * "attn".                                                                   */
#include "emit/names.h"
#include "emit/sections.h"

#include <string.h>

typedef enum { Always, Encodes, Decodes, Texts } DoorOf;

static const struct {
    const char *name;
    DoorOf of;
} doors[] = {
    { "error_text", Always },     { "open", Always },
    { "open_lazily", Always },    { "generate_bytes", Decodes },
    { "generate", Decodes },      { "batch_bytes", Always },
    { "encode", Encodes },        { "decode", Decodes },
    { "vocab", Texts },           { "vocab_encode_bytes", Texts },
    { "vocab_encode", Texts },    { "vocab_decode", Decodes },
    { "text_open", Decodes },     { "text_add", Decodes },
    { "text_end", Decodes },      { "stream_bytes", Decodes },
    { "stream_open", Decodes },   { "stream_feed", Decodes },
    { "stream_next", Decodes },   { "stream_fork", Decodes },
    { "state_weights", Decodes }, { "state_bytes", Decodes },
    { "state_save", Decodes },    { "state_check", Decodes },
    { "state_restore", Decodes },
};
enum { Doors = sizeof doors / sizeof *doors };

typedef struct { /* as the core's headers have it */
    const char *comment, *comment_end;
    const char *result;                 /* "int64_t ", "const char *" */
    const char *parameters, *arguments; /* ", " between; the core's all */
} Door;

static const char *last_before(const char *end, const char *what)
{
    const size_t n = strlen(what);
    while (strncmp(end, what, n) != 0)
        end--;
    return end;
}

/* "const struct attn_stream *s" is passed as "s". */
static const char *argument_of(Arena *a, const char *from, size_t n)
{
    size_t name = n;
    while (from[name - 1] != ' ' && from[name - 1] != '*')
        name--;
    return arena_strndup(a, from + name, n - name);
}

static void split_parameters(Arena *a, Door *d, const char *at)
{
    const char *gap = "";
    d->parameters = d->arguments = "";
    while (*at != ')') {
        at += strspn(at, " \n");
        const size_t n = strcspn(at, ",)");
        const bool model = !strncmp(at, "const struct attn_model *", 25);
        const char *name = model ? "&model" : argument_of(a, at, n);
        d->arguments = arena_printf(a, "%s%s%s", d->arguments,
                                    *d->arguments ? ", " : "", name);
        if (!model) {
            d->parameters = arena_printf(a, "%s%s%.*s", d->parameters, gap,
                                         (int)n, at);
            gap = ", ";
        }
        at += n + (at[n] == ',');
    }
}

static Door door_of(Arena *a, const char *name)
{
    const char *word = arena_printf(a, "attn_%s(", name);
    const char *at = core_text(word);
    const char *line = last_before(at, "ATTN_API ");
    const char *from = line + strlen("ATTN_API ");
    Door d = { .comment_end = line };
    d.result = arena_strndup(a, from, (size_t)(at - from));
    d.comment = last_before(line, "/* ");
    split_parameters(a, &d, at + strlen(word));
    return d;
}

static bool has_door(const Plan *p, int i)
{
    switch (doors[i].of) {
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
    for (int d = 0; d < Doors; d++)
        if (has_door(p, d) && i-- == 0)
            return arena_printf(a, "%s_%s", p->prefix, doors[d].name);
    return NULL;
}

/* "int64_t tiny_vocab_encode". */
static const char *head_of(Gen *g, const Door *d, int i)
{
    return arena_printf(g->a, "%s%s_%s", d->result, g->p->prefix,
                        doors[i].name);
}

void emit_door_prototypes(Gen *g, Emit *e)
{
    let(e, "x", "%s_x", g->p->prefix);
    put(e, "/* The comments below are the core's: attn_x, or x(), is $x. */\n");
    for (int i = 0; i < Doors; i++) {
        if (!has_door(g->p, i))
            continue;
        const Door d = door_of(g->a, doors[i].name);
        put(e, "\n");
        paste(e, d.comment, d.comment_end);
        put_call(e, head_of(g, &d, i), d.parameters, ";");
    }
}

void emit_doors(Gen *g, Emit *e)
{
    for (int i = 0; i < Doors; i++) {
        if (!has_door(g->p, i))
            continue;
        const Door d = door_of(g->a, doors[i].name);
        put_call(e, head_of(g, &d, i), d.parameters, "");
        put(e, "{\n");
        put_call(e, arena_printf(g->a, "return attn_%s", doors[i].name),
                 d.arguments, ";");
        put(e, "}\n\n");
    }
}
