/* rank_share.c: emits what a rank computes of a step. With fix.ranks the file
 * is for that many processes. Each computes some columns of every product and
 * some heads of every attention, with its own share of the weights, and repeats
 * all other steps; then the ranks gather the columns that other ranks read
 * (plan/rank_columns.c), so that each has all (Megatron-LM [Shoeybi et al.
 * 2019, section 3], whose sums of floats over ranks only fix.sum_ranks adds:
 * without them each sum has the order of one process, and so its bits; sums of
 * integers are exact in any order). */
#include "emit/gen/rank_share.h"
#include "emit/gen/c_names.h"

int64_t ranks_of(const Gen *g)
{
    const int64_t ranks = g->p->g->spec->fix.ranks;
    return ranks > 1 ? ranks : 1;
}

bool has_ranks(const Gen *g)
{
    return ranks_of(g) > 1;
}

void need_rank_begin(Gen *g)
{
    need_part_begin(g);
    if (first_time(g, HelperRankBegin, "rank_begin"))
        put(g->helpers,
            "/* Returns the begin of this rank's share of n; with next = 1, its end. */\n"
            "static int64_t rank_begin(const struct attn_batch *b, int64_t n, int64_t step,\n"
            "                          int64_t next)\n"
            "{\n"
            "    if (!b->parallel || !b->parallel->comm)\n"
            "        return next * n;\n"
            "    return part_begin(n, step, b->parallel->comm->rank + next,\n"
            "                      b->parallel->comm->ranks);\n"
            "}\n\n");
}

void need_column_begin(Gen *g)
{
    need_rank_begin(g);
    if (first_time(g, HelperColumnBegin, "column_begin"))
        put(g->helpers,
            "/* Returns the begin of a part of this rank's columns. */\n"
            "static int64_t column_begin(const struct attn_batch *b, int64_t n, int64_t step,\n"
            "                            int64_t part, int64_t parts)\n"
            "{\n"
            "    const int64_t first = rank_begin(b, n, step, 0);\n"
            "\n"
            "    return first\n"
            "           + part_begin(rank_begin(b, n, step, 1) - first, step, part, parts);\n"
            "}\n\n");
}

int64_t share_unit(const Gen *g, const HeadColumns *c)
{
    return c->key_heads < ranks_of(g) ? 1 : c->heads / c->key_heads;
}

/* Returns the query heads that read a head of these columns. */
static int64_t group_of(const HeadColumns *c)
{
    return c->keys ? c->heads / c->key_heads : 1;
}

const HeadColumns *own_heads(Gen *g, int64_t heads, int64_t key_heads)
{
    if (!has_ranks(g) || heads < ranks_of(g))
        return NULL;
    HeadColumns *c = arena_alloc(g->a, sizeof *c);
    *c = (HeadColumns){ .heads = heads, .key_heads = key_heads };
    return c;
}

const HeadColumns *own_key_heads(const Gen *g, const Region *r)
{
    const RankColumns *need = NULL;
    for (int k = 0; k < r->count && has_ranks(g); k++) {
        need = &g->p->rank_columns[g->p->order.at[r->first + k]];
        if (need->all || need->n != 1)
            return NULL;
    }
    return need ? need->of : NULL;
}

void put_own_heads(Gen *g, Emit *e, const HeadColumns *c)
{
    const int64_t group = group_of(c);
    need_rank_begin(g);
    let(e, "all", "%lld", (long long)c->heads);
    let(e, "unit", "%lld", (long long)share_unit(g, c));
    let(e, "group", "%lld", (long long)group);
    put(e,
        group > 1
            ? "const int64_t own = rank_begin(b, $all, $unit, 0) / $group;\n"
              "const int64_t last = (rank_begin(b, $all, $unit, 1) - 1) / $group;\n"
              "const int64_t heads = last + 1 - own;\n"
            : "const int64_t own = rank_begin(b, $all, $unit, 0);\n"
              "const int64_t heads = rank_begin(b, $all, $unit, 1) - own;\n");
}

/* ---- columns of own heads ---- */

bool has_own_columns(const Gen *g, int node)
{
    return has_ranks(g) && is_product(node_at(g->p, node))
        && !g->p->rank_columns[node].all && !adds_terms(g->p, node);
}

static void need_head_columns(Gen *g)
{
    if (!first_time(g, HelperHeadColumns, "head_columns"))
        return;
    need_rank_begin(g);
    need_min(g);
    need_max(g);
    put(g->helpers,
        "/* `width` columns of each head, from column `first` on. Ranks divide `heads`\n"
        " * query heads by units; `group` of them share a head of these columns. */\n"
        "struct head_columns {\n"
        "    int64_t first, width, heads, unit, group;\n"
        "};\n\n"
        "/* Sets span[i] to the begin and the end of a part of this rank's columns of[i],\n"
        " * which are widened to multiples of `step`, of n columns. */\n"
        "static void head_columns(const struct attn_batch *b,\n"
        "                         const struct head_columns *of, int64_t count,\n"
        "                         int64_t n, int64_t step, int64_t part, int64_t parts,\n"
        "                         int64_t (*span)[2])\n"
        "{\n"
        "    int64_t end = 0, sum = 0;\n"
        "\n"
        "    for (int64_t i = 0; i < count; i++) {\n"
        "        const struct head_columns *c = &of[i];\n"
        "        const int64_t head = rank_begin(b, c->heads, c->unit, 0);\n"
        "        const int64_t last = rank_begin(b, c->heads, c->unit, 1) - 1;\n"
        "        const int64_t from = c->first + head / c->group * c->width;\n"
        "        const int64_t to = c->first + (last / c->group + 1) * c->width;\n"
        "\n"
        "        span[i][0] = max(from / step * step, end);\n"
        "        end = max(min((to + step - 1) / step * step, n), span[i][0]);\n"
        "        span[i][1] = end;\n"
        "        sum += end - span[i][0];\n"
        "    }\n"
        "    const int64_t own = part_begin(sum, step, part, parts);\n"
        "    const int64_t next = part_begin(sum, step, part + 1, parts);\n"
        "\n"
        "    sum = 0;\n"
        "    for (int64_t i = 0; i < count; i++) {\n"
        "        const int64_t from = span[i][0], columns = span[i][1] - from;\n"
        "\n"
        "        span[i][0] = from + max(min(own - sum, columns), 0);\n"
        "        span[i][1] = from + max(min(next - sum, columns), 0);\n"
        "        sum += columns;\n"
        "    }\n"
        "}\n\n");
}

void begin_own_columns(Gen *g, Emit *e, int node)
{
    const RankColumns *need = &g->p->rank_columns[node];
    need_head_columns(g);
    let(e, "count", "%d", need->n);
    let(e, "n", "%lld", (long long)round16(node_at(g->p, node)->type.dim[1].c));
    let(e, "step", "%d", ATTN_PANEL * tiling_of(g, TaskMatmul, node)->panels);
    put(e, "static const struct head_columns own[] = {\n");
    for (int i = 0; i < need->n; i++) {
        const HeadColumns *c = &need->of[i];
        let(e, "columns", "%lld, %lld, %lld, %lld, %lld", (long long)c->first,
            (long long)c->width, (long long)c->heads,
            (long long)share_unit(g, c), (long long)group_of(c));
        put(e, "{ $columns },\n");
    }
    put(e, "};\n"
           "int64_t span[$count][2];\n"
           "\n"
           "head_columns(c->b, own, $count, $n, $step, part, parts, span);\n"
           "for (int64_t i = 0; i < $count; i++) {\n"
           "    const int64_t from = span[i][0], to = span[i][1];\n"
           "\n");
}

/* ---- rows of integers ---- */

int64_t rank_plane(const Gen *g, int rows)
{
    return dtype_stored(DtypeInt8, node_at(g->p, rows)->type.dim[1].c);
}

bool rank_has_two(const Gen *g, int rows)
{
    return node_at(g->p, rows)->type.elem == ElemQ15;
}

int64_t rank_unit_place(const Gen *g, int rows)
{
    const int64_t half = (int64_t)sizeof(float) * stride_of(g, rows) / 2;
    return rank_plane(g, rows) + (rank_has_two(g, rows) ? half : 0);
}

int64_t rank_low_sums(const Gen *g, int node)
{
    const bool two = rank_has_two(g, node_at(g->p, node)->in[0]);
    return two ? stride_of(g, node) / 2 : 0;
}

/* ---- gathering ---- */

/* Returns the columns of heads or of a product that stay together. `step`: of a
 * product's tiles. */
static int64_t undivided_columns(const Gen *g, const Node *n, int64_t step,
                                 int64_t columns)
{
    if (!gives_heads(n))
        return step;
    const HeadColumns c = {
        .heads = n->op == OpContext ? n->type.dim[0].c : n->heads,
        .key_heads = node_at(g->p, n->in[1])->type.dim[0].c,
    };
    return share_unit(g, &c) * (columns / c.heads);
}

const char *exchanged(Gen *g, int node, int64_t step, const char *indent)
{
    const Node *n = node_at(g->p, node);
    int64_t columns = n->type.dim[n->type.rank - 1].c;
    const char *how = "";
    if (n->op == OpContext)
        columns *= n->type.dim[0].c;
    if (adds_terms(g->p, node) && is_product(n)) {
        columns = round16(columns) + rank_low_sums(g, node);
        how = dtype_is_integer(dtype_of(node_at(g->p, n->in[1])->type))
                ? ".reduce = ATTN_SUM_INT32"
                : ".reduce = ATTN_SUM_FLOAT";
    } else if (adds_terms(g->p, node)) {
        columns = 1;
        how = arena_printf(g->a, ".at = %lld, .reduce = ATTN_MAX_INT32",
                           (long long)rank_unit_place(g, node) / 4);
    } else if (ranks_gather(g->p, g->p->rank_columns, node)) {
        how = arena_printf(g->a, ".unit = %lld",
                           (long long)undivided_columns(g, n, step, columns));
    } else {
        return "";
    }
    return arena_printf(g->a,
                        ",\n%s.y = offsetof(struct %s, %s), .rows = %d,\n"
                        "%s.ld = %lld, .columns = %lld, %s",
                        indent, entry_name(n->entry), value_name(g, node),
                        !in_block(g, node), indent, stride_of(g, node),
                        (long long)columns, how);
}

void put_exchange_members(Emit *e)
{
    put(e,
        "uint64_t y;              /* where the call has the address of what\n"
        "                            ranks exchange; 0: nothing */\n"
        "int64_t rows;            /* 1: y has all rows, 0: those of a block */\n"
        "int64_t ld, columns;     /* numbers from row to row, and of a row */\n"
        "int64_t at;              /* the first of them */\n"
        "int64_t unit;            /* columns that are not divided */\n"
        "int64_t reduce;          /* how ranks combine the numbers, as in comm.h;\n"
        "                            0: they gather them */\n"
        "step_function *finish;   /* runs after that; 0: none */\n");
}

void emit_exchange_head(Emit *e, const char *tail)
{
    put_call(e, "static void exchange",
             "const struct attn_batch *b, const struct step *step, "
             "void *call, int64_t row, int64_t rows",
             tail);
}

void emit_exchange(Gen *g, Emit *e)
{
    let(e, "ranks", "%lld", (long long)ranks_of(g));
    put(e,
        "enum { RANKS = $ranks, FINISH_FLOPS = 16 };\n\n"
        "/* Exchanges what a step has computed with the other ranks, for `rows` rows\n"
        " * from `row` on, and finishes the step. */\n");
    emit_exchange_head(e, "");
    put(e,
        "{\n"
        "    const struct attn_comm *comm = b->parallel ? b->parallel->comm : 0;\n"
        "    int64_t first[RANKS + 1];\n"
        "    float *y;\n"
        "\n"
        "    if (step->y == 0 || rows == 0)\n"
        "        return;\n"
        "    memcpy(&y, (const char *)call + step->y, sizeof y);\n"
        "    y += row * step->rows * step->ld + step->at;\n"
        "    for (int64_t r = 0; r <= RANKS && step->unit; r++)\n"
        "        first[r] = part_begin(step->columns, step->unit, r, RANKS);\n"
        "    if (comm && step->reduce)\n"
        "        comm->reduce(comm->with, step->reduce, y, step->ld, rows,\n"
        "                     step->columns);\n"
        "    else if (comm)\n"
        "        comm->gather(comm->with, y, step->ld, rows, first);\n"
        "    if (step->finish)\n"
        "        run_parts(b, parts_of(b, rows * step->ld * FINISH_FLOPS), step->finish,\n"
        "                  call);\n"
        "}\n\n");
}
