/* static_memory.c: emits macros for the memory that calls of given lengths
 * need, for programs without malloc(). The core's own functions compute the
 * sizes, for a model with the plan's sizes. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"
#include "runtime/core.h"

int64_t longest_input(const Plan *p)
{
    const Spec *s = p->g->spec;
    if (s->kind == KindDecoder)
        return s->side[SideDecoder].max_len;
    return s->side[SideEncoder].max_len - spec_input_learned(s);
}

int64_t longest_output(const Plan *p)
{
    return has_decoder(p) ? p->g->spec->side[SideDecoder].max_len : 0;
}

int64_t given_input(const Gen *g)
{
    return g->o->max_input > 0 ? g->o->max_input : longest_input(g->p);
}

int64_t given_output(const Gen *g)
{
    const int64_t spec = g->p->g->spec->max_output;
    return g->o->max_output > 0 ? g->o->max_output
         : spec >= 0            ? spec
                                : longest_output(g->p);
}

/* ---- the macros ---- */

/* Emits a comment and a macro such as "#define TINY_ARENA_BYTES 1234". */
static void put_size(Gen *g, Emit *e, const char *name, int64_t value,
                     const char *comment)
{
    if (value <= 0) /* this kind of model does not need the size */
        return;
    put_comment(e, comment);
    let(e, "macro", "%s_%s", upper_name(g->a, g->p->prefix), name);
    let(e, "value", "%lld", (long long)value);
    put(e, "#define $macro $value\n");
}

/* Emits the size of bound weights: one pointer per block, whether AMX is
 * allowed, and bind()'s message. */
static void put_bound(Gen *g, Emit *e)
{
    let(e, "macro", "%s_BOUND_BYTES", upper_name(g->a, g->p->prefix));
    let(e, "n", "%d", g->p->block.n);
    let(e, "one", "%d", g->o->nlevels ? (int)sizeof(void *) : 1);
    let(e, "text", "%d",
        ATTN_PACKED_TEXT + (any_amx(g) ? (int)sizeof(int64_t) : 0)
            + (g->o->nlevels ? (int)sizeof(void *) : 0));
    put_comment(e, "Bytes that $bind() fills.");
    if (g->p->block.n)
        put(e, "#define $macro ($n * sizeof(void *) + $text)\n");
    else
        put(e, "#define $macro ($text + $one)\n");
}

typedef struct { /* bytes */
    int64_t arena, search, stream;
    int64_t tokens; /* of the stream */
} StaticSizes;

/* Raises *to to what the code of a plan needs. */
static void raise_sizes(const Gen *g, const Plan *p, StaticSizes *to)
{
    const struct attn_model m = plan_counted(p);
    const int64_t input = given_input(g), output = given_output(g);
    const Spec *s = p->g->spec;
    const struct attn_batch b = { .sequences = 1,
                                  .rows = input,
                                  .key_rows = input };
    to->arena = attn_max(to->arena, attn_batch_bytes(&m, &b));
    if (!generates(g))
        return;
    int32_t ids[2];
    struct attn_search_options o = spec_search(s, ids);
    o.max_output = output;
    const int64_t read = s->kind == KindDecoder ? 0 : input;
    const int64_t lead = (o.start >= 0) + input - read;
    to->tokens = attn_min(lead + output, m.max_target + 1);
    to->search = attn_max(to->search,
                          attn_search_bytes(&m, &o, 1, input, input));
    to->stream = attn_max(to->stream,
                          attn_stream_bytes(&m, &o, read, to->tokens, 1));
}

static void put_answer(Gen *g, Emit *e, const StaticSizes *n)
{
    if (has_part(g, FileSearch))
        put_size(g, e, "SEARCH_BYTES", n->search,
                 "For $search() with $options(), of one sentence of "
                 "$MAX_INPUT tokens: $search_bytes().");
    if (!has_root(g->o, "stream_bytes"))
        return;
    put_size(g, e, "STREAM_TOKENS", n->tokens,
             "Tokens of a stream: start, prompt, and up to $MAX_OUTPUT more.");
    put_size(g, e, "STREAM_BYTES", n->stream,
             "For one stream of that many tokens: $stream_bytes().");
}

static void let_call_names(Gen *g, Emit *e)
{
    static const char *const calls[] = { "bind",         "search",
                                         "search_bytes", "stream_bytes",
                                         "batch_bytes",  "options" };
    static const char *const sizes[] = { "MAX_INPUT", "MAX_OUTPUT" };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        let(e, calls[i], "%s_%s", g->p->prefix, calls[i]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        let(e, sizes[i], "%s_%s", upper_name(g->a, g->p->prefix), sizes[i]);
}

void emit_static_sizes(Gen *g, Emit *e)
{
    const int64_t input = given_input(g);
    const int mark = emit_mark(e);
    StaticSizes n = { 0 };
    if (has_handle(g))
        return;
    raise_sizes(g, g->p, &n);
    for (int i = 0; i < level_count(g); i++)
        raise_sizes(g, level_plan(g, i), &n);
    let_call_names(g, e);
    put(e,
        "/* Memory for one call on one thread, with lengths up to these, for\n"
        " * pointers of 8 bytes; sufficient for smaller pointers. */\n");
    put_size(g, e, "MAX_INPUT", input,
             g->p->g->spec->kind == KindDecoder ? "Tokens of a prompt."
                                                : "Rows of an input.");
    if (generates(g))
        put_size(g, e, "MAX_OUTPUT", given_output(g), "Tokens of an answer.");
    put(e, "\n");
    put_bound(g, e);
    put_size(g, e, "ARENA_BYTES", n.arena,
             "For a batch of $MAX_INPUT rows, one sequence: $batch_bytes().");
    if (generates(g))
        put_answer(g, e, &n);
    put(e, "\n");
    emit_reset(e, mark);
}
