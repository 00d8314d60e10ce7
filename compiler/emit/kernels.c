/* kernels.c: the kernels that one emitted file asks for: tiles, made by
 * tile.c, and pieces of the files in kernels/, each with what it needs.
 * Pieces are printed in the order of those files, so definitions precede uses.
 */
#include "emit/kernels.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *needs; /* needs: words of the marker line */
    const char *text;         /* without the marker and the last newline */
    int level;                /* 0 not wanted, else Wanted.. */
} Piece;

enum { Needed = 1, Asked = 2 }; /* by another piece; by the emitter */

struct Kernels {
    Arena *arena;
    const Target *target;
    bool jit;
    VEC(Piece) pieces; /* those for this target */
    VEC(TileKey) tiles;
    VEC(const char *) names; /* asked for, first use first */
};

const char *embedded_text(const char *name, size_t *n)
{
    for (int i = 0; i < n_embedded; i++)
        if (!strcmp(embedded[i].name, name)) {
            *n = embedded[i].size;
            return embedded[i].text;
        }
    die("%s is not embedded", name);
}

/* --------------------------------------------------------- the pieces --- */

/* `//: name [when: targets] [needs: pieces]`, up to the end of its line. */
static bool fits(const Target *t, const char *when)
{
    char width[8];
    snprintf(width, sizeof width, "w%d", t->width);
    return !*when || !strcmp(when, width)
        || !strcmp(when, t->fma ? "fma" : "nofma");
}

static const char *word_after(Arena *a, const char *line, const char *label,
                              bool all)
{
    const char *at = strstr(line, label);
    if (!at)
        return "";
    at += strlen(label);
    at += strspn(at, " ");
    return arena_strndup(a, at, strcspn(at, all ? "" : " "));
}

/* Text with _ACT replaced by the word of one activation, NUMBER_ACT by its
 * number.                                                                   */
static const char *for_act(Arena *a, const char *text, Activation act)
{
    static const char mark[] = "_ACT", number[] = "NUMBER";
    const size_t n = sizeof number - 1;
    const char *at = strstr(text, mark);
    if (!at)
        return text;
    size_t head = (size_t)(at - text);
    const char *word = arena_printf(a, "_%s", act_kernel[act]);
    if (head >= n && memcmp(at - n, number, n) == 0) {
        head -= n;
        word = arena_printf(a, "%d", (int)act);
    }
    return arena_printf(a, "%.*s%s%s", (int)head, text, word,
                        for_act(a, at + sizeof mark - 1, act));
}

static bool is_for_acts(const char *text)
{
    return strstr(text, "_ACT") != NULL;
}

/* A list in which what has _ACT in it is there once for each activation; `end`
 * ends each item.                                                           */
static const char *for_acts(Arena *a, const char *list, char end)
{
    const char *all = "", *stop = strchr(list, end);
    if (!stop || !is_for_acts(list))
        return list;
    const char *item = arena_strndup(a, list, (size_t)(stop - list) + 1);
    for (int act = 0; act < ActCount; act++)
        if (is_for_acts(item) && act_kernel[act])
            all = arena_printf(a, "%s%s", all, for_act(a, item, act));
    return arena_printf(a, "%s%s", is_for_acts(item) ? all : item,
                        for_acts(a, stop + 1, end));
}

/* One piece for each activation, or one piece with lines for each. */
static void push_piece(Kernels *k, Piece p)
{
    Arena *a = k->arena;
    for (int act = 0; act < ActCount; act++)
        if (is_for_acts(p.name) && act_kernel[act])
            vec_push(a, &k->pieces,
                     ((Piece){ .name = for_act(a, p.name, act),
                               .needs = for_act(a, p.needs, act),
                               .text = for_act(a, p.text, act) }));
    if (*p.needs)
        p.needs = for_acts(a, arena_printf(a, "%s ", p.needs), ' ');
    p.text = for_acts(a, p.text, '\n');
    if (!is_for_acts(p.name))
        vec_push(a, &k->pieces, p);
}

/* The piece whose marker line is at `marker`; the next begins at `next`. */
static void add_piece(Kernels *k, const char *marker, const char *next)
{
    const char *end = strchr(marker, '\n');
    const char *line = arena_strndup(k->arena, marker, (size_t)(end - marker));
    if (!fits(k->target, word_after(k->arena, line, "when:", false)))
        return;
    while (next[-1] == '\n')
        next--;
    push_piece(k, (Piece){ .name = word_after(k->arena, line, "//:", false),
                           .needs = word_after(k->arena, line, "needs:", true),
                           .text = arena_strndup(k->arena, end + 1,
                                                 (size_t)(next - end - 1)) });
}

static void read_pieces(Kernels *k, const char *file)
{
    size_t n;
    const char *text = embedded_text(file, &n);
    const char *marker = strstr(text, "\n//: ");
    while (marker) {
        const char *next = strstr(marker + 1, "\n//: ");
        add_piece(k, marker + 1, next ? next + 1 : text + n);
        marker = next;
    }
}

Kernels *kernels_new(Arena *a, const Target *t, bool jit)
{
    Kernels *k = arena_alloc(a, sizeof *k);
    k->arena = a;
    k->target = t;
    k->jit = jit;
    read_pieces(k, "prelude.c");
    read_pieces(k, t->width == 1 ? "scalar.c" : "vector.c");
    read_pieces(k, "kernels.c");
    read_pieces(k, "activations.c");
    read_pieces(k, "rows.c");
    read_pieces(k, "attention.c");
    return k;
}

/* --------------------------------------------------------- asking for --- */

static Piece *find_piece(Kernels *k, const char *name, size_t n)
{
    for (int i = 0; i < k->pieces.n; i++) {
        Piece *p = &k->pieces.at[i];
        if (strlen(p->name) == n && memcmp(p->name, name, n) == 0)
            return p;
    }
    die("kernel %.*s does not exist", (int)n, name);
}

/* Marks the pieces of a list of names, and all that they need. */
static void need(Kernels *k, const char *names)
{
    for (size_t n; *names; names += n + strspn(names + n, " ")) {
        n = strcspn(names, " ");
        Piece *p = find_piece(k, names, n);
        if (p->level == 0) {
            p->level = Needed;
            need(k, p->needs);
        }
    }
}

static const char *asked(Kernels *k, const char *name)
{
    for (int i = 0; i < k->names.n; i++)
        if (!strcmp(k->names.at[i], name))
            return k->names.at[i];
    vec_push(k->arena, &k->names, name);
    return name;
}

const char *use_kernel(Kernels *k, const char *name)
{
    need(k, name);
    Piece *p = find_piece(k, name, strlen(name));
    p->level = Asked;
    return asked(k, p->name);
}

const char *use_tile(Kernels *k, TileKey key)
{
    const char *name = tile_name(k->arena, key);
    const int before = k->names.n;
    const char *known = asked(k, name);
    if (k->names.n == before)
        return known;
    vec_push(k->arena, &k->tiles, key);
    need(k, key.width == 1 ? "v_fma"
                           : "ROLLED v_load v_load_aligned v_store v_splat "
                             "v_fma");
    if (key.dtype == DtypeBf16)
        need(k, "v_widen");
    if (key.epilogue & EpAct) /* relu is written out */
        need(k, key.act == ActRelu
                    ? "v_max"
                    : arena_printf(k->arena, "v_%s", act_kernel[key.act]));
    if (key.epilogue & EpAny)
        need(k, "finish_rows");
    if (tile_asks_ahead(key))
        need(k, "v_prefetch");
    return name;
}

int kernels_count(const Kernels *k)
{
    return k->names.n;
}

const char *kernels_nth(const Kernels *k, int i)
{
    return k->names.at[i];
}

/* ----------------------------------------------------------- printing --- */

static void print_piece(Emit *e, const Piece *p)
{
    emit_raw(e, p->text, strlen(p->text));
    emit_raw(e, "\n\n", 2);
}

/* The prototype of a piece: its text from `static` to the body, without it. */
static void declare_piece(Emit *e, const Piece *p)
{
    const char *from = strstr(p->text, "static ") + strlen("static ");
    const char *body = strstr(from, "\n{");
    emit_raw(e, from, (size_t)(body - from));
    emit_raw(e, ";\n", 2);
}

/* Wide tiles first, then tall ones, then by epilogue and activation. */
static int by_size(const void *a, const void *b)
{
    const TileKey *x = a, *y = b;
    if (x->nr != y->nr)
        return y->nr - x->nr;
    if (x->mr != y->mr)
        return y->mr - x->mr;
    if (x->dtype != y->dtype)
        return (int)x->dtype - (int)y->dtype;
    return x->epilogue != y->epilogue ? x->epilogue - y->epilogue
                                      : (int)x->act - (int)y->act;
}

void emit_kernels(Kernels *k, Emit *e)
{
    if (!k->jit)
        need(k, "float_rules includes");
    for (int i = 0; i < k->pieces.n; i++) {
        const Piece *p = &k->pieces.at[i];
        if (k->jit && p->level == Asked)
            declare_piece(e, p);
        else if (!k->jit && p->level)
            print_piece(e, p);
    }
    if (k->tiles.n)
        qsort(k->tiles.at, (size_t)k->tiles.n, sizeof *k->tiles.at, by_size);
    if (k->tiles.n && !k->jit)
        put(e, "/* Tiles: C = A B for a few rows of A and panels of B, which\n"
               " * are ldb apart. Each output has a lane of its own that sums\n"
               " * over k in order: its bits are the same by every tile.\n"
               " * _accumulate: C += A B; _bias, _relu: done at the end;\n"
               " * _ahead: asks for the panels that follow, meanwhile. */\n");
    for (int i = 0; i < k->tiles.n; i++) {
        if (k->jit)
            declare_tile(e, k->tiles.at[i]);
        else
            emit_tile(e, k->tiles.at[i], true);
    }
}
