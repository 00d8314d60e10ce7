/* kv_cache.c: emits the addresses of keys and values in pages of a cache or of
 * the arena, the steps that write them, and attention calls. */
#include "emit/attention/attention.h"
#include "emit/gen/length.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/step.h"

/* Returns the number of keys that the rows of a sequence see. */
static Length key_count(Gen *g, const Node *k)
{
    const char *s = g->sequence;
    if (k->type.dim[1].fixed)
        return length_of(k->type.dim[1].fixed);
    g->uses.batch = true;
    if (k->op == OpRecall)
        return length_text(
            arena_printf(g->a, "b->source_rows[b->source[%s]]", s));
    if (k->op == OpAppend && k->entry == EntryDecode)
        return length_add(g, call_past(g), sequence_rows(g, SymT));
    return sequence_rows(g, k->type.dim[1].sym);
}

const char *count_text(Gen *g, const Node *k)
{
    return length_c(g, key_count(g, k));
}

/* Returns the index of a sequence's first page in the arena. rows/64 +
 * sequences pages are enough for any batch (plan/arena_layout.c). */
static Length first_page(Gen *g, const Node *n)
{
    const Sym rows = n->type.dim[1].sym;
    const int64_t fixed = plan_length(g->p, rows);
    if (g->alone)
        return length_of(0);
    return length_text(
        fixed ? arena_printf(g->a, "%s * %lld / 64 + %s", g->sequence,
                             (long long)fixed, g->sequence)
              : arena_printf(g->a, "b->%s[%s] / 64 + %s", starts_of(rows),
                             g->sequence, g->sequence));
}

/* Returns C for the address of `head` in page 0 of the pool; `node` is the key
 * or value operand. */
static const char *pages_at(Gen *g, int node, const char *head)
{
    const Node *n = node_at(g->p, node);
    const Plan *p = g->p;
    const int64_t d = n->type.dim[2].c;
    if (n->op == OpPackKv)
        return arena_printf(
            g->a, "c->%s + %s * %lld", p->value[node].name, head,
            (long long)(ATTN_PAGE * (n->part == PartKey ? d : round16(d))));
    const bool self = p->cache[n->cache].of == CacheSelf;
    const long long block = block_floats(p, n->cache);
    const char *first = arena_printf(g->a, "c->%s + %s * %lld",
                                     self ? "self" : "cross", head, block);
    if (n->part == PartKey)
        return first;
    return arena_printf(g->a, "%s + %lld", first,
                        (long long)keys_floats(p, n->cache));
}

static int64_t page_stride(Gen *g, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[2].c;
    if (n->op != OpPackKv)
        return page_floats(g->p, n->cache);
    return n->type.dim[0].c * ATTN_PAGE * (n->part == PartKey ? d : round16(d));
}

const char *page_table(Gen *g, const Node *n)
{
    if (n->op == OpPackKv)
        return NULL;
    g->uses.batch = true;
    const char *of = n->op == OpRecall
                       ? arena_printf(g->a, "b->source[%s]", g->sequence)
                       : g->sequence;
    if (g->alone && n->op != OpRecall)
        return arena_printf(g->a, "b->pages[%d]", n->cache);
    return arena_printf(g->a, "b->pages[%d] + %s * b->table[%d]", n->cache, of,
                        n->cache);
}

/* Binds the number of the page with key `at`, counted from the pool's first
 * page. */
void let_page_id(Gen *g, Emit *e, const Node *n)
{
    if (n->op == OpPackKv)
        let(e, "page_id", "%s",
            length_c(g,
                     length_add(g, first_page(g, n), length_text("at / 64"))));
    else
        let(e, "page_id", "page[at / 64]");
}

/* ---- states, behind keys and values ---- */

/* Emits the function that returns the address of a cache's states, unless the
 * function exists. Returns its name. */
static const char *need_states(Gen *g, int cache)
{
    const Plan *p = g->p;
    const SharedKey key = { .kind = SharedStates, .size = { cache } };
    bool made;
    const char *name = shared_name(g, &key,
                                   cache == CacheSelf ? "state_after"
                                                      : "state_of_source",
                                   &made);
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    if (made)
        return name;
    let(e, "name", "%s", name);
    let(e, "c", "%d", cache);
    let(e, "page", "%lld", (long long)page_floats(p, cache));
    let(e, "at", "%lld", (long long)states_offset(p, cache));
    let(e, "states", "%lld", (long long)p->cache[cache].states);
    put(e,
        "/* Returns the states of recurrent layers after a row of a sequence. A page\n"
        " * keeps those of its last even and its last odd row. */\n"
        "static float *$name(const struct attn_batch *b, int64_t s, int64_t row)\n"
        "{\n"
        "    const int64_t page = b->pages[$c][s * b->table[$c] + row / 64];\n"
        "\n"
        "    return b->pool[$c] + page * $page + $at + row % 2 * $states;\n"
        "}\n\n");
    emit_reset(e, mark);
    return name;
}

/* Returns C for the address of a node's state: "state_after(b, s, row) + layer
 * * 64". */
static const char *node_state(Gen *g, int node, const char *s, const char *row)
{
    const Plan *p = g->p;
    const Node *n = node_at(p, node);
    const int64_t at = p->state_at[node];
    g->uses.layer = true;
    return arena_printf(g->a, "%s(b, %s, %s) + layer * %lld%s",
                        need_states(g, n->cache), s, row,
                        (long long)p->layer_state[n->cache],
                        at ? arena_printf(g->a, " + %lld", (long long)at) : "");
}

const char *state_text(Gen *g, int node, const char *row)
{
    return node_state(g, node, "s", row);
}

const char *source_state(Gen *g, int node)
{
    return node_state(g, node, "source", "b->source_rows[source] - 1");
}

/* ---- regions ----
 *
 * A task is one head of one sequence. Parts take tasks in turn, because
 * neighbours cost alike. */

void begin_tasks(Gen *g, Emit *e, int64_t heads, const HeadColumns *own,
                 Sym rows)
{
    if (!g->undivided)
        need_min(g);
    let(e, "heads", own ? "heads" : "%lld", (long long)heads);
    let(e, "at_head", own ? "own + task %% heads" : "task %% %lld",
        (long long)heads);
    let(e, "start", "%s", starts_of(rows));
    let(e, "rows", "%lld", (long long)plan_length(g->p, rows));
    let(e, "tasks", own ? "b->sequences * heads" : "%s",
        length_c(g, length_times(g, call_sequences(g), heads)));
    if (g->undivided)
        return;
    put(e, "const struct attn_batch *b = c->b;\n");
    if (own)
        put_own_heads(g, e, own);
    put(e, "const int64_t tasks = $tasks;\n");
}

void begin_task_loop(Gen *g, Emit *e, int each)
{
    let(e, "each", each > 1 ? "head += %d" : "head++", each);
    if (g->alone)
        put(e, "for (int64_t head = 0; head < $heads; $each) {\n");
    else if (g->undivided)
        put(e, "for (int64_t task = 0; task < $tasks; task++) {\n"
               "    const int64_t s = task / $heads, head = task % $heads;\n"
               "    const int64_t row = s * $rows;\n");
    else
        put(e,
            g->serial
                ? "\n"
                  "for (int64_t task = 0; task < tasks; task++) {\n"
                  "    const int64_t s = task / $heads, head = task % $heads;\n"
                  "    const int64_t row = b->$start[s];\n"
                : "\n"
                  "for (int64_t task = part; task < tasks; task += parts) {\n"
                  "    const int64_t s = task / $heads, head = $at_head;\n"
                  "    const int64_t row = b->$start[s];\n");
}

const char *head_at(Gen *g, int node, const char *row)
{
    return arena_printf(g->a, "%s + head * %lld", value_at(g, node, row),
                        (long long)g->p->value[node].head_stride);
}

/* Returns C for the key head that serves `head`. All query heads of a group
 * share one key head. */
const char *kv_head(Gen *g, int64_t heads, const Node *k)
{
    const int64_t group = heads / k->type.dim[0].c;
    return group > 1 ? arena_printf(g->a, "head / %lld", (long long)group)
                     : "head";
}

/* Emits a member of struct keys, unless the value is NULL. */
static void put_key(Emit *e, const char *member, const char *value)
{
    if (!value)
        return;
    let(e, "member", "%s", member);
    let(e, "value", "%s", value);
    put(e, ".$member = $value,\n");
}

static void keys_bias(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const MaskSpec *mask = attention_mask(g, n);
    put_key(e, "prefix", prefix_text(g, mask));
    put_key(e, "bias", n->bias ? bias_text(g, node) : NULL);
    put_key(e, "score", has_score_vector(n) ? score_text(g, node) : NULL);
    put_key(e, "sink", n->sinks ? sink_text(g, node) : NULL);
}

/* Returns C for the address of the head's bias at distance 0. */
const char *bias_text(Gen *g, int node)
{
    const int block = plan_bias_block(g->p, node);
    const Block *b = &g->p->block.at[block];
    return arena_printf(g->a, "%s + head * %lld + %lld", weight_text(g, block),
                        (long long)round16(bias_width(b)),
                        (long long)(bias_width(b) / 2));
}

const char *score_text(Gen *g, int node)
{
    const int v = score_input(node_at(g->p, node));
    const int64_t d_k = matrix_columns(node_at(g->p, v)->type);
    return arena_printf(g->a, "%s + head * %lld", weight_of(g, v, PackRows),
                        (long long)round16(d_k));
}

const char *sink_text(Gen *g, int node)
{
    const Node *n = node_at(g->p, node);
    return arena_printf(g->a, "%s[head]",
                        weight_of(g, n->in[n->nin - 1], PackVector));
}

static const char *scratch_text(const Gen *g)
{
    return g->undivided || g->serial ? "c->scratch" : "scratch";
}

static void keys_fields(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node), *k = node_at(g->p, n->in[1]);
    const char *table = page_table(g, k), *head = kv_head(g, n->heads, k);
    const long long k_page = page_stride(g, n->in[1]);
    const long long v_page = page_stride(g, n->in[2]);
    let(e, "k_page", "%lld", k_page);
    let(e, "v_page", "%lld", v_page);
    let(e, "k", "%s", pages_at(g, n->in[1], head));
    let(e, "v", "%s", pages_at(g, n->in[2], head));
    if (!table && !g->alone) {
        let(e, "first", "%s", length_c(g, first_page(g, k)));
        put(e, "const int64_t first = $first;\n");
        let(e, "k", "%s + first * %lld", pages_at(g, n->in[1], head), k_page);
        let(e, "v", "%s + first * %lld", pages_at(g, n->in[2], head), v_page);
    }
    put(e, "const struct keys m = {\n"
           "    .k = $k,\n"
           "    .v = $v,\n"
           "    .k_page = $k_page,\n"
           "    .v_page = $v_page,\n");
    if (is_widened(g, k))
        put_key(e, "wide", wide_text(g, scratch_text(g)));
    put_key(e, "page", table);
    put_key(e, "count", count_text(g, k));
    put_key(e, "past", k->op == OpAppend ? length_c(g, call_past(g)) : NULL);
    keys_bias(g, e, node);
    put(e, "};\n");
}

/* Emits code that combines consecutive sequences with the same source, such as
 * the hypotheses of a beam, into one block of queries, so that the source's
 * keys are read once. */
static void share_source(Emit *e)
{
    put(e, "int64_t end = s + 1;\n"
           "\n"
           "if (s > 0 && b->source[s] == b->source[s - 1])\n"
           "    continue;                /* part of the block before */\n"
           "while (end < b->sequences && b->source[end] == b->source[s])\n"
           "    end += 1;\n");
}

/* Emits code that prefetches the next head's first page while the current head
 * is computed. In the cache, that page follows the current head's. */
static void ask_next_head(Gen *g, Emit *e, const Node *n)
{
    const Node *k = node_at(g->p, n->in[1]), *v = node_at(g->p, n->in[2]);
    if (k->op == OpPackKv || k->type.dim[0].c == 1 || is_widened(g, k))
        return;
    let(e, "head", "%s", kv_head(g, n->heads, k));
    let(e, "last", "%lld", (long long)k->type.dim[0].c - 1);
    const char *from = mask_from(g, attention_mask(g, n), "m.past");
    put(e, "\n"
           "if ($head < $last && m.count > 0) {\n");
    put_call(e, use_kernel(g->kernels, "prefetch_keys"),
             arena_printf(
                 g->a,
                 "m.k + m.page[%s] * m.k_page + %lld, min(m.count, 64), %lld, "
                 "%lld",
                 from ? arena_printf(g->a, "%s / 64", from) : "0",
                 (long long)block_floats(g->p, k->cache),
                 (long long)k->type.dim[2].c,
                 (long long)(round16(v->type.dim[2].c) / ATTN_PANEL)),
             ";");
    put(e, "}\n");
}

/* Returns C for the number of query rows: those of the current sequence or, if
 * `shared` is set, of all sequences that share its keys. */
static const char *queries_text(Gen *g, const Node *n, bool shared)
{
    const Sym rows = row_sym(n->type);
    if (g->alone || (plan_length(g->p, rows) && !shared))
        return length_c(g, sequence_rows(g, rows));
    return arena_printf(g->a, "b->%s[%s] - row", starts_of(rows),
                        shared ? "end" : "s + 1");
}

/* Emits the call that computes several heads of a single row. */
static void put_heads(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    put_call(e, need_heads(g, node),
             arena_printf(g->a, "%s, &m, %s + head * %lld, %s",
                          head_at(g, n->in[0], g->row),
                          value_at(g, node, g->row),
                          (long long)node_at(g->p, n->in[2])->type.dim[2].c,
                          scratch_text(g)),
             ";");
}

/* Emits attention whose keys are all in the first page. */
static void put_short_attention(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node), *k = node_at(g->p, n->in[1]);
    const char *head = kv_head(g, n->heads, k), *table = page_table(g, k);
    const char *page[2] = { "", "" };
    let(e, "table", "%s", table ? table : "");
    let(e, "heads", "%lld", (long long)n->heads);
    if (table)
        put(e, "const int64_t page = *($table);\n"
               "\n");
    for (int i = 0; i < 2 && table; i++)
        page[i] = arena_printf(g->a, " + page * %lld",
                               (long long)page_stride(g, n->in[1 + i]));
    put(e, "for (int64_t head = 0; head < $heads; head++) {\n");
    put_call(e, need_short_attention(g, n),
             arena_printf(g->a,
                          "%s, %lld, %s%s, %s%s, %s + head * %lld, %lld, "
                          "c->scratch",
                          head_at(g, n->in[0], g->row),
                          (long long)g->p->value[n->in[0]].stride,
                          pages_at(g, n->in[1], head), page[0],
                          pages_at(g, n->in[2], head), page[1],
                          value_at(g, node, g->row),
                          (long long)node_at(g->p, n->in[2])->type.dim[2].c,
                          (long long)g->p->value[node].stride),
             ";");
    put(e, "}\n");
}

/* Begins the loop over tasks. A task may be several heads of one row. */
static void begin_heads_loop(Gen *g, Emit *e, bool apart)
{
    let(e, "at_once", "%s", heads_at_once(g, apart));
    put(e, "const int64_t each = $at_once;\n"
           "\n");
    put(e,
        g->serial
            ? "for (int64_t task = 0; task < tasks; task += each) {\n"
            : "for (int64_t task = part * each; task < tasks; task += parts * each) {\n");
    put(e, "const int64_t s = task / $heads, head = $at_head;\n"
           "const int64_t row = b->$start[s];\n");
}

static void put_attention_head(Gen *g, Emit *e, int node, bool shared)
{
    const Node *n = node_at(g->p, node);
    const Value *y = &g->p->value[node], *q = &g->p->value[n->in[0]];
    const int64_t d_v = node_at(g->p, n->in[2])->type.dim[2].c;
    ask_next_head(g, e, n);
    put_call(e, need_attention(g, node),
             arena_printf(g->a, "%s, %lld, %s, &m, %s + head * %lld, %lld, %s",
                          head_at(g, n->in[0], g->row), (long long)q->stride,
                          queries_text(g, n, shared), value_at(g, node, g->row),
                          (long long)d_v, (long long)y->stride,
                          scratch_text(g)),
             ";");
}

void emit_attention(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    if (is_short_attention(g, n)) {
        put_short_attention(g, e, node);
        return;
    }
    const bool shared = node_at(g->p, n->in[1])->op == OpRecall && !n->mask
                     && !n->bias;
    const bool together = heads_together(g, node);
    begin_tasks(g, e, n->heads,
                own_heads(g, n->heads, node_at(g->p, n->in[1])->type.dim[0].c),
                row_sym(n->type));
    let(e, "scratch", "%lld", (long long)g->p->scratch);
    if (!g->undivided && !g->serial)
        put(e, "float *const scratch = c->scratch + part * $scratch;\n");
    if (together && !g->undivided)
        begin_heads_loop(g, e, shared);
    else
        begin_task_loop(g, e, together ? HeadsAtOnce : 1);
    if (shared && !g->alone)
        share_source(e);
    keys_fields(g, e, node);
    if (together && !g->undivided)
        put(e, "\n"
               "if (each > 1) {\n");
    if (together)
        put_heads(g, e, node);
    if (together && !g->undivided)
        put(e, "continue;\n"
               "}\n");
    if (!together || !g->undivided)
        put_attention_head(g, e, node, shared);
    put(e, "}\n");
}

const char *page_at(Gen *g, int node, const char *head, const char *page)
{
    return arena_printf(g->a, "%s + %s * %lld", pages_at(g, node, head), page,
                        (long long)page_stride(g, node));
}

static void pack_one(Gen *g, Emit *e, int node, const char *row, const char *n)
{
    const Node *of = node_at(g->p, node);
    const char *page = of->part == PartKey ? "k" : "v";
    const long long units = units_offset(g, of);
    put_call(e, pack_kernel(g, of),
             arena_printf(g->a, "%s, %s, %lld, %s, %lld, at%s", page,
                          head_at(g, of->in[0], row),
                          (long long)g->p->value[of->in[0]].stride, n,
                          (long long)of->type.dim[2].c,
                          units ? arena_printf(g->a, ", %s + %lld", page, units)
                                : ""),
             ";");
}

static void let_pages(Gen *g, Emit *e, const Region *r)
{
    for (int k = 0; k < r->count; k++) {
        const int node = g->p->order.at[r->first + k];
        let(e, "to", node_at(g->p, node)->part == PartKey ? "k" : "v");
        let(e, "pages", "%s", pages_at(g, node, "head"));
        let(e, "page_floats", "%lld", (long long)page_stride(g, node));
        put(e, "float *$to = $pages\n"
               "           + id * $page_floats;\n");
    }
}

/* True if the new rows of a sequence are all in one page: the first page, or
 * any page if there is only one row. */
static bool one_page(const Gen *g, const Node *n, Sym rows)
{
    const SpecFix *fix = &g->p->g->spec->fix;
    const int64_t fixed = plan_length(g->p, rows);
    const bool later = n->op == OpAppend && n->entry == EntryDecode;
    if (!g->undivided || !fixed)
        return false;
    return fixed == 1
        || (later ? fix->past >= 0 && fix->past % ATTN_PAGE + fixed <= ATTN_PAGE
                  : fixed <= ATTN_PAGE);
}

static void pack_in_one(Gen *g, Emit *e, const Region *r)
{
    const Node *n = node_at(g->p, g->p->order.at[r->first]);
    const Sym rows = node_at(g->p, n->in[0])->type.dim[1].sym;
    put(e, "const int64_t at = $past, id = $page_id;\n");
    let_pages(g, e, r);
    put(e, "\n");
    for (int k = 0; k < r->count; k++)
        pack_one(g, e, g->p->order.at[r->first + k], g->row,
                 length_c(g, length_of(plan_length(g->p, rows))));
    put(e, "}\n");
}

/* Emits the step that writes the new rows of a region's keys, values or both to
 * their pages. */
void emit_pack_kv(Gen *g, Emit *e, int first)
{
    const Region *r = &g->p->region.at[g->p->region_of[first]];
    const Node *n = node_at(g->p, first);
    const char *table = page_table(g, n);
    const Sym rows = node_at(g->p, n->in[0])->type.dim[1].sym;
    begin_tasks(g, e, n->type.dim[0].c, own_key_heads(g, r), rows);
    begin_task_loop(g, e, 1);
    if (table) {
        let(e, "table", "%s", table);
        put(e, "const int32_t *page = $table;\n");
    }
    let(e, "past", "%s",
        n->op == OpAppend && n->entry == EntryDecode ? length_c(g, call_past(g))
                                                     : "0");
    let_page_id(g, e, n);
    if (one_page(g, n, rows)) {
        pack_in_one(g, e, r);
        return;
    }
    let(e, "row", "%s", g->row ? g->row : "0");
    if (!g->undivided)
        let(e, "end", "b->%s[s + 1]", starts_of(rows));
    else
        let(e, "end", "%s",
            length_c(g, length_add(g, length_text(g->row),
                                   sequence_rows(g, rows))));
    put(e, "int64_t at = $past;\n"
           "int64_t n;\n"
           "\n"
           "for (int64_t i = $row; i < $end; i += n) {\n"
           "    const int64_t id = $page_id;\n");
    let_pages(g, e, r);
    put(e, "\n"
           "n = min(64 - at % 64, $end - i);\n");
    need_min(g);
    for (int k = 0; k < r->count; k++)
        pack_one(g, e, g->p->order.at[r->first + k], "i", "n");
    put(e, "at += n;\n"
           "}\n"
           "}\n");
}
