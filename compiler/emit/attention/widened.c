/* widened.c: emits reads of keys and values that a cache stores in fewer bits
 * than f32. Each page is widened to f32 before it is used, so that all forms of
 * attention read such caches by the code that reads f32. */
#include "emit/attention/attention.h"

static const char *const store_suffix[] = {
    [StoreF32] = "", [StoreBf16] = "_bf16"
};

bool is_widened(const Gen *g, const Node *n)
{
    return n->op != OpPackKv && !g->only
        && g->p->cache[n->cache].format != ATTN_CACHE_F32;
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
