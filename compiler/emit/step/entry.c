/* entry.c: emits encode() and decode(): the layout of the arena, then one call
 * per region, in order. Repeated layers become loops. */
#include "emit/gen/length.h"
#include "emit/gen/layer_loops.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

#include <string.h>

/* ---- the arena ---- */

static const char *unit_text(Gen *g, const Value *v)
{
    const Slot *s = &g->p->slot.at[v->slot];
    const long long unit = s->unit;
    switch (s->kind) {
    case SlotRoutes:
        return arena_printf(g->a, "%lld floats, and %lld a row",
                            (long long)s->fixed, unit);
    case SlotRows:
        if (v->times > 1)
            return arena_printf(g->a, "%lld floats a row, %lld times",
                                (long long)v->stride, (long long)v->times);
        return arena_printf(g->a, "%lld floats a row", (long long)v->stride);
    case SlotSequences:
        return arena_printf(g->a, "%lld floats a sequence", unit);
    case SlotPages: return arena_printf(g->a, "%lld floats a page", unit);
    case SlotParts: break;
    }
    return arena_printf(g->a, g->serial ? "%lld floats" : "%lld floats a part",
                        unit);
}

/* True if the entry reads or writes a cache of kind `of`. */
static bool has_cache(const Plan *p, Entry entry, int of)
{
    for (int i = 0; i < p->g->nodes.n; i++) {
        const Node *n = node_at(p, i);
        if (n->entry == entry && (n->op == OpAppend || n->op == OpRecall)
            && p->cache[n->cache].of == of)
            return true;
    }
    return false;
}

static void call_struct(Gen *g, Emit *e, Entry entry)
{
    let(e, "entry", "%s", entry_name(entry));
    put(e,
        "/* One call of $entry(): its arguments, its current layer and rows, and the\n"
        " * address of each value in the arena. Values whose lifetimes do not\n"
        " * overlap may share memory. */\n"
        "struct $entry {\n"
        "    const struct weights *w;\n"
        "    const struct attn_batch *b;\n"
        "    const void *layer_weights;\n");
    if (g->p->layer_state[CacheSelf] || g->p->layer_state[CacheCross])
        put(e, "int64_t layer;\n");
    if (has_cache(g->p, entry, CacheSelf))
        put(e,
            "float *self;                     /* this layer in page 0 of its cache */\n");
    if (has_cache(g->p, entry, CacheCross))
        put(e,
            "float *cross;                    /* the same of a cross cache */\n");
    if (g->p->divided[entry] && !g->serial && !has_ranks(g))
        put(e, "const struct steps *steps;       /* the current steps */\n");
    if (g->p->divided[entry] && !g->serial)
        put(e,
            "int64_t row, rows;               /* these are for `rows` rows from\n"
            "                                    `row` on */\n"
            "int64_t block_rows;              /* as in struct steps; never 0 */\n");
    const Value *v;
    for (int at = 0; (v = next_value(g, entry, &at)) != NULL;) {
        let(e, "line", "float *%s;%*s /* %s */", v->name,
            (int)(strlen(v->name) < 24 ? 24 - strlen(v->name) : 0), "",
            unit_text(g, v));
        put(e, "$line\n");
    }
    if (g->p->scratch) {
        let(e, "line", "float *scratch;%17s /* %lld floats%s */", "",
            (long long)g->p->scratch, g->serial ? "" : " per part");
        put(e, "$line\n");
    }
    if (has_scan(g->p, entry)) {
        let(e, "line", "float *scan;%20s /* %lld floats per sequence */", "",
            (long long)g->p->scan[entry]);
        put(e,
            "$line\n"
            "int32_t *order;                  /* sequences, sorted by length */\n");
        if (!g->serial)
            put(e,
                "int64_t by_columns;              /* threads divide a scan's columns */\n");
    }
    put(e, "};\n\n");
}

void emit_call_structs(Gen *g, Emit *e)
{
    if (is_divided(g))
        emit_step_structs(g, e);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (has_entry(g->p, (Entry)k))
            call_struct(g, e, (Entry)k);
}

/* The numbers that determine the size of an arena. */
typedef struct {
    Length rows, sequences, parts;
} ArenaUnits;

static Length fixed_or_text(int64_t fixed, const char *text)
{
    return fixed ? length_of(fixed) : length_text(text);
}

static ArenaUnits arena_units(Gen *g, Entry entry)
{
    const AffineSize fixed = plan_units(g->p, entry);
    return (ArenaUnits){ fixed_or_text(fixed.rows, "rows"),
                         fixed_or_text(fixed.sequences, "sequences"),
                         fixed_or_text(g->serial ? 1 : fixed.parts, "parts") };
}

/* Returns C for a number of floats, e.g. "rows * 512 + sequences * 64". */
static Length linear(Gen *g, Entry entry, AffineSize l)
{
    const ArenaUnits of = arena_units(g, entry);
    const struct {
        int64_t c;
        Length by;
    } term[] = { { l.rows, of.rows },
                 { l.sequences, of.sequences },
                 { l.parts, of.parts },
                 { l.c0, length_of(1) } };
    Length text = length_of(0), known = length_of(0);
    for (int i = 0; i < 4; i++) {
        if (term[i].c == 0)
            continue;
        g->uses.rows |= i == 0 && term[i].by.text;
        g->uses.sequences |= i == 1 && term[i].by.text;
        g->uses.parts |= i == 2 && term[i].by.text;
        Length *to = term[i].by.text ? &text : &known;
        const Length more = term[i].by.text
                              ? length_text(arena_printf(g->a, "%s * %lld",
                                                         term[i].by.text,
                                                         (long long)term[i].c))
                              : length_times(g, term[i].by, term[i].c);
        *to = length_add(g, *to, more);
    }
    return length_add(g, text, known);
}

static const char *linear_text(Gen *g, Entry entry, AffineSize l)
{
    return length_c(g, linear(g, entry, l));
}

static void layout_values(Gen *g, Emit *e, Entry entry)
{
    const Plan *p = g->p;
    const Value *v;
    for (int at = 0; (v = next_value(g, entry, &at)) != NULL;) {
        let(e, "name", "%s", v->name);
        const Length place = linear(g, entry, p->slot.at[v->slot].at);
        let(e, "at", "%s", length_c(g, place));
        put(e, length_is(place, 0) ? "c->$name = arena;\n"
                                   : "c->$name = arena + $at;\n");
    }
    if (p->scratch) {
        AffineSize at = p->arena[entry];
        at.parts -= p->scratch;
        at.sequences -= p->scan[entry];
        let(e, "at", "%s", linear_text(g, entry, at));
        put(e, "c->scratch = arena + $at;\n");
    }
    if (has_scan(p, entry)) {
        AffineSize at = p->arena[entry];
        const AffineSize all = { .sequences = p->scan[entry] - ATTN_PANEL };
        at.sequences -= p->scan[entry];
        let(e, "at", "%s", linear_text(g, entry, at));
        let(e, "all", "%s", linear_text(g, entry, all));
        put(e, "c->scan = arena + $at;\n"
               "c->order = (int32_t *)(c->scan + $all);\n");
    }
}

/* Emits the head of the function that lays out an entry's arena, then
 * `tail`. */
static void layout_head(Gen *g, Emit *e, Entry entry, const char *tail)
{
    const char *name = entry_name(entry);
    put_call(e, arena_printf(g->a, "static void %s_layout", name),
             arena_printf(g->a,
                          "struct %s *c, const void *bound, const struct "
                          "attn_batch *b, float *arena",
                          name),
             tail);
}

/* Emits declarations of the layout's units that are not constant. */
static void layout_units(Gen *g, Emit *e, Entry entry)
{
    const ArenaUnits of = arena_units(g, entry);
    let(e, "rows",
        g->p->g->spec->kind == KindAttention ? "max(b->rows, b->key_rows)"
                                             : "b->rows");
    if (of.rows.text)
        put(e, "const int64_t rows = $rows;\n");
    if (g->uses.sequences)
        put(e, "const int64_t sequences = b->sequences;\n");
    if (g->uses.parts)
        put(e, "int64_t parts = 1;\n"
               "\n"
               "if (b->parallel)\n"
               "    parts = max(b->parallel->parts, 1);\n");
}

static void layout_function(Gen *g, Emit *e, Entry entry)
{
    Emit *values = emit_nested(g->a);
    g->uses = (Uses){ 0 };
    layout_values(g, values, entry);
    layout_head(g, e, entry, "");
    put(e, "{\n");
    layout_units(g, e, entry);
    put(e, "c->w = bound;\n"
           "c->b = b;\n");
    emit_add(e, values);
    put(e, "}\n\n");
}

/* ---- calls ---- */

static const Function *function_of(const Gen *g, int region)
{
    return &g->functions.at[g->function_of[region]];
}

static const Function *step_of(const Gen *g, int place)
{
    return &g->functions.at[g->step_of[place]];
}

static int group_end(const Gen *g, int from)
{
    const Region *r = g->p->region.at;
    int to = from + 1;
    while (to < g->p->region.n && r[to].entry == r[from].entry
           && r[to].layer == r[from].layer && r[to].stack == r[from].stack)
        to++;
    return to;
}

/* Emits the calls for a region in a file without threads: each step for all
 * rows at once, or all steps block by block. */
static void put_serial_calls(Gen *g, Emit *e, const Region *r, const char *rows)
{
    const char *row = r->row_block ? "row, " : "0, ";
    if (r->by_rows && r->row_block) {
        need_next_block(g);
        let(e, "rows", "%s", rows);
        let(e, "block", "%lld", (long long)region_block(g->p, r));
        put(e, "for (int64_t row = 0, rows; row < $rows; row += rows) {\n"
               "    rows = next_block($rows - row, $block);\n");
        rows = "rows";
    }
    for (int k = 0; k < (r->by_rows ? r->count : 1); k++) {
        const Function *f = step_of(g, r->first + k);
        put_call(e, f->name,
                 !f->by_rows ? "&c"
                             : arena_printf(g->a, "&c, %s%s",
                                            f->uses.row ? row : "", rows),
                 ";");
    }
    if (r->by_rows && r->row_block)
        put(e, "}\n");
}

static void put_calls(Gen *g, Emit *e, int from, int to)
{
    for (int i = from; i < to; i++) {
        const Region *r = &g->p->region.at[i];
        const Node *n = node_at(g->p, g->p->order.at[r->first]);
        const char *name = function_of(g, i)->name;
        if (g->serial && !r->undivided) {
            put_serial_calls(g, e, r, length_c(g, rows_of_type(g, n->type)));
            continue;
        }
        if (r->undivided) {
            for (int k = 0; k < (r->by_rows ? r->count : 1); k++)
                put_call(e, step_of(g, r->first + k)->name, "&c", ";");
            continue;
        }
        if (r->by_rows)
            put_call(e, arena_printf(g->a, "%s_rows", entry_name(r->entry)),
                     arena_printf(g->a, "&c, %s, &%s",
                                  length_c(g, rows_of_type(g, n->type)), name),
                     ";");
        else if (n->op == OpRecurrent)
            put_call(e, arena_printf(g->a, "%s_scan", entry_name(r->entry)),
                     arena_printf(g->a, "&c, &%s", name), ";");
        else
            put_call(e, "run_step",
                     arena_printf(g->a, "b, %s, &%s, &c", count_text_of(g, r),
                                  name),
                     ";");
        if (has_ranks(g) && gives_heads(n))
            put_call(e, "exchange",
                     arena_printf(g->a, "b, &%s, &c, 0, %s", name,
                                  length_c(g, rows_of_type(g, n->type))),
                     ";");
    }
}

/* ---- layers ---- */

typedef struct {     /* consecutive layers that an entry calls */
    VEC(int) region; /* the first region of each layer */
    VEC(LoopItem) item;
} Calls;

enum {
    NumberLayer,
    NumberWeights, /* index of the layer's weights in their array */
    NumberSelf, /* offset of a layer's keys and values in page 0, in floats */
    NumberCross
};

const Node *kept_by(const Plan *p, const Node *n, int of)
{
    for (int k = -1; k < n->nin; k++) {
        const Node *x = k < 0 ? n : n->in[k] < 0 ? NULL : node_at(p, n->in[k]);
        if (x && (x->op == OpAppend || x->op == OpRecall)
            && p->cache[x->cache].of == of)
            return x;
    }
    return NULL;
}

/* Returns the node that writes or reads a cache of kind `of` in a layer, or
 * NULL. */
static const Node *kept_in(const Plan *p, int from, int to, int of)
{
    const Node *x = NULL;
    for (int i = from; i < to; i++) {
        const Region *r = &p->region.at[i];
        for (int k = r->first; k < r->first + r->count && !x; k++)
            x = kept_by(p, node_at(p, p->order.at[k]), of);
    }
    return x;
}

/* Returns the first layer with the same steps, whose names include their
 * caches, and the same array of weights as the layer of these regions. */
static int first_alike(Gen *g, Index *layers, int from, int to)
{
    const Region *r = &g->p->region.at[from];
    VEC(int) key = { 0 };
    vec_push(g->a, &key, layer_like(g, r->stack, r->layer));
    for (int i = from; i < to; i++) {
        const Region *of = &g->p->region.at[i];
        vec_push(g->a, &key, g->function_of[i]);
        for (int k = 1; k < of->count && (of->undivided || g->serial); k++)
            vec_push(g->a, &key, g->step_of[of->first + k]);
    }
    return index_add_key(g->a, layers, key.at, (size_t)key.n * sizeof *key.at,
                         from);
}

/* Emits an assignment such as "c.self = b->pool[0] + l * 4096;". */
static void put_place(Gen *g, Emit *e, const Node *kept, const char *offset)
{
    let(e, "cache", "%d", kept->cache);
    let(e, "name", g->p->cache[kept->cache].of == CacheSelf ? "self" : "cross");
    let(e, "offset", "%s", offset);
    put(e, "c.$name = b->pool[$cache]$offset;\n");
}

static int64_t place_in(const Plan *p, int from, int to, int of)
{
    const Node *kept = kept_in(p, from, to, of);
    return kept ? kept->place * place_floats(p, kept->cache) : 0;
}

static void layer_calls(Gen *g, Emit *e, const void *of, int item,
                        const LoopPath *path)
{
    const Calls *c = of;
    const int from = c->region.at[item], to = group_end(g, from);
    const Region *r = &g->p->region.at[from];
    bool weights = false, layer = false;
    for (int i = from; i < to; i++)
        for (int k = 0; k < g->p->region.at[i].count; k++) {
            const Function *f = step_of(g, g->p->region.at[i].first + k);
            weights |= f->uses.weights;
            layer |= f->uses.layer;
        }
    if (weights) {
        let(e, "w", "%s", layer_array(g, r->stack, r->layer));
        let(e, "at", "%s", loop_number(g, c->item.at, path, NumberWeights));
        put(e, "c.layer_weights = &c.w->$w[$at];\n");
    }
    if (layer) {
        let(e, "at", "%s", loop_number(g, c->item.at, path, NumberLayer));
        put(e, "c.layer = $at;\n");
    }
    for (int cache = CacheSelf; cache <= CacheCross; cache++) {
        const Node *kept = kept_in(g->p, from, to, cache);
        const int number = cache == CacheSelf ? NumberSelf : NumberCross;
        if (kept)
            put_place(g, e, kept, loop_offset(g, c->item.at, path, number));
    }
    put_calls(g, e, from, to);
}

/* Emits the calls for consecutive layers, beginning at the region `from`.
 * Returns the first region that belongs to no layer or to another entry. */
static int put_layers(Gen *g, Emit *e, int from)
{
    const Region *r = g->p->region.at;
    const Entry entry = r[from].entry;
    const bool written = plan_code(g->p, entry).written;
    Calls c = { 0 };
    Index like = { 0 };
    while (from < g->p->region.n && r[from].entry == entry
           && r[from].layer >= 0) {
        const int to = group_end(g, from);
        const LoopItem item = {
            .stack = r[from].stack,
            .like = written ? from : first_alike(g, &like, from, to),
            .number = { [NumberLayer] = r[from].layer,
                        [NumberWeights] = layer_place(g, r[from].stack,
                                                      r[from].layer),
                        [NumberSelf] = place_in(g->p, from, to, CacheSelf),
                        [NumberCross] = place_in(g->p, from, to, CacheCross) },
        };
        vec_push(g->a, &c.region, from);
        vec_push(g->a, &c.item, item);
        from = to;
    }
    put_loops(g, e, c.item.at, c.item.n, layer_calls, &c);
    return from;
}

static void entry_function(Gen *g, Emit *e, Entry entry)
{
    const Plan *p = g->p;
    let(e, "entry", "%s", entry_name(entry));
    put(e,
        entry == EntryDecode
            ? "/* Decodes the new rows of all sequences, which follow those in the\n"
              " * cache: a complete prompt, or one row. */\n"
            : "/* Encodes all rows of all sequences. */\n");
    put_call(e, arena_printf(g->a, "static void %s", entry_name(entry)),
             "const void *bound, const struct attn_batch *b, void *arena", "");
    put(e, "{\n"
           "    struct $entry c;\n"
           "\n");
    put_call(e, arena_printf(g->a, "%s_layout", entry_name(entry)),
             "&c, bound, b, arena", ";");
    for (int i = 0; i < p->region.n;) {
        const Region *r = &p->region.at[i];
        const int end = group_end(g, i);
        if (r->entry == entry && r->layer >= 0) {
            i = put_layers(g, e, i);
            continue;
        }
        if (r->entry == entry)
            put_calls(g, e, i, end);
        i = end;
    }
    put(e, "}\n\n");
}

/* Emits a use of each unused parameter of arena_bytes(). */
static void put_unused_sizes(Emit *e, Uses uses)
{
    if (!uses.rows)
        put(e, "(void)rows;\n");
    if (!uses.sequences)
        put(e, "(void)sequences;\n");
    if (!uses.parts)
        put(e, "(void)parts;\n");
}

static void arena_function(Gen *g, Emit *e)
{
    const Plan *p = g->p;
    g->uses = (Uses){ 0 };
    const Length encode = linear(g, EntryEncode, p->arena[EntryEncode]);
    const Length decode = linear(g, EntryDecode, p->arena[EntryDecode]);
    let(e, "encode", "%s", length_c(g, encode));
    let(e, "decode", "%s", length_c(g, decode));
    put(e,
        "/* Returns the bytes of the arena, with space to align it to 64. */\n");
    put_call(e, "static int64_t arena_bytes",
             "int64_t rows, int64_t sequences, int64_t parts", "");
    if (encode.text || decode.text) {
        put(e, "{\n"
               "    const int64_t encode_floats =\n"
               "        $encode;\n"
               "    const int64_t decode_floats =\n"
               "        $decode;\n"
               "\n");
        put_unused_sizes(e, g->uses);
        need_max(g);
        put(e, "return 4 * max(encode_floats, decode_floats) + 64;\n"
               "}\n\n");
        return;
    }
    let(e, "floats", "%s", length_c(g, length_max(g, encode, decode)));
    put(e, "{\n");
    put_unused_sizes(e, g->uses);
    put(e, "return 4 * $floats + 64;\n"
           "}\n\n");
}

void emit_layouts(Gen *g, Emit *e)
{
    arena_function(g, e);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (has_entry(g->p, (Entry)k))
            layout_function(g, e, (Entry)k);
}

/* Emits declarations of the steps' functions: "static step_function
 * encoder_norm1, ...". */
static void declare_steps(Gen *g, Emit *e)
{
    Buffer names = { .arena = g->a };
    const char *gap = " ";
    buffer_printf(&names, "static step_function");
    for (int i = 0; i < g->functions.n; i++) {
        const Function *f = &g->functions.at[i];
        if (f->type || f->undivided || g->serial)
            continue;
        buffer_printf(&names, "%s%s", gap, f->name);
        gap = ", ";
    }
    buffer_printf(&names, ";");
    if (is_divided(g))
        put_words(e, names.at, "    ");
    for (int i = 0; i < g->functions.n; i++)
        if (g->functions.at[i].undivided || g->serial)
            step_head(g, e, &g->functions.at[i], ";");
    put(e, "\n");
}

static void declare_called(Gen *g, Emit *e)
{
    declare_steps(g, e);
    if (is_divided(g))
        emit_run_step_head(e, ";");
    if (is_divided(g) && has_ranks(g))
        emit_exchange_head(e, ";");
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (has_entry(g->p, (Entry)k)) {
            layout_head(g, e, (Entry)k, ";");
            if (g->p->rows_divided[k] && !g->serial)
                emit_rows_head(g, e, (Entry)k, ";");
            if (!g->serial && has_scan(g->p, (Entry)k))
                emit_scan_head(e, (Entry)k, ";");
        }
    emit_add(e, g->count_prototypes);
    put(e, "\n");
}

void emit_entries(Gen *g, Emit *e)
{
    Emit *entries = emit_new(g->a);
    for (int k = EntryEncode; k <= EntryDecode; k++)
        if (has_entry(g->p, (Entry)k))
            entry_function(g, entries, (Entry)k);
    declare_called(g, e);
    for (int i = 0; i < g->functions.n; i++)
        if (g->functions.at[i].type)
            emit_function(g, e, &g->functions.at[i]);
    emit_add(e, entries);
}
