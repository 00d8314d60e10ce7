/* kernel_lab.h: makes the same kernels in every possible way: prebuilt, and as
 * emitted text by clang, gcc and tcc, at every width of the machine. Included
 * after the compiler's headers, cmocka's and scratch.h. */
#ifndef ATTNC_KERNEL_LAB_H
#define ATTNC_KERNEL_LAB_H

#include <dlfcn.h>
#include <sys/stat.h>

#include "base/user_cache.h"

enum { MaxLabs = 24 };

typedef struct {
    const char *name; /* "clang-19 x86-64-v4 w16" */
    Target target;
    void *object; /* of dlopen; NULL: prebuilt */
} Lab;

typedef struct {
    const char *name;
    void (*function)(void);
} LabKernel;

static Lab lab[MaxLabs];
static int n_labs;
static Arena *lab_arena;
static const char *lab_level = "-O1"; /* of optimisation */
static const char *const *lab_wide;   /* kernels of targets that widen */
static const char *const *lab_vector; /* kernels of targets with vectors */

typedef struct {
    const char *cc; /* NULL: prebuilt */
    const char *march;
    int width;
    const char *as; /* text for a foreign machine, compiled for this one */
} LabWay;
static const LabWay lab_ways[] = {
    { NULL, "x86-64-v4", 16, NULL },
    { NULL, "x86-64-v3", 8, NULL },
    { "clang-19", "x86-64-v4", 16, NULL },
    { "gcc", "x86-64-v4", 16, NULL },
    { "clang-19", "x86-64-v3", 8, NULL },
    { "gcc", "x86-64-v3", 4, NULL },
    { "clang-19", "x86-64-v3", 1, NULL },
    { NULL, "armv8.2-a+dotprod", 4, NULL },
    { "clang-19", "armv8-a", 4, NULL },
    { "aarch64-linux-gnu-gcc", "armv8-a", 4, NULL },
    { "clang-19", "armv8-a", 1, NULL },
    { "tcc", "generic", 1, NULL },
    { NULL, NULL, 0, NULL },
};
/* A test may define others. */
static const LabWay *lab_way = lab_ways;

/* True if this machine can run code for `march`. */
static bool lab_can_run(const char *march)
{
    Target t;
    Fault why;
    Cpu here;
    cpu_find(&here);
    assert_true(target_find(&t, march, 0, NULL, &why));
    return !target_lacks(&t, &here);
}

static void lab_add(const char *name, const char *march, int width)
{
    Fault why;
    Lab *l = &lab[n_labs];
    assert_true(n_labs < MaxLabs);
    assert_true(target_find(&l->target, march, width, NULL, &why));
    l->name = name;
    n_labs++;
}

/* Emits the text of all kernels and tiles, of `more` void functions, and a
 * table of their addresses. */
static const char *lab_text(Arena *a, const Target *t,
                            const char *const *kernels, TileKey *tiles,
                            int n_tiles, const char *more, size_t *n)
{
    Kernels *k = kernels_new(a, t, false);
    Emit *e = emit_new(a);
    for (int i = 0; kernels[i]; i++)
        use_kernel(k, kernels[i]);
    for (int i = 0; lab_wide && lab_wide[i] && target_widens(t); i++)
        use_kernel(k, lab_wide[i]);
    for (int i = 0; lab_vector && lab_vector[i] && t->width > 1; i++)
        use_kernel(k, lab_vector[i]);
    for (int i = 0; i < n_tiles; i++) {
        tiles[i].width = t->width;
        if (!tiles[i].wide || copies_have_tiles(t, tiles[i].arithmetic))
            use_tile(k, tiles[i]);
    }
    emit_kernels(k, e);
    put(e, "struct Kernel { const char *name; void (*function)(void); };\n"
           "extern const struct Kernel table[];\n");
    emit_raw(e, more, strlen(more));
    put(e, "const struct Kernel table[] = {\n");
    for (int i = 0; i < kernels_count(k); i++) {
        let(e, "kernel", "%s", kernels_nth(k, i));
        put(e, "{ \"$kernel\", (void (*)(void))$kernel },\n");
    }
    for (const char *at = more; (at = strstr(at, "void "));) {
        at += strlen("void ");
        let(e, "kernel", "%.*s", (int)strcspn(at, "("), at);
        put(e, "{ \"$kernel\", (void (*)(void))$kernel },\n");
    }
    put(e, "{ 0, 0 }\n"
           "};\n");
    return emit_text(e, n);
}

/* Returns the machine for which an ELF file has code. */
static int lab_machine(const char *path)
{
    unsigned char head[20] = { 0 };
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    return head[18] + 256 * head[19];
}

/* Returns a hash of what decides an object: the text, the compiler's file, its
 * arguments but for the paths `c` and `so`.                                 */
static CacheKey lab_key(const char *const *argv, const char *c, const char *so,
                        const char *text, size_t n)
{
    struct stat compiler = { 0 };
    stat(argv[0], &compiler);
    const char *line = arena_printf(lab_arena, "lab %lld %lld",
                                    (long long)compiler.st_mtime,
                                    (long long)compiler.st_size);
    for (int i = 0; argv[i]; i++)
        if (argv[i] != c && argv[i] != so)
            line = arena_printf(lab_arena, "%s %s", line, argv[i]);
    return cache_key((CachePiece[]){ { line, strlen(line) }, { text, n } }, 2);
}

static bool lab_kept(Lab *l, CacheKey key)
{
    CacheEntry kept;
    if (!cache_get(&kept, lab_arena, CacheObject, key, CacheVerified))
        return false;
    l->object = dlopen(kept.path, RTLD_NOW | RTLD_LOCAL);
    cache_close(&kept);
    return l->object != NULL;
}

static void lab_keep(const Lab *l, const char *so, CacheKey key)
{
    File f;
    Fault why;
    if (!file_read(&f, so, SIZE_MAX - 1, &why))
        return;
    const CachePut put = { CacheObject, key, .what = l->name, .at = f.at,
                           .bytes = f.size };
    cache_put(lab_arena, &put, &why);
    file_close(&f);
}

/* Runs the compiler with warnings as errors, as a user would. False: it makes
 * code for another machine; an emulated one has such ones.                   */
static bool lab_make(Lab *l, const char *const *argv, const char *so)
{
    Spawned s;
    Fault why;
    if (!spawn(&s, argv, "", 0, 600, &why))
        fail_msg("%s: %s\n%s", l->name, why.text, s.tail);
    assert_string_equal(s.tail, "");
    if (lab_machine(so) != lab_machine("/proc/self/exe"))
        return false;
    l->object = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    if (!l->object)
        fail_msg("%s: %s", l->name, dlerror());
    return true;
}

/* Loads the lab's text as an object, compiled once and then cached. Returns
 * false like lab_make(). */
static bool lab_compile(Lab *l, const char *compiler, const char *as,
                        const char *text, size_t n)
{
    static int count;
    const char *c = scratch_file(arena_printf(lab_arena, "k%d.c", ++count),
                                 text, n);
    const char *so = scratch_path(arena_printf(lab_arena, "k%d.so", count));
    const bool tcc = strstr(compiler, "tcc") != NULL;
    const char *const *more = l->target.features;
    const char *argv[] = {
        compiler,
        "-shared",
        "-Wall",
        "-o",
        so,
        c,
        tcc ? NULL /* it supports only these options */
            : arena_printf(lab_arena, "-march=%s", as ? as : l->target.march),
        "-std=c11",
        lab_level,
        "-fPIC",
        strstr(compiler, "clang")
            ? arena_printf(lab_arena, "--target=%s", cpu_triple)
            : "-DX",
        "-Wextra",
        "-Werror",
        "-lm",
        more[0] ? arena_printf(lab_arena, "-m%s", more[0]) : NULL,
        more[0] && more[1] ? arena_printf(lab_arena, "-m%s", more[1]) : NULL,
        NULL
    };
    const CacheKey key = lab_key(argv, c, so, text, n);
    if (lab_kept(l, key))
        return true;
    if (!lab_make(l, argv, so))
        return false;
    lab_keep(l, so, key);
    return true;
}

static void *lab_find(const Lab *l, const char *name)
{
    if (!l->object)
        return kernel_find(&l->target, name);
    for (const LabKernel *k = dlsym(l->object, "table"); k->name; k++)
        if (!strcmp(k->name, name)) {
            void *p;
            memcpy(&p, &k->function, sizeof p);
            return p;
        }
    fail_msg("%s has no %s", l->name, name);
    return NULL;
}

typedef void (*LabFunction)(void);

static inline LabFunction lab_function(const Lab *l, const char *name)
{
    LabFunction f;
    void *p = lab_find(l, name);
    assert_non_null(p);
    memcpy(&f, &p, sizeof f);
    return f;
}

/* Fills lab[]: prebuilt ones first. */
static void lab_open(const char *const *kernels, TileKey *tiles, int n_tiles,
                     const char *more)
{
    lab_arena = arena_new();
    for (const LabWay *way = lab_way; way->march; way++) {
        const char *cc = way->cc;
        if (!lab_can_run(way->as ? way->as : way->march))
            continue;
        if (cc && !(cc = find_program(lab_arena, cc)))
            continue;
        lab_add(arena_printf(lab_arena, "%s %s w%d", cc ? cc : "prebuilt",
                             way->march, way->width),
                way->march, way->width);
        size_t n;
        Lab *l = &lab[n_labs - 1];
        const char *text = cc ? lab_text(lab_arena, &l->target, kernels, tiles,
                                         n_tiles, more, &n)
                              : NULL;
        if (text && !lab_compile(l, cc, way->as, text, n))
            n_labs--;
        else
            print_message("  %s\n", l->name);
    }
    assert_true(n_labs >= 2);
}

/* Returns the first lab with what the test itself added. */
static inline int lab_emitted(void)
{
    int i = 0;
    while (i < n_labs && !lab[i].object)
        i++;
    assert_true(i < n_labs);
    return i;
}

/* `to`: pointer of the function's type. */
static inline void copy_function(void *to, const Lab *l, const char *name)
{
    void *p = lab_find(l, name);
    assert_non_null(p);
    memcpy(to, &p, sizeof p);
}

static void lab_close(void)
{
    for (int i = 0; i < n_labs; i++)
        if (lab[i].object)
            dlclose(lab[i].object);
    n_labs = 0;
    arena_free(lab_arena);
}

/* Settings of open_labs(): set by a test, like `lab_way` and others. */
static struct {
    const char *const *kernels;
    TileKey *tiles;
    int n_tiles;
    const char *more;
} lab_of = { .more = "" };

static int open_labs(void **state)
{
    if (scratch_make(state) != 0)
        return -1;
    lab_open(lab_of.kernels, lab_of.tiles, lab_of.n_tiles, lab_of.more);
    return 0;
}

static int close_labs(void **state)
{
    lab_close();
    return scratch_remove(state);
}

/* A tile with these arguments, and further numbers that it ignores. */
typedef void LabTile(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                     int64_t, int64_t, int64_t, int64_t, int64_t, int64_t,
                     int64_t, int64_t);

static inline void lab_call_tile(const Lab *l, TileKey key,
                                 const int64_t all[TileParameters])
{
    int64_t x[TileParameters] = { 0 };
    int n = 0;
    for (int p = 0; p < TileParameters; p++)
        if (tile_has(key, (TileParameter)p))
            x[n++] = all[p];
    ((LabTile *)lab_function(l, tile_name(lab_arena, key)))(x[0], x[1], x[2],
                                                            x[3], x[4], x[5],
                                                            x[6], x[7], x[8],
                                                            x[9], x[10], x[11],
                                                            x[12], x[13]);
}

/* ---- data ---- */

static uint64_t lab_seed = 1;

static uint32_t lab_random(void)
{
    lab_seed = lab_seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(lab_seed >> 33);
}

typedef enum {
    FillUniform,
    FillInteger,
    FillFar,
    FillTiny,
    FillEqual,
    Fills
} Fill;

static inline void lab_fill(float *x, int64_t n, Fill fill)
{
    for (int64_t i = 0; i < n; i++) {
        const float u = (float)lab_random() * 0x1p-30f - 1.0f;
        switch (fill) {
        case FillInteger: x[i] = (float)((int)(lab_random() % 17) - 8); break;
        case FillFar:     x[i] = 100.0f + u; break;
        case FillTiny:    x[i] = u * 0x1p-60f; break;
        case FillEqual:   x[i] = 0.75f; break;
        default:          x[i] = 3.0f * u; break;
        }
    }
}

/* Written to memory that must not change; compared by its bits. */
static const uint32_t canary = 0xffc0deadu;

static inline void lab_guard(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        memcpy(x + i, &canary, 4);
}

static inline bool is_canary(float x)
{
    return memcmp(&x, &canary, 4) == 0;
}

#endif
