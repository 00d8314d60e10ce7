/* needs.c: collects and prints the kernels of one emitted file: tiles (tile.c)
 * and pieces of kernels/ (kernel_pieces.c) with their needs. Pieces are in the
 * order of those files, so definitions precede uses. */
#include "emit/tile/needs.h"

#include "emit/tile/kernel_pieces.h"

#include <stdlib.h>
#include <string.h>

enum { Needed = 1, Asked = 2 }; /* by another piece; by an emitter */

typedef struct {
    const char *name;
    const TileKey *tile; /* NULL: a piece */
} Kernel;

struct Kernels {
    Arena *arena;
    const Target *target;
    bool jit;
    bool plain;        /* the file has its own includes */
    bool inside;       /* and its own floating-point settings */
    Pieces pieces;     /* for this target */
    int *level;        /* per piece: 0 (unused), Needed or Asked */
    VEC(Kernel) asked; /* in order of first use */
};

Kernels *kernels_new(Arena *a, const Target *t, bool jit)
{
    Kernels *k = arena_alloc(a, sizeof *k);
    k->arena = a;
    k->target = t;
    k->jit = jit;
    k->pieces = pieces_of(a, t);
    k->level = arena_alloc(a, (size_t)k->pieces.list.n * sizeof *k->level);
    return k;
}

Kernels *kernels_plain(Arena *a)
{
    Kernels *k = arena_alloc(a, sizeof *k);
    k->arena = a;
    k->plain = true;
    k->pieces = plain_pieces(a);
    k->level = arena_alloc(a, (size_t)k->pieces.list.n * sizeof *k->level);
    return k;
}

/* ---- asking for ---- */

bool kernels_have(const Kernels *k, const char *name)
{
    return index_find(&k->pieces.names, name) >= 0;
}

static int find_piece(const Kernels *k, const char *name)
{
    const int i = index_find(&k->pieces.names, name);
    if (i < 0)
        die("compiler/emit/kernels/ has no piece %s (docs/adding.md)", name);
    return i;
}

/* Marks a piece and everything that it needs. */
static int need_piece(Kernels *k, const char *name)
{
    const int i = find_piece(k, name);
    const Piece *p = &k->pieces.list.at[i];
    if (k->level[i] == 0) {
        k->level[i] = Needed;
        for (int n = 0; n < p->needs.n; n++)
            need_piece(k, p->needs.at[n]);
    }
    return i;
}

const char *use_kernel(Kernels *k, const char *name)
{
    const int i = need_piece(k, name);
    const Piece *p = &k->pieces.list.at[i];
    if (!p->kernel)
        die("%s is no kernel: its line in kernels/ does not say so", name);
    if (k->level[i] != Asked)
        vec_push(k->arena, &k->asked, ((Kernel){ p->name, NULL }));
    k->level[i] = Asked;
    return p->name;
}

ParameterNames kernel_parameters(const Kernels *k, const char *name)
{
    return piece_parameters(k->arena, &k->pieces.list.at[find_piece(k, name)]);
}

void use_all_kernels(Kernels *k)
{
    for (int i = 0; i < k->pieces.list.n; i++)
        if (k->pieces.list.at[i].kernel)
            use_kernel(k, k->pieces.list.at[i].name);
}

static void need_of_tile(Kernels *k, TileKey key)
{
    int rows, columns;
    need_piece(k, tile_macro(key));
    if (!tile_of_tiles(key, &rows, &columns))
        need_piece(k, tile_products(k->arena, key));
    if (key.epilogue & EpAct)
        need_piece(k, arena_printf(k->arena, "v_%s", act_text[key.act].plain));
}

static bool tile_same(const TileKey *a, const TileKey *b)
{
    return a->mr == b->mr && a->nr == b->nr && suffix_same(a, b)
        && a->groups == b->groups && a->apart == b->apart
        && a->fetch_rows == b->fetch_rows && a->width == b->width
        && a->prebuilt == b->prebuilt && a->registers == b->registers
        && a->amx == b->amx;
}

const char *use_tile(Kernels *k, TileKey key)
{
    key.groups = !target_dots(k->target) && tile_groups(key);
    for (int i = 0; i < k->asked.n; i++)
        if (k->asked.at[i].tile && tile_same(k->asked.at[i].tile, &key))
            return k->asked.at[i].name;
    TileKey *tile = arena_alloc(k->arena, sizeof *tile);
    *tile = key;
    const Kernel new = { tile_name(k->arena, key), tile };
    vec_push(k->arena, &k->asked, new);
    need_of_tile(k, key);
    return new.name;
}

const char *use_tiles(Kernels *k, TileKey key, int low)
{
    const int most = key.mr;
    if (most < key.fetch_rows)
        key.epilogue &= ~EpPrefetch;
    for (key.mr = low; key.mr <= most; key.mr++)
        use_tile(k, key);
    need_piece(k, "tile");
    return arena_printf(k->arena, "tiles_%s", tiles_name(k->arena, key));
}

int kernels_count(const Kernels *k)
{
    return k->asked.n;
}

const char *kernels_nth(const Kernels *k, int i)
{
    return k->asked.at[i].name;
}

const TileKey *kernels_tile(const Kernels *k, int i)
{
    return k->asked.at[i].tile;
}

/* ---- printing ---- */

static void print_piece(Emit *e, const Piece *p)
{
    emit_raw(e, p->text, strlen(p->text));
    emit_raw(e, "\n\n", 2);
}

static void declare_piece(Emit *e, const Piece *p)
{
    size_t n;
    const char *text = piece_prototype(p, &n);
    emit_raw(e, text, n);
    emit_raw(e, ";\n", 2);
}

/* Sorts wide tiles first, then tall ones, then by epilogue and activation. */
static int by_size(const void *a, const void *b)
{
    const TileKey *x = *(const TileKey *const *)a;
    const TileKey *y = *(const TileKey *const *)b;
    if (x->nr != y->nr)
        return y->nr - x->nr;
    if (x->mr != y->mr)
        return y->mr - x->mr;
    if (x->dtype != y->dtype)
        return (int)x->dtype - (int)y->dtype;
    if (x->arithmetic != y->arithmetic)
        return (int)x->arithmetic - (int)y->arithmetic;
    if (x->wide != y->wide)
        return x->wide - y->wide;
    if (x->amx != y->amx)
        return x->amx - y->amx;
    return x->epilogue != y->epilogue ? x->epilogue - y->epilogue
                                      : (int)x->act - (int)y->act;
}

/* Returns the name of the macro for tiles of these rows: "TILES_3_TO_6". Bit n
 * of `rows` stands for n + 1 rows. */
static const char *table_macro(Arena *a, unsigned rows)
{
    const char *name = "TILES";
    for (int mr = 1; rows >> (mr - 1); mr++) {
        const bool before = mr > 1 && rows >> (mr - 2) & 1;
        const bool has = rows >> (mr - 1) & 1, after = rows >> mr & 1;
        if (has && (!before || !after))
            name = arena_printf(a, "%s%s%d", name, before ? "_TO_" : "_", mr);
    }
    return name;
}

/* Emits the macro that defines tiles of these rows, and their table. */
static void put_table_macro(Emit *e, unsigned rows)
{
    Arena *a = emit_arena(e);
    const char *tiles = "", *names = "";
    for (int mr = 1; rows >> (mr - 1); mr++) {
        const bool has = rows >> (mr - 1) & 1;
        if (has)
            tiles = arena_printf(a,
                                 "%s    TILE(tile_%dx##of, %d, nr, products, "
                                 "does, act) \\\n",
                                 tiles, mr, mr);
        names = arena_printf(a, "%s%s%s", names,
                             mr == 1       ? ""
                             : mr % 4 == 1 ? ", \\\n        "
                                           : ", ",
                             has ? arena_printf(a, "tile_%dx##of", mr) : "0");
    }
    const char *text =
        arena_printf(a,
                     "#define %s(of, nr, products, does, act) \\\n%s"
                     "    static tile *const tiles_##of[] = { \\\n"
                     "        %s \\\n"
                     "    };\n",
                     table_macro(a, rows), tiles, names);
    emit_raw(e, text, strlen(text));
}

typedef struct { /* a table of tiles */
    TileKey key;
    unsigned rows; /* bit n: it has a tile of n + 1 rows */
} TileTable;
typedef VEC(TileTable) TileTables;

static void add_to_table(Arena *a, TileTables *tables, TileKey key)
{
    int i = 0;
    for (; i < tables->n; i++) {
        TileKey other = tables->at[i].key;
        other.mr = key.mr;
        other.groups = key.groups;
        if (tile_same(&other, &key))
            break;
    }
    if (i == tables->n)
        vec_push(a, tables, ((TileTable){ .key = key }));
    tables->at[i].rows |= 1u << (key.mr - 1);
    tables->at[i].key.groups |= key.groups;
}

static void emit_tables(Arena *a, Emit *e, const TileTables *tables)
{
    if (tables->n)
        put(e,
            "/* Each line defines tiles, and a table of them by rows - 1. */\n");
    for (int i = 0; i < tables->n; i++) {
        bool is_first = true;
        for (int j = 0; j < i; j++)
            is_first &= tables->at[i].rows != tables->at[j].rows;
        if (is_first)
            put_table_macro(e, tables->at[i].rows);
    }
    for (int i = 0; i < tables->n; i++)
        emit_tile_table(e, tables->at[i].key,
                        table_macro(a, tables->at[i].rows));
    if (tables->n)
        put(e, "\n");
}

static void emit_tiles(const Kernels *k, Emit *e)
{
    VEC(const TileKey *) tiles = { 0 };
    TileTables tables = { 0 };
    bool single = false;
    for (int i = 0; i < k->asked.n; i++)
        if (k->asked.at[i].tile)
            vec_push(k->arena, &tiles, k->asked.at[i].tile);
    if (tiles.n)
        qsort(tiles.at, (size_t)tiles.n, sizeof *tiles.at, by_size);
    for (int i = 0; i < tiles.n; i++)
        if (tiles.at[i]->fetch_rows)
            add_to_table(k->arena, &tables, *tiles.at[i]);
    emit_tables(k->arena, e, &tables);
    for (int i = 0; i < tiles.n; i++) {
        if (tiles.at[i]->fetch_rows)
            continue;
        if (!single)
            put(e, "/* Each tile has rows, columns, products and flags. */\n");
        single = true;
        emit_tile(e, *tiles.at[i]);
    }
    if (single)
        put(e, "\n");
}

/* Emits e.g. "#define EACH_ROW(DO) DO(0) DO(1)". */
static void put_each(Emit *e, const char *name, int n)
{
    const char *s = arena_printf(emit_arena(e), "#define %s(DO)", name);
    for (int i = 0; i < n; i++)
        s = arena_printf(emit_arena(e), "%s%s DO(%d)", s,
                         i % 8 == 0 && n > 8 ? " \\\n   " : "", i);
    emit_raw(e, s, strlen(s));
    emit_raw(e, "\n", 1);
}

/* Emits a replacement for the piece tile_size, with the numbers of this file's
 * tiles. */
static void print_tile_size(const Kernels *k, Emit *e)
{
    int rows = 0, vectors = 0, of_rows, of_columns;
    for (int i = 0; i < k->asked.n; i++) {
        const TileKey *t = k->asked.at[i].tile;
        if (!t || tile_of_tiles(*t, &of_rows, &of_columns))
            continue;
        rows = t->mr > rows ? t->mr : rows;
        vectors = t->nr / t->width > vectors ? t->nr / t->width : vectors;
    }
    put(e, "/* Tiles have at most these rows and vectors of columns. */\n");
    if (k->target->width > 1) {
        put_each(e, "EACH_ROW", rows);
        put_each(e, "EACH_VECTOR", vectors);
    }
    let(e, "rows", "%d", rows);
    let(e, "vectors", "%d", vectors);
    put(e, "enum { TileRows = $rows, TileVectors = $vectors };\n\n");
}

void emit_float_rules(const Kernels *k, Emit *e)
{
    print_piece(e, &k->pieces.list.at[find_piece(k, "float_rules")]);
}

void kernels_inside(Kernels *k)
{
    k->inside = true;
}

NameList kernels_tiles(Kernels *k)
{
    NameList names = { 0 };
    for (int i = 0; i < k->asked.n; i++) {
        const TileKey *t = k->asked.at[i].tile;
        if (!t)
            continue;
        vec_push(k->arena, &names, k->asked.at[i].name);
        if (t->fetch_rows)
            vec_push(k->arena, &names,
                     arena_printf(k->arena, "tiles_%s",
                                  tiles_name(k->arena, *t)));
    }
    return names;
}

void emit_kernels(Kernels *k, Emit *e)
{
    if (!k->jit && !k->plain && !k->inside) {
        need_piece(k, "float_rules");
        need_piece(k, "includes");
    }
    const int size = index_find(&k->pieces.names, "tile_size");
    for (int i = 0; i < k->pieces.list.n; i++) {
        const Piece *p = &k->pieces.list.at[i];
        if (i == size && k->level[i])
            print_tile_size(k, e);
        else if (k->jit && k->level[i] == Asked)
            declare_piece(e, p);
        else if (k->level[i] && (!k->jit || p->type))
            print_piece(e, p);
    }
    emit_tiles(k, e);
}
