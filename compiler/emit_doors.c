/* emit_doors.c: the core's functions that an emitted file exports: texts,
 * streams, states. The core is static there. A door has the core function's
 * comment and arguments, without the model, and the model's name for "attn". */
#include "emit_parts.h"

#include <string.h>

static const struct { const char *name; bool always; } doors[] = {
    { "vocab_encode_bytes", true }, { "vocab_encode", true },
    { "vocab_decode", false }, { "text_open", false }, { "text_add", false },
    { "text_end", false }, { "stream_bytes", false }, { "stream_open", false },
    { "stream_feed", false }, { "stream_next", false },
    { "stream_fork", false }, { "state_bytes", false },
    { "state_save", false }, { "state_check", false },
    { "state_restore", false },
};
enum { Doors = sizeof doors / sizeof *doors };

typedef struct {                 /* as the core's headers have it */
    const char *comment, *comment_end;
    const char *result;          /* "int64_t ", "const char *" */
    const char *parameters, *arguments;  /* ", " between; the core's all */
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

static bool has_door(const Gen *g, int i)
{
    return doors[i].always || has_decoder(g->p);
}

void emit_door_prototypes(Gen *g, Emit *e)
{
    if (g->p->g->spec->kind == KindAttention)
        return;
    let(e, "vocab", "%s_vocab", g->p->prefix);
    let(e, "x", "%s_x", g->p->prefix);
    if (has_decoder(g->p)) {
        let(e, "weights", "%s_state_weights", g->p->prefix);
        put(e, "\n"
               "/* A hash of the weights in model.weights, for states. */\n"
               "uint64_t $weights(const void *file);\n");
    }
    put(e, "\n"
           "/* The vocabulary of the source, or of the target (target: 1), in\n"
           " * model.weights; NULL: there is none. It is the `block` of those\n"
           " * below. Their comments are the core's: attn_x is $x. */\n"
           "const void *$vocab(const void *file, int64_t target);\n");
    for (int i = 0; i < Doors; i++) {
        if (!has_door(g, i))
            continue;
        const Door d = door_of(g->a, doors[i].name);
        put(e, "\n");
        paste(e, d.comment, d.comment_end);
        put_call(g, e, arena_printf(g->a, "%s%s_%s", d.result, g->p->prefix,
                                    doors[i].name), d.parameters, ";");
    }
}

static void emit_vocab_door(Gen *g, Emit *e)
{
    const bool decoder = g->p->g->spec->kind == KindDecoder;
    let(e, "vocab", "%s_vocab", g->p->prefix);
    put(e, "const void *$vocab(const void *file, int64_t target)\n"
           "{\n"
           "    struct attn_packed_header h;\n"
           "    int64_t at, bytes;\n"
           "\n"
           "    memcpy(&h, file, sizeof h);\n"
           "    at = h.source_vocab_at;\n"
           "    bytes = h.source_vocab_bytes;\n");
    if (decoder)
        put(e, "target = 1;              /* its source is the same */\n");
    put(e, "if (target) {\n"
           "    at = h.target_vocab_at;\n"
           "    bytes = h.target_vocab_bytes;\n"
           "}\n"
           "return bytes > 0 ? (const char *)file + at : NULL;\n");
    put(e, "}\n\n");
}

static void emit_weights_door(Gen *g, Emit *e)
{
    let(e, "weights", "%s_state_weights", g->p->prefix);
    put(e, "uint64_t $weights(const void *file)\n"
           "{\n"
           "    struct attn_packed_header h;\n"
           "\n"
           "    memcpy(&h, file, sizeof h);\n"
           "    return attn_state_weights(&model, (const char *)file +\n"
           "                                          h.weights_at);\n"
           "}\n\n");
}

void emit_doors(Gen *g, Emit *e)
{
    if (g->p->g->spec->kind == KindAttention)
        return;
    emit_vocab_door(g, e);
    if (has_decoder(g->p))
        emit_weights_door(g, e);
    for (int i = 0; i < Doors; i++) {
        if (!has_door(g, i))
            continue;
        const Door d = door_of(g->a, doors[i].name);
        put_call(g, e, arena_printf(g->a, "%s%s_%s", d.result, g->p->prefix,
                                    doors[i].name), d.parameters, "");
        put(e, "{\n");
        put_call(g, e, arena_printf(g->a, "return attn_%s", doors[i].name),
                 d.arguments, ";");
        put(e, "}\n\n");
    }
}
