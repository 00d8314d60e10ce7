/* mask.c: emits code that finds the keys that a query sees. Except for masks
 * from files, the keys that a row sees are one interval, which moves up with
 * the row. So a tile of rows sees the keys from the first key of its first row
 * to the last key of its last row, and pages that the mask hides completely are
 * never read. */
#include "emit/attention/attention.h"

/* ---- intervals: row p sees keys from .. to - 1 ---- */

static const char *two(Gen *g, const char *f, const char *a, const char *b)
{
    return arena_printf(g->a, "%s(%s, %s)", f, a, b);
}

/* Returns C for the first key that the row at position p sees; NULL if it is
 * always key 0. */
const char *mask_from(Gen *g, const MaskSpec *m, const char *p)
{
    const char *s = NULL;
    if (m && m->window)
        s = arena_printf(g->a, "max(%s - %lld, 0)", p,
                         (long long)m->window - 1);
    if (m && m->block) {
        const char *block = arena_printf(g->a, "%s / %lld * %lld", p,
                                         (long long)m->block,
                                         (long long)m->block);
        s = m->window ? two(g, "max", s, block) : block;
    }
    return s;
}

/* Returns C for the last key, of `count`, that the row at position p sees, plus
 * 1. All rows see the first `prefix` keys, or only these do (`given`). */
const char *mask_to(Gen *g, const MaskSpec *m, const char *p, const char *count,
                    const char *prefix)
{
    if (!m || m->file)
        return count;
    const bool ahead = !m->causal || m->prefix; /* rows may see later keys */
    const char *s = m->given ? two(g, "min", prefix, count) : count;
    if (m->causal) {
        const char *own = arena_printf(g->a, "%s + 1", p);
        s = two(g, "min", m->prefix ? two(g, "max", own, prefix) : own, s);
    }
    if (m->window && ahead)
        s = two(g, "min",
                arena_printf(g->a, "%s + %lld", p, (long long)m->window), s);
    if (m->block && ahead)
        s = two(g, "min",
                arena_printf(g->a, "%s / %lld * %lld + %lld", p,
                             (long long)m->block, (long long)m->block,
                             (long long)m->block),
                s);
    return s;
}

/* Return C for the keys that a tile of r rows at position p sees: the first key
 * of the first page, and the last key plus 1. */
const char *mask_first(Gen *g, const MaskSpec *m)
{
    const char *from = mask_from(g, m, "p");
    return from ? arena_printf(g->a, "%s / 64 * 64", from) : "0";
}

const char *mask_last(Gen *g, const MaskSpec *m)
{
    return mask_to(g, m, "(p + r - 1)", "m->count", "m->prefix");
}

const char *mask_edge(Gen *g, const MaskSpec *m, const char *p,
                      const char *last)
{
    const char *from = mask_from(g, m, last);
    const char *to = mask_to(g, m, p, "m->count", "m->prefix");
    return arena_printf(g->a, "%s%s%s < at + n", from ? from : "",
                        from ? " > at || " : "", to);
}

bool needs_position(const Node *n, bool edge)
{
    const MaskSpec *m = n->mask;
    return n->bias
        || (edge && m && (m->causal || m->window || m->block || m->file));
}

/* Emits from[j] and to[j]: row j sees the keys from .. to - 1 of the page at
 * `at`. */
void put_mask_interval(Gen *g, Emit *e, const MaskSpec *m)
{
    const char *from = mask_from(g, m, "(p + j)");
    let(e, "from", "%s",
        from ? arena_printf(g->a, "max(%s - at, 0)", from) : "0");
    let(e, "to", "%s",
        !m || m->file
            ? "n"
            : arena_printf(g->a, "min(%s - at, 64)",
                           mask_to(g, m, "(p + j)", "m->count", "m->prefix")));
    put(e, "from[j] = $from;\n"
           "to[j] = $to;\n");
    if (m && m->file) {
        let(e, "mask", "%s", mask_name(g, m));
        put(e, "while (from[j] < to[j] &&\n"
               "       $mask(p + j, at + from[j]) == 0)\n"
               "    from[j] += 1;\n"
               "while (from[j] < to[j] &&\n"
               "       $mask(p + j, at + to[j] - 1) == 0)\n"
               "    to[j] -= 1;\n");
    }
}

/* ---- masks from files: any keys, one bit each ---- */

const char *mask_name(Gen *g, const MaskSpec *m)
{
    return arena_printf(g->a, "mask%d", plan_mask(g->p, m));
}

static void put_bits(Emit *e, const MaskSpec *m, const char *name)
{
    const int64_t bytes = (m->file_columns + 7) / 8;
    let(e, "name", "%s", name);
    let(e, "bits", "%s_bits", name);
    let(e, "size", "%lld", (long long)(bytes * m->file_rows));
    let(e, "bytes", "%lld", (long long)bytes);
    if (m->prefix)
        die("a mask from a file has no prefix");
    put(e, "/* Row p may see key j if bit j of row p is set. */\n"
           "static const unsigned char $bits[$size] = {\n");
    for (int64_t i = 0; i < m->file_rows; i++) {
        for (int64_t b = 0; b < bytes; b++) {
            unsigned bits = 0;
            for (int64_t j = 8 * b; j < 8 * b + 8 && j < m->file_columns; j++)
                bits |= (unsigned)mask_allows(m, i, j, 0) << (j % 8);
            char text[16];
            const int n = snprintf(text, sizeof text, "%s%u,",
                                   b % 16 ? " "
                                   : b    ? "\n    "
                                          : "    ",
                                   bits);
            emit_raw(e, text, (size_t)n);
        }
        emit_raw(e, "\n", 1);
    }
}

const char *prefix_text(Gen *g, const MaskSpec *m)
{
    if (!m || (!m->prefix && !m->given))
        return NULL;
    if (first_time(g, HelperPrefixOf, "prefix_of")) {
        let(g->shapes, "none", m->given ? "b->rows" : "0");
        put(g->shapes,
            "static int64_t prefix_of(const struct attn_batch *b, int64_t s)\n"
            "{\n"
            "    if (b->prefix)\n"
            "        return b->prefix[s];\n"
            "    return $none;\n"
            "}\n\n");
    }
    g->uses.batch = true;
    return arena_printf(g->a, "prefix_of(b, %s)", g->sequence);
}

void need_mask_of_file(Gen *g, Emit *e, const MaskSpec *m, const char *integer)
{
    const SharedKey key = { .kind = SharedMask,
                            .size = { plan_mask(g->p, m) } };
    bool made;
    const char *name = shared_name(g, &key, mask_name(g, m), &made);
    if (made)
        return;
    const int mark = emit_mark(e);
    put_bits(e, m, name);
    let(e, "int", "%s", integer);
    put(e, "};\n\n"
           "static $int $name($int p, $int j)\n"
           "{\n"
           "    return $bits[p * $bytes + j / 8] >> j % 8 & 1;\n"
           "}\n\n");
    emit_reset(e, mark);
}

void need_mask(Gen *g, const MaskSpec *m)
{
    if (!m)
        return;
    need_max(g);
    if (!m->file)
        return;
    use_kernel(g->kernels, "mask_row");
    need_mask_of_file(g, g->shapes, m, "int64_t");
}

/* Emits code that sets the weights of hidden keys between from[j] and to[j] to
 * 0. */
void put_mask_holes(Gen *g, Emit *e, const MaskSpec *m)
{
    let(e, "mask", "%s", mask_name(g, m));
    put(e, "for (int64_t j = 0; j < r; j++)\n"
           "    for (int64_t x = from[j]; x < to[j]; x++)\n"
           "        if ($mask(p + j, at + x) == 0)\n"
           "            mask_row(s + j * 64 + x, s + j * 64 + x, 1, 0);\n");
}

/* Emits the product without the values of hidden keys, because a value may be
 * infinite or NaN, and 0 times such a value is not 0. */
void put_mask_values(Gen *g, Emit *e, const MaskSpec *m)
{
    let(e, "mask", "%s", mask_name(g, m));
    put(e,
        "for (int64_t j = 0; j < r; j++)\n"
        "    for (int64_t x = from[j]; x < to[j]; x++)\n"
        "        if ($mask(p + j, at + x))\n"
        "            $panels_add(1, s + j * 64 + x, 64, v + x * 16, 1024, 1,\n"
        "                       $panels, o + j * $d_v16, $d_v16$next);\n");
}
