/* given.c: lines of an input and an output, as ids. */
#include <string.h>

#include "cli/run/given.h"

int given_fits(const Spec *s, bool ids)
{
    if (spec_generates(s))
        return need_vocabularies(s, ids, false);
    error_at(spec_pos(s, "kind"), "this kind of model gives no probabilities");
    return ExitInput;
}

void given_open(Given *to, const Engine *e, bool ids)
{
    const Spec *s = e->spec;
    const bool decoder = s->kind == KindDecoder;
    *to = (Given){ .e = e };
    to->target = tokens_with(e->target_vocab.block, s->target.size, ids);
    to->source = decoder ? to->target
                         : tokens_with(e->source.block, s->source.size, ids);
    to->source.how = decoder ? ATTN_STARTED : 0;
    to->target.how = ATTN_PLAIN;
    size_t bytes = (MostTokens + 1) * sizeof *to->source_ids;
    to->source_ids = arena_alloc(e->arena, bytes);
    to->target_ids = arena_alloc(e->arena, bytes);
}

/* Tokens that the decoder reads before the output. */
static int64_t read_before(const Given *g)
{
    const Spec *s = g->e->spec;
    return (s->kind == KindDecoder ? g->source_n : 0) + (s->token_start >= 0)
         + s->search_prefix.n;
}

/* What the model does not take of the line's tokens. */
static bool refuse_length(const Given *g, Fault *why)
{
    const struct attn_model *m = g->e->backend.model;
    const bool decoder = g->e->spec->kind == KindDecoder;
    const int64_t start = read_before(g) - (decoder ? g->source_n : 0);
    const int64_t most = m->max_target + 1 - start; /* the last is not read */

    if (g->target_n < 1)
        return fault(why, ExitInput, "the output has no tokens");
    if (decoder && read_before(g) < 1)
        return fault(why, ExitInput,
                     "the input has no tokens, and the spec "
                     "no vocab.tokens.start");
    if (decoder)
        return fault(why, ExitInput,
                     "the input has %lld tokens, the output %lld, the end "
                     "counted: the model takes %lld in all (max_len)",
                     (long long)g->source_n, (long long)g->target_n,
                     (long long)most);
    if (g->source_n < 1)
        return fault(why, ExitInput, "the input has no tokens");
    if (g->source_n > m->max_source)
        return fault(why, ExitInput,
                     "the input has %lld tokens, the model takes %lld "
                     "(max_len.source)",
                     (long long)g->source_n, (long long)m->max_source);
    return fault(why, ExitInput,
                 "the output has %lld tokens, the end counted: the model takes "
                 "%lld (max_len.target)",
                 (long long)g->target_n, (long long)most);
}

static bool fits(const Given *g, Fault *why)
{
    const struct attn_model *m = g->e->backend.model;
    const bool decoder = g->e->spec->kind == KindDecoder;
    const int64_t before = read_before(g);
    if (g->target_n < 1 || before < 1
        || before + g->target_n - 1 > m->max_target
        || (!decoder && (g->source_n < 1 || g->source_n > m->max_source)))
        return refuse_length(g, why);
    return true;
}

/* The end token is behind the output; what is forced in front of it is not of
 * it.                                                                        */
static void complete(Given *g)
{
    const Spec *s = g->e->spec;
    const struct attn_search_options o = { .prefix = s->search_prefix.at,
                                           .prefix_n = s->search_prefix.n };
    if (s->token_end >= 0)
        g->target_ids[g->target_n++] = (int32_t)s->token_end;
    const int64_t forced = attn_score_forced(&o, g->target_ids, g->target_n);
    g->target_n -= forced;
    memmove(g->target_ids, g->target_ids + forced,
            (size_t)g->target_n * sizeof *g->target_ids);
}

/* The input is the first n bytes, the output what is from `from` on. */
static bool read_parts(Given *g, const char *text, size_t input, size_t from,
                       size_t n, Fault *why)
{
    g->source_n = tokens_of(&g->source, text, input, g->source_ids, why);
    g->target_n = g->source_n < 0 ? -1
                                  : tokens_of(&g->target, text + from, n - from,
                                              g->target_ids, why);
    if (g->target_n < 0)
        return false;
    complete(g);
    return true;
}

bool given_read(Given *g, const char *text, size_t n, Fault *why)
{
    const char *tab = memchr(text, '\t', n);
    if (!tab)
        return fault(why, ExitInput,
                     "an input, a tab and an output are "
                     "expected");
    const size_t input = (size_t)(tab - text);
    return read_parts(g, text, input, input + 1, n, why) && fits(g, why);
}

bool given_read_text(Given *g, const char *text, size_t n, Fault *why)
{
    if (g->e->spec->kind != KindDecoder || memchr(text, '\t', n))
        return given_read(g, text, n, why);
    if (!read_parts(g, text, 0, 0, n, why))
        return false;
    if (read_before(g) < 1 && g->target_n > 1) {
        g->source_ids[g->source_n++] = g->target_ids[0];
        memmove(g->target_ids, g->target_ids + 1,
                (size_t)--g->target_n * sizeof *g->target_ids);
    }
    return fits(g, why);
}
