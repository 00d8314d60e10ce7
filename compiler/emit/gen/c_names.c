/* c_names.c: chooses the emitted C names of the plan's values, weights, rows
 * and sizes. */
#include "emit/gen/c_names.h"

#include "emit/gen/step.h"

#include <ctype.h>
#include <string.h>

/* ---- values ---- */

const char *row_count(Sym s)
{
    switch (s) {
    case SymR: return "b->selected";
    case SymM: return "b->key_rows";
    case SymS: return "b->sequences";
    default:   return "b->rows";
    }
}

const char *starts_of(Sym s)
{
    return s == SymM ? "key_start" : "start";
}

const char *const batch_member[] = {
    [BatchIds] = "ids",     [BatchTypes] = "types", [BatchInput] = "input",
    [BatchQuery] = "query", [BatchKey] = "key",     [BatchValue] = "value",
};

bool in_block(const Gen *g, int node)
{
    const Value *v = &g->p->value[owner_of(g->p, node)];
    return v->place != PlaceInput && g->p->slot.at[v->slot].kind == SlotParts;
}

const char *value_name(const Gen *g, int node)
{
    return g->p->value[owner_of(g->p, node)].name;
}

/* Returns C for the address of a row; `row` NULL: the first row. */
static const char *row_at(Gen *g, int node, const char *row)
{
    const Plan *p = g->p;
    const int owner = owner_of(p, node);
    const Value *v = &p->value[node];
    const char *name = p->value[owner].name;
    const char *column = v->column
                           ? arena_printf(g->a, " + %lld", (long long)v->column)
                           : "";
    if (p->value[owner].place == PlaceInput)
        name = arena_printf(g->a, "b->%s",
                            batch_member[node_at(p, owner)->member]);
    if (!row)
        return arena_printf(g->a, "c->%s%s", name, column);
    return arena_printf(g->a, "c->%s + %s * %lld%s", name, row,
                        (long long)v->stride, column);
}

const char *value_at(Gen *g, int node, const char *row)
{
    if (in_block(g, node))
        die("%s is of one block", node_at(g->p, node)->name);
    return row_at(g, node, row);
}

const char *first_at(Gen *g, int node)
{
    if (in_block(g, node))
        die("%s is of one block", node_at(g->p, node)->name);
    return row_at(g, node, NULL);
}

const char *block_at(Gen *g, int node)
{
    if (in_block(g, node) || g->undivided)
        return row_at(g, node, NULL);
    g->uses.row |= g->serial;
    return row_at(g, node, g->serial ? "row" : "c->row");
}

const char *part_at(Gen *g, int node)
{
    const bool own = in_block(g, node);
    if (g->undivided || (g->serial && own))
        return row_at(g, node, NULL);
    g->uses.row |= !own;
    if (g->serial)
        return row_at(g, node, "row");
    return row_at(g, node, own ? "at" : "i");
}

long long stride_of(const Gen *g, int node)
{
    return g->p->value[node].stride;
}

const char *rows_at(Gen *g, int node, const char *at)
{
    const Arithmetic a = elem_arithmetic(node_at(g->p, node)->type.elem);
    const RowFormat *f = &row_formats[a];
    const long long stride = (long long)sizeof(float) * stride_of(g, node)
                           / f->bytes;
    return f->kernel
             ? arena_printf(g->a, "(const %s *)(%s), %lld", f->type, at, stride)
             : arena_printf(g->a, "%s, %lld", at, stride);
}

const Value *next_value(const Gen *g, Entry entry, int *at)
{
    const Plan *p = g->p;
    for (; *at < p->named.n; ++*at) {
        const Value *v = &p->value[p->named.at[*at]];
        if (p->slot.at[v->slot].entry == entry) {
            ++*at;
            return v;
        }
    }
    return NULL;
}

/* ---- weights ---- */

const char *weight_text(Gen *g, int block)
{
    const Block *b = &g->p->block.at[block];
    g->uses.weights |= b->layer >= 0;
    return arena_printf(g->a, b->layer >= 0 ? "w->%s" : "c->w->%s", b->field);
}

const char *weight_of(Gen *g, int root, PackLayout layout)
{
    const int b = plan_block(g->p, root, layout);
    if (b < 0)
        die("node %d is not packed", root);
    return weight_text(g, b);
}

/* ---- entries ---- */

const char *entry_name(Entry e)
{
    return e == EntryEncode ? "encode" : "decode";
}

bool has_decoder(const Plan *p)
{
    return has_entry(p, EntryDecode);
}

char *upper_name(Arena *a, const char *s)
{
    char *u = arena_strdup(a, s);
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}

int output_columns(const Plan *p)
{
    return (int)p->g->nodes.at[graph_result(p->g)].type.dim[1].c;
}

bool is_pooled(const Plan *p)
{
    return p->g->nodes.at[graph_result(p->g)].type.dim[0].sym == SymS;
}

/* ---- sizes ---- */

typedef struct {
    const char *name;
    int64_t value;
} Dimension;

static bool is_given(const Dimension *d)
{
    return d->value > 0 && d->value <= INT32_MAX;
}

static void dimension(Emit *e, const char *name, int64_t value)
{
    let(e, "dim", "%s", name);
    let(e, "value", "%lld", (long long)value);
    put(e, "$dim = $value,\n");
}

/* Emits the dimensions as an enum, on as few lines as possible. */
static void put_in_lines(Gen *g, Emit *e, const Dimension *d, size_t n)
{
    const char *line = "enum {", *gap = " ";
    for (size_t i = 0; i < n; i++) {
        if (!is_given(&d[i]))
            continue;
        const char *next = arena_printf(g->a, "%s = %lld", d[i].name,
                                        (long long)d[i].value);
        if (strlen(line) + strlen(gap) + strlen(next) > 77) {
            let(e, "line", "%s,", line);
            put(e, "$line\n");
            line = "      ";
            gap = " ";
        }
        line = arena_printf(g->a, "%s%s%s", line, gap, next);
        gap = ", ";
    }
    let(e, "line", "%s };", line);
    put(e, "$line\n\n");
}

/* Emits the version as text, and as a number for the preprocessor. */
static void version(Emit *e, const char *prefix)
{
    let(e, "macro", "%sATTNC_VERSION", prefix);
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "number", "%sATTNC_VERSION_NUMBER %d", prefix, ATTNC_VERSION_NUMBER);
    put(e, "/* Version of attnc: major * 10000 + minor * 100 + "
           "patch. */\n"
           "#define $macro \"$version\"\n"
           "#define $number\n"
           "\n");
}

/* Returns the bytes of the arena if they are the same for all calls; otherwise
 * 0. */
static int64_t arena_constant(const Plan *p)
{
    int64_t bytes = 0;
    for (int e = EntryEncode; e <= EntryDecode; e++) {
        const AffineSize u = plan_units(p, (Entry)e);
        const int64_t floats = affine_at(p->arena[e], u.rows, u.sequences,
                                         u.parts);
        if (has_entry(p, (Entry)e) && (!u.rows || !u.sequences || !u.parts))
            return 0;
        bytes = 4 * floats + 64 > bytes ? 4 * floats + 64 : bytes;
    }
    return plan_fixed(p) ? bytes : 0;
}

/* Emits the numbers of layers that the C file names. */
static void put_layer_counts(Gen *g, Emit *e)
{
    const SpecSide *side = g->p->g->spec->side;
    if (!g->counted[StackEncoder] && !g->counted[StackDecoder])
        return;
    put(e, "enum {\n");
    if (g->counted[StackEncoder])
        dimension(e, "ENCODER_LAYERS", side[SideEncoder].N);
    if (g->counted[StackDecoder])
        dimension(e, "DECODER_LAYERS", side[SideDecoder].N);
    put(e, "};\n\n");
}

/* Emits the dimensions as constants. If `prefix` is set, emits them for a
 * header; otherwise for plain C. */
void emit_dimensions(Gen *g, Emit *e, const char *prefix)
{
    const Spec *s = g->p->g->spec;
    const SpecSide *enc = &s->side[SideEncoder], *dec = &s->side[SideDecoder];
    const Side side = s->kind == KindDecoder ? SideDecoder : SideEncoder;
    const int columns = has_decoder(g->p) ? 0 : output_columns(g->p);
    const Dimension dims[] = {
        { "D_MODEL", s->d_model },
        { "HEADS", spec_of_layers(s, side, "h") },
        { "D_K", spec_of_layers(s, side, "d_k") },
        { "D_V", spec_of_layers(s, side, "d_v") },
        { "D_FF", spec_of_layers(s, side, "d_ff") },
        { "ENCODER_LAYERS", enc->N },
        { "DECODER_LAYERS", dec->N },
        { "SOURCE_VOCAB", s->source.size },
        { "TARGET_VOCAB", s->target.size },
        { "MAX_SOURCE", enc->max_len },
        { "MAX_TARGET", dec->max_len },
        { "OUTPUT", columns },             /* floats per row of the result */
        { "FIXED_SOURCE", s->fix.source }, /* rows in each call */
        { "FIXED_TARGET", s->fix.target },
        { "FIXED_QUERY", s->fix.query },
        { "FIXED_KEY", s->fix.key },
        { "FIXED_KEYS", plan_length(g->p, SymPT) }, /* number of keys, including
                                                     * those of earlier calls */
        { "FIXED_BATCH", s->fix.batch },
        /* freestanding files have a macro instead (static_memory.c) */
        { "ARENA_BYTES", g->o->freestanding ? 0 : arena_constant(g->p) },
    };
    if (g->plain) {
        put_in_lines(g, e, dims, sizeof dims / sizeof *dims);
        return;
    }
    if (!*prefix) {
        put_layer_counts(g, e);
        return;
    }
    version(e, prefix);
    put(e, "enum {\n");
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        if (is_given(&dims[i]))
            dimension(e, arena_printf(g->a, "%s%s", prefix, dims[i].name),
                      dims[i].value);
    put(e, "};\n\n");
}

const char *layers_text(Gen *g, Stack stack, int n)
{
    const Spec *s = g->p->g->spec;
    const bool encoder = stack == StackEncoder;
    if (n != s->side[encoder ? SideEncoder : SideDecoder].N)
        return arena_printf(g->a, "%d", n);
    g->counted[encoder ? StackEncoder : StackDecoder] = true;
    return encoder ? "ENCODER_LAYERS" : "DECODER_LAYERS";
}

const char *last_number(Gen *g, const Node *n, const OpCode *code)
{
    const char *member = (const char *)n + code->number;
    return code->number ? arena_printf(g->a, ", %s",
                                       c_float(g->a, *(const double *)member))
                        : "";
}
