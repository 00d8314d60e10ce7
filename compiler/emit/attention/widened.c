/* widened.c: emits reads of keys and values that a cache stores in fewer bits
 * than f32. Each page is widened to f32 before it is used, so that all forms of
 * attention read such caches by the code that reads f32. */
#include "emit/attention/attention.h"

static const char *const store_suffix[] = {
    [StoreF32] = "", [StoreBf16] = "_bf16", [StoreInt8] = "_int8"
};

bool is_widened(const Gen *g, const Node *n)
{
    return n->op != OpPackKv && !g->only
        && g->p->cache[n->cache].format != ATTN_CACHE_F32;
}

int64_t units_offset(const Gen *g, const Node *n)
{
    const int64_t floats = is_widened(g, n) ? scales_floats(g->p, n->cache) : 0;
    const int64_t end = floats > 0 ? block_floats(g->p, n->cache) : 0;
    return n->part == PartKey || end == 0
             ? end - 2 * floats
             : end - floats - keys_floats(g->p, n->cache);
}

void put_units(Gen *g, Emit *e, const Node *n, const UnitRows *at)
{
    if (units_offset(g, n) > 0)
        put_call(e, use_kernel(g->kernels, "times_units"),
                 arena_printf(g->a, "%s, %s, %s, %s", at->y, at->s, at->rows,
                              at->units),
                 ";");
}

/* Returns the kernel with this name for the format of a page. */
static const char *kernel_of(Gen *g, const Node *n, const char *name)
{
    const char *suffix = is_widened(g, n)
                           ? store_suffix[g->p->g->spec->cache_store]
                           : "";
    return use_kernel(g->kernels, arena_printf(g->a, "%s%s", name, suffix));
}

const char *pack_kernel(Gen *g, const Node *n)
{
    return kernel_of(g, n, n->part == PartKey ? "pack_keys" : "pack_values");
}

const char *heads_product(Gen *g, const Node *k)
{
    return kernel_of(g, k, "heads_product");
}

void put_stored_page(Gen *g, Emit *e, const Node *n, const StoredPage *at)
{
    const bool keys = n->part == PartKey;
    const int64_t d = n->type.dim[2].c;
    let(e, "to", keys ? "k" : "v");
    let(e, "from", "%s", at->page);
    let(e, "units", "%s_units = %s + %lld", keys ? "k" : "v", at->page,
        (long long)units_offset(g, n));
    if (units_offset(g, n) > 0)
        put(e, "const float *const $units;\n");
    if (!is_widened(g, n)) {
        put(e, "const float *$to = $from;\n");
        return;
    }
    const char *kernel = kernel_of(g, n, keys ? "widen_keys" : "widen_values");
    put_call(
        e, arena_printf(g->a, "const float *%s = %s", keys ? "k" : "v", kernel),
        arena_printf(g->a, "%s, %s, %s, %lld", at->wide, at->page, at->keys,
                     (long long)(keys ? d : round16(d) / ATTN_PANEL)),
        ";");
}

void put_page(Gen *g, const Attention *a, int part)
{
    const bool keys = part == PartKey;
    const Node *n = keys ? a->k : a->v;
    const char *name = keys ? "k" : "v";
    const char *page = a->paged ? "m->page[at / 64]" : "(at / 64)";
    const StoredPage at = {
        .page = arena_printf(g->a, "m->%s + %s * m->%s_page", name, page, name),
        .keys = "n",
        .wide = keys
                  ? "m->wide"
                  : arena_printf(g->a, "m->wide + %lld",
                                 (long long)(ATTN_PAGE * a->k->type.dim[2].c)),
    };
    put_stored_page(g, g->shapes, n, &at);
}

const char *wide_text(Gen *g, const char *scratch)
{
    return arena_printf(g->a, "%s + %lld", scratch,
                        (long long)(g->p->scratch - widened_floats(g->p)));
}

void let_scratch(Emit *e, int64_t keys, int64_t d_v)
{
    const AttentionScratch s = attention_scratch(keys, d_v);
    let(e, "outputs", "%lld", (long long)s.outputs);
    let(e, "sums", "%lld", (long long)s.sums);
    let(e, "maxima", "%lld", (long long)s.maxima);
    let(e, "end", "%lld", (long long)s.end);
}
