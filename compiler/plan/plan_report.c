/* plan_report.c: reports the costs of a plan (FLOPs of each op, bytes of
 * weights, arena and caches) as text and as JSON, for `attnc plan`. */
#include "plan/plan_parts.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { ReportRows = 128 }; /* maximum rows in a report */

int64_t report_rows(const Plan *p, Entry entry)
{
    const Spec *s = p->g->spec;
    const int64_t most =
        s->side[entry == EntryDecode ? SideDecoder : SideEncoder].max_len;
    return most && most < ReportRows ? most : ReportRows;
}

static bool runs(const Plan *p, int node, Entry entry)
{
    const Node *n = &p->g->nodes.at[node];
    return n->entry == entry && p->region_of[node] >= 0;
}

static int64_t entry_flops(const Plan *p, Entry entry, int64_t rows,
                           int64_t keys)
{
    int64_t sum = 0;
    for (int i = 0; i < p->g->nodes.n; i++)
        if (runs(p, i, entry))
            sum += node_flops(p->g, i, rows, keys);
    return sum;
}

int64_t plan_token_flops(const Plan *p)
{
    const Entry e = has_entry(p, EntryDecode) ? EntryDecode : EntryEncode;
    return entry_flops(p, e, 1, report_rows(p, e));
}

/* ---- the report, as JSON first; the text is made from it, but the ops ---- */

static json_t *ops_json(const Plan *p, Entry entry, int64_t rows, int64_t keys)
{
    json_t *list = json_array();
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = &p->g->nodes.at[i];
        if (!runs(p, i, entry))
            continue;
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:I}", "name", n->name,
                                        "op", op_info[n->op].name, "type",
                                        print_type(p->arena_, n->type), "flops",
                                        (json_int_t)node_flops(p->g, i, rows,
                                                               keys)));
    }
    return list;
}

/* Returns the rows of the call reported for an entry. */
static int64_t call_rows(const Plan *p, Entry entry)
{
    return entry == EntryDecode ? 1 : report_rows(p, entry);
}

/* Returns the bytes per page of a cache, for all layers. */
static int64_t page_bytes(const Plan *p, int of)
{
    const struct attn_model m = plan_counted(p);
    return attn_cache_page_bytes(&m, of);
}

/* Returns the bytes of a cache for `slots` sequences of `length` positions. */
static int64_t cache_bytes(const Plan *p, int c, int64_t slots, int64_t length)
{
    const struct attn_model m = plan_counted(p);
    const struct attn_cache_size size = { c, slots, length, 0,
                                          attn_cache_rows(&m) };
    return page_bytes(p, c) ? attn_cache_bytes(&m, &size) : 0;
}

/* Adds the caches and the arena for one sentence of full length with the spec's
 * beam. */
static void add_sentence(const Plan *p, PlanCosts *c)
{
    const Spec *s = p->g->spec;
    const SpecSide *source = &s->side[SideEncoder];
    const SpecSide *target = &s->side[SideDecoder];
    const AffineSize enc = p->arena[EntryEncode], dec = p->arena[EntryDecode];
    c->beam = has_entry(p, EntryDecode) ? s->search_beam : 1;
    const int64_t encode = 4 * affine_at(enc, source->max_len, 1, 1);
    const int64_t decode = 4 * affine_at(dec, c->beam, c->beam, 1);
    c->cache[CacheSelf] = cache_bytes(p, CacheSelf, c->beam, target->max_len);
    c->cache[CacheCross] = cache_bytes(p, CacheCross, 1, source->max_len);
    c->arena = (encode > decode ? encode : decode) + 64;
}

PlanCosts plan_costs(const Plan *p)
{
    PlanCosts c = { .parameters = p->parameters, .weights = p->pack.bytes };
    add_sentence(p, &c);
    for (Entry e = EntryEncode; e <= EntryDecode; e++) {
        EntryCosts *to = &c.entry[e];
        to->there = has_entry(p, e);
        if (!to->there)
            continue;
        to->keys = report_rows(p, e);
        to->rows = call_rows(p, e);
        to->flops = entry_flops(p, e, to->rows, to->keys);
    }
    return c;
}

static json_t *entry_json(const Plan *p, const EntryCosts *c, Entry entry)
{
    const AffineSize a = p->arena[entry];
    return json_pack("{s:s, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I}}", "entry",
                     entry == EntryEncode ? "encode" : "decode", "rows",
                     (json_int_t)c->rows, "keys", (json_int_t)c->keys, "flops",
                     (json_int_t)c->flops, "arena_bytes", "fixed",
                     (json_int_t)(4 * a.c0 + 64), "row",
                     (json_int_t)(4 * a.rows), "sequence",
                     (json_int_t)(4 * a.sequences), "part",
                     (json_int_t)(4 * a.parts));
}

static json_t *sentence_json(const PlanCosts *c)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "beam", (json_int_t)c->beam,
                     "self_cache", (json_int_t)c->cache[CacheSelf],
                     "cross_cache", (json_int_t)c->cache[CacheCross], "arena",
                     (json_int_t)c->arena);
}

static json_t *tasks_json(const Plan *p)
{
    json_t *list = json_array();
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        json_t *tile = json_object();
        for (int k = 0; k < TilingParameters; k++)
            if (tiling_get(&t->tiling, k))
                json_object_set_new(tile, tiling_parameters[k].name,
                                    json_integer(tiling_get(&t->tiling, k)));
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "op",
                                        task_word[t->key.kind], "shape",
                                        t->name.shape, "dtype",
                                        dtype_word[t->key.dtype], "epilogue",
                                        t->name.epilogue, "tile", tile, "from",
                                        from_word[t->from]));
    }
    return list;
}

/* Returns why products are slower than in f32, or NULL if they are not. */
static const char *slow_text(const Plan *p)
{
    const char *word = p->g->spec->arithmetic == ArithmeticBf16Dp
                            && !p->target.pairs
                         ? "bf16_dp"
                     : p->g->spec->arithmetic == ArithmeticBf16x3
                               && !p->target.amx
                         ? "bf16x3"
                         : NULL;
    return word ? arena_printf(p->arena_,
                               "products of many rows take longer in %s than "
                               "in f32 on %s, where FMAs compute them",
                               word, p->target.name)
                : NULL;
}

static json_t *report(const Plan *p)
{
    TilingFrom from;
    const PlanCosts c = plan_costs(p);
    json_t *entries = json_array();
    for (Entry e = EntryEncode; e <= EntryDecode; e++)
        if (c.entry[e].there)
            json_array_append_new(entries, entry_json(p, &c.entry[e], e));
    return json_pack("{s:s, s:s*, s:s*, s:I, s:I, s:{s:I, s:I}, s:o, s:s, s:i, "
                     "s:s, s:s*, s:o, s:o}",
                     "name", p->g->spec->name, "layers", p->g->spec->layers,
                     "fixed", plan_fixed(p) ? plan_fixed_text(p) : NULL,
                     "parameters", (json_int_t)c.parameters, "weights_bytes",
                     (json_int_t)c.weights, "page_bytes", "self",
                     (json_int_t)page_bytes(p, CacheSelf), "cross",
                     (json_int_t)page_bytes(p, CacheCross), "sentence_bytes",
                     sentence_json(&c), "march", p->target.name, "width",
                     p->target.width, "tile", plan_tiles(p, &from), "slow",
                     slow_text(p), "tasks", tasks_json(p), "entries", entries);
}

static long long integer_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const char *word(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

char *plan_json(Arena *a, const Plan *p)
{
    json_t *r = report(p);
    size_t i = 0;
    for (Entry e = EntryEncode; e <= EntryDecode; e++)
        if (has_entry(p, e))
            json_object_set_new(
                json_array_get(json_object_get(r, "entries"), i++), "ops",
                ops_json(p, e, call_rows(p, e), report_rows(p, e)));
    char *s = json_dumps(r, JSON_INDENT(2));
    if (!s)
        fail(ExitResource, "out of memory");
    char *copy = arena_printf(a, "%s\n", s);
    free(s);
    json_decref(r);
    return copy;
}

/* Adds the line of a task, with its tiling, e.g. "mr=6 nr=16". */
static void add_task(Buffer *b, const json_t *t)
{
    const char *key;
    json_t *value;
    buffer_printf(b, "  %-9s %-25s %-20s %s ", word(t, "op"), word(t, "shape"),
                  word(t, "epilogue"), word(t, "dtype"));
    json_object_foreach(json_object_get(t, "tile"), key, value)
        buffer_printf(b, "%s=%lld ", key, (long long)json_integer_value(value));
    buffer_printf(b, "(%s)\n", word(t, "from"));
}

static void add_ops(Buffer *b, const Plan *p, Entry entry)
{
    const int64_t keys = report_rows(p, entry), rows = call_rows(p, entry);
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = &p->g->nodes.at[i];
        if (runs(p, i, entry))
            buffer_printf(b, "  %14lld  %-10s %-40s %s\n",
                          (long long)node_flops(p->g, i, rows, keys),
                          op_info[n->op].name, n->name,
                          print_type(p->arena_, n->type));
    }
}

static void add_entry(Buffer *b, const Plan *p, Entry entry, const json_t *e)
{
    const json_t *arena = json_object_get(e, "arena_bytes");
    buffer_printf(
        b,
        "\n%s: %lld row%s, %lld keys: %lld FLOPs\n"
        "  arena %lld bytes + %lld a row + %lld a sequence + %lld a part\n",
        word(e, "entry"), integer_of(e, "rows"),
        integer_of(e, "rows") == 1 ? "" : "s", integer_of(e, "keys"),
        integer_of(e, "flops"), integer_of(arena, "fixed"),
        integer_of(arena, "row"), integer_of(arena, "sequence"),
        integer_of(arena, "part"));
    add_ops(b, p, entry);
}

/* Adds the tile size of a product with a fixed number of rows. */
static void add_fixed_tile(Buffer *b, const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    const int64_t rows = plan_rows(p, row_sym(n->type));
    const Task *small = plan_task(p, TaskSmallM, node);
    if (!is_product(n) || rows == 0)
        return;
    const Tiling t = plan_fixed_tiling(p, node);
    const bool few = small && rows < small->tiling.small_m;
    buffer_printf(b, "  %lldx%s in tiles of %lldx%d: %s\n", (long long)rows,
                  plan_task(p, TaskMatmul, node)->key.shape,
                  (long long)(few ? rows : t.mr),
                  few ? ATTN_PANEL * small->tiling.streams : t.nr,
                  step_name(p, node));
}

/* Adds the fixed lengths, and the parts of the code that are still divided or
 * are loops. */
static void add_fixed(Buffer *b, const Plan *p)
{
    buffer_printf(b, "fixed: %s\n", plan_fixed_text(p));
    for (int i = 0; i < p->region.n; i++) {
        const Region *r = &p->region.at[i];
        if (r->layer > 0)
            continue;
        if (!r->undivided)
            buffer_printf(b, "  %s is divided among threads, in blocks\n",
                          r->name);
        for (int k = 0; k < r->count && r->undivided; k++)
            add_fixed_tile(b, p, p->order.at[r->first + k]);
    }
    for (Entry e = EntryEncode; e <= EntryDecode; e++)
        if (has_entry(p, e))
            plan_code_text(b, p, e);
    buffer_printf(b, "  sums stay loops: a tile's fill the registers, and are "
                     "spilled where a\n  loop over k is written out; columns "
                     "and heads too, which gains no time\n");
}

char *plan_text(Arena *a, const Plan *p)
{
    Buffer b = { .arena = a };
    json_t *r = report(p);
    const json_t *page = json_object_get(r, "page_bytes");
    const json_t *state = json_object_get(r, "sentence_bytes");
    size_t i, reported = 0;
    json_t *task;
    buffer_printf(
        &b,
        "%s: %lld parameters, %lld bytes of weights\n"
        "target %s, vectors of %lld, tile %s\n"
        "caches: pages of %d positions, %lld bytes (self), %lld (cross)\n"
        "a sequence of full length (beam %lld): caches %lld and %lld bytes, "
        "arena %lld\n",
        word(r, "name"), integer_of(r, "parameters"),
        integer_of(r, "weights_bytes"), word(r, "march"),
        integer_of(r, "width"), word(r, "tile"), ATTN_PAGE,
        integer_of(page, "self"), integer_of(page, "cross"),
        integer_of(state, "beam"), integer_of(state, "self_cache"),
        integer_of(state, "cross_cache"), integer_of(state, "arena"));
    if (p->g->spec->layers)
        buffer_printf(&b, "layers: %s\n", p->g->spec->layers);
    if (word(r, "slow"))
        buffer_printf(&b, "%s\n", word(r, "slow"));
    if (plan_fixed(p))
        add_fixed(&b, p);
    buffer_printf(&b, "\ntasks:\n");
    json_array_foreach(json_object_get(r, "tasks"), i, task) add_task(&b, task);
    for (Entry e = EntryEncode; e <= EntryDecode; e++)
        if (has_entry(p, e))
            add_entry(&b, p, e,
                      json_array_get(json_object_get(r, "entries"),
                                     reported++));
    json_decref(r);
    return b.at;
}
