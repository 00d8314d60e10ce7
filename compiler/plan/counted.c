/* counted.c: builds a struct attn_model from a plan, without compiling it, in
 * order to compute sizes. */
#include <string.h>

#include "plan/plan_parts.h"
#include "runtime/core.h"

/* The plan that counted_arena() reads. It is global because struct attn_model's
 * arena_bytes() takes no pointer. */
static _Thread_local const Plan *counted;

/* Returns the same number of bytes as the emitted arena_bytes(). */
static int64_t counted_arena(int64_t rows, int64_t sequences, int64_t parts)
{
    int64_t floats = 0;
    for (int k = EntryEncode; k <= EntryDecode; k++) {
        const int64_t n = plan_floats(counted, (Entry)k,
                                      (AffineSize){ .rows = rows,
                                                    .sequences = sequences,
                                                    .parts = parts });
        floats = n > floats ? n : floats;
    }
    return 4 * floats + 64;
}

struct attn_model plan_counted(const Plan *p)
{
    const Spec *s = p->g->spec;
    const Type out = p->g->nodes.at[graph_result(p->g)].type;
    struct attn_model m = {
        .kind = (int64_t)s->kind,
        .source_vocab = s->source.size,
        .target_vocab = s->target.size,
        .max_source = s->side[SideEncoder].max_len,
        .max_target = s->side[SideDecoder].max_len,
        .input_width = s->kind == KindAttention ? s->d_model : s->input_width,
        .class_token = spec_input_learned(s),
        .fixed_source = plan_length(p, SymN),
        .fixed_target = has_entry(p, EntryDecode) ? plan_length(p, SymT) : 0,
        .fixed_keys = plan_length(p, s->kind == KindAttention ? SymM : SymPT),
        .fixed_batch = plan_length(p, SymS),
        .fixed_ranks = s->fix.ranks > 1 ? s->fix.ranks : 0,
        .output_columns = out.dim[1].c,
        .output_pooled = out.dim[0].sym == SymS,
        .weights_bytes = p->pack.bytes,
        .arena_bytes = counted_arena,
    };
    m.caches = p->g->caches;
    memcpy(m.cache, p->cache, sizeof p->cache);
    counted = p;
    return m;
}
