/* target.c: the instruction sets and machines for which attnc generates code,
 * and the figures that determine the default tilings. */
#include "machine/target.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const from_word[] = {
    [FromDefault] = "default", [FromOption] = "option", [FromTuned] = "tuned"
};

typedef struct { /* a system that C compilers build for, as Debian names it */
    const char *triple;
    const char *packages; /* packages of its cross compiler and library */
} System;

static const System x86_64 = { "x86_64-linux-gnu",
                               "gcc-x86-64-linux-gnu libc6-dev-amd64-cross" };
static const System aarch64 = { "aarch64-linux-gnu",
                                "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" };
static const System any = { NULL, NULL };

typedef struct { /* an instruction set, as compilers name it */
    const System *system;
    const char *march;
    int width; /* floats in the widest vector */
    bool fma;
    int registers;     /* vector registers */
    const char *dot;   /* Target.dot */
    const char *guard; /* preprocessor condition that is true if
                          the compiler's target lacks this set */
    int has;           /* Cpu bits that a processor needs for this set */
    const char *const *features; /* the same features by the names that
                                    compilers use */
} Isa;

#define NAMES(...) (const char *const[]){ __VA_ARGS__ }

enum { V4, V3, V2, Dotprod, Armv8, Generic };
static const Isa isas[] = {
    [V4] = { &x86_64, "x86-64-v4", 16, true, 32, "maddubs",
             "!defined __AVX512F__", ATTN_CPU_V2 | ATTN_CPU_V3 | ATTN_CPU_V4,
             NAMES("avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512cd",
                   "avx512dq", "avx512vl", NULL) },
    [V3] = { &x86_64, "x86-64-v3", 8, true, 16, "maddubs",
             "!defined __AVX2__ || !defined __FMA__", ATTN_CPU_V2 | ATTN_CPU_V3,
             NAMES("avx2", "fma", "bmi", "bmi2", NULL) },
    [V2] = { &x86_64, "x86-64-v2", 4, false, 16, "maddubs",
             "!defined __SSE4_2__", ATTN_CPU_V2,
             NAMES("sse4.2", "popcnt", NULL) },
    [Dotprod] = { &aarch64, "armv8.2-a+dotprod", 4, true, 32, "dotprod",
                  "!defined __ARM_FEATURE_DOTPROD",
                  ATTN_CPU_ARMV8 | ATTN_CPU_DOTPROD, NAMES(NULL) },
    [Armv8] = { &aarch64, "armv8-a", 4, true, 32, "plain",
                "!defined __ARM_NEON", ATTN_CPU_ARMV8, NAMES(NULL) },
    [Generic] = { &any, "generic", 1, true, 16, "plain", NULL, 0, NAMES(NULL) },
};

enum { MostFeatures = 2 };
static const struct {
    const char *name;
    int has;
} feature_bits[] = {
    { "avx512vnni", ATTN_CPU_AVX512VNNI },
    { "avx512bf16", ATTN_CPU_AVX512BF16 },
    { "avxvnni", ATTN_CPU_AVXVNNI },
};
enum { FeatureBits = sizeof feature_bits / sizeof *feature_bits };

/* The first rows are instruction sets, for processors without a row of their
 * own. Compilers get a machine's instruction set and features, not its name,
 * because old compilers do not know it. Rows whose `met` is NULL were never
 * measured: a machine's figures come from the vendor's documents, an
 * instruction set's are assumed. `attnc bench --machine` compares the figures
 * with measurements. */
typedef struct {
    const char *name;
    int isa;
    const char *features[MostFeatures + 1];
    int maker;
    int family;
    const char *models; /* ranges of models, hexadecimal, e.g. "10-1f 60-af" */
    int fmas;           /* FMAs of the widest vectors started per cycle */
    int code;           /* KiB of L1 for instructions */
    int l1, l2, l3;     /* sizes of the caches in KiB */
    int near, far;      /* bytes per cycle that a core reads from L3, memory */
    const char *met;
} Row;

#define VNNI { "avx512vnni" }
#define AVX_VNNI { "avxvnni" }
#define VNNI_BF16 { "avx512vnni", "avx512bf16" }
#define NO_MAKER ATTN_MAKER_OTHER, 0, ""
/* clang-format off */
static const Row rows[] = {
    { "x86-64-v4+avx512vnni", V4, VNNI, NO_MAKER, 1, 32, 32, 1024, 32768, 23,
      9, "as of Zen 4" },
    { "x86-64-v4", V4, { NULL }, NO_MAKER, 1, 32, 32, 1024, 32768, 23, 9,
      "as of Zen 4" },
    { "x86-64-v3+avxvnni", V3, AVX_VNNI, NO_MAKER, 2, 32, 32, 1024, 32768, 23,
      9, "as of Zen 4" },
    { "x86-64-v3", V3, { NULL }, NO_MAKER, 2, 32, 32, 1024, 32768, 23, 9,
      "as of Zen 4" },
    { "x86-64-v2", V2, { NULL }, NO_MAKER, 1, 32, 32, 1024, 32768, 23, 9,
      "as of Zen 4" },
    { "armv8.2-a+dotprod", Dotprod, { NULL }, NO_MAKER, 2, 64, 64, 1024, 32768,
      8, 5, NULL },
    { "armv8-a", Armv8, { NULL }, NO_MAKER, 1, 32, 32, 1024, 32768, 23, 9,
      NULL },
    { "generic", Generic, { NULL }, NO_MAKER, 1, 32, 32, 1024, 32768, 23, 9,
      "as of Zen 4" },
    { "znver5", V4, VNNI_BF16, ATTN_MAKER_AMD, 0x1a, "00-1f 40-4f",
      2, 32, 48, 1024, 32768, 30, 10, "measured on an EPYC, 2 of its cores" },
    { "znver4", V4, VNNI_BF16, ATTN_MAKER_AMD, 0x19, "10-1f 60-af",
      1, 32, 32, 1024, 32768, 23, 9, "measured on an EPYC, 2 of its cores" },
    { "znver3", V3, { NULL }, ATTN_MAKER_AMD, 0x19, "00-0f 20-5f",
      2, 32, 32, 512, 32768, 20, 8, NULL },
    { "znver2", V3, { NULL }, ATTN_MAKER_AMD, 0x17, "30-af",
      2, 32, 32, 512, 16384, 16, 6, NULL },
    { "znver1", V3, { NULL }, ATTN_MAKER_AMD, 0x17, "00-2f",
      1, 32, 32, 512, 8192, 16, 6, NULL },
    { "sapphirerapids", V4, VNNI_BF16, ATTN_MAKER_INTEL, 6, "8f cf",
      2, 32, 48, 2048, 61440, 5, 5, "measured on a Xeon, 2 of its cores" },
    { "icelake-server", V4, VNNI, ATTN_MAKER_INTEL, 6, "6a 6c",
      2, 32, 48, 1280, 49152, 6, 4, NULL },
    { "icelake-client", V4, VNNI, ATTN_MAKER_INTEL, 6, "7d-7e 8c-8d a7",
      1, 32, 48, 512, 8192, 12, 6, NULL },
    { "skylake-avx512", V4, { NULL }, ATTN_MAKER_INTEL, 6, "55",
      2, 32, 32, 1024, 28160, 6, 4, NULL },
    { "alderlake", V3, AVX_VNNI, ATTN_MAKER_INTEL, 6,
      "97 9a aa ac b5 b7 ba bd bf c5-c6", 2, 32, 32, 1280, 30720, 10, 6,
      NULL },
    { "skylake", V3, { NULL }, ATTN_MAKER_INTEL, 6, "4e 5e 8e 9e a5-a6",
      2, 32, 32, 256, 8192, 12, 5, NULL },
    { "broadwell", V3, { NULL }, ATTN_MAKER_INTEL, 6, "3d 47 4f 56",
      2, 32, 32, 256, 8192, 10, 5, NULL },
    { "haswell", V3, { NULL }, ATTN_MAKER_INTEL, 6, "3c 3f 45-46",
      2, 32, 32, 256, 8192, 10, 5, NULL },
    { "neoverse-v2", Dotprod, { NULL }, ATTN_MAKER_ARM, 0x41, "d4f",
      4, 64, 64, 2048, 36864, 12, 8, NULL },
    { "neoverse-v1", Dotprod, { NULL }, ATTN_MAKER_ARM, 0x41, "d40",
      4, 64, 64, 1024, 32768, 12, 7, NULL },
    { "neoverse-n2", Dotprod, { NULL }, ATTN_MAKER_ARM, 0x41, "d49",
      2, 64, 64, 1024, 32768, 10, 6, NULL },
    { "neoverse-n1", Dotprod, { NULL }, ATTN_MAKER_ARM, 0x41, "d0c",
      2, 64, 64, 1024, 32768, 8, 5, NULL },
    { "cortex-a76", Dotprod, { NULL }, ATTN_MAKER_ARM, 0x41, "d0b",
      2, 64, 64, 512, 2048, 8, 5, NULL },
    { "cortex-a72", Armv8, { NULL }, ATTN_MAKER_ARM, 0x41, "d08",
      1, 48, 32, 1024, 1024, 4, 3, NULL },
};
/* clang-format on */
enum { Rows = sizeof rows / sizeof *rows };

const char *target_name(int i)
{
    return i < Rows ? rows[i].name : NULL;
}

const char *target_list(TargetNames *to)
{
    size_t n = (size_t)snprintf(to->text, sizeof to->text, "native");
    for (int i = 0; i < Rows && n < sizeof to->text; i++)
        n += (size_t)snprintf(to->text + n, sizeof to->text - n, ", %s",
                              rows[i].name);
    return to->text;
}

/* ---- processors ---- */
static int needs(const Row *r)
{
    int has = isas[r->isa].has;
    for (int f = 0; f < FeatureBits; f++)
        for (int i = 0; r->features[i]; i++)
            if (!strcmp(feature_bits[f].name, r->features[i]))
                has |= feature_bits[f].has;
    return has;
}

static bool is_model(const char *models, int model)
{
    for (char *end; *models; models = end + strspn(end, " ")) {
        const long from = strtol(models, &end, 16);
        const long to = *end == '-' ? strtol(end + 1, &end, 16) : from;
        if (model >= from && model <= to)
            return true;
    }
    return false;
}

static bool runs(const Row *r, const Cpu *c)
{
    return (needs(r) & ~c->has) == 0;
}

static const Row *own_row(const Cpu *c)
{
    for (int i = 0; i < Rows; i++)
        if (c->maker != ATTN_MAKER_OTHER && rows[i].maker == c->maker
            && rows[i].family == c->family && is_model(rows[i].models, c->model)
            && runs(&rows[i], c))
            return &rows[i];
    return NULL;
}

/* True if row `r` uses more features than `best`. If both use equally many,
 * true if `r` has as many FMA units as the processor's own row and `best` does
 * not. */
static bool is_nearer(const Row *r, const Row *best, const Row *own)
{
    if (needs(r) == needs(best))
        return r->fmas == own->fmas && best->fmas != own->fmas;
    return (needs(best) & ~needs(r)) == 0;
}

/* Also considers later rows of the same maker, because a virtual machine's
 * model number is unreliable, and one model may cover several generations. */
const char *cpu_target(const Cpu *c)
{
    const Row *own = own_row(c), *best = own;
    for (const Row *r = own; r && r > rows; r--)
        if (r->maker == c->maker && runs(r, c) && is_nearer(r, best, own))
            best = r;
    if (best)
        return best->name;
    const Row *r =
        rows; /* instruction sets, the best first; all run the last */
    while (!runs(r, c))
        r++;
    return r->name;
}

/* Aliases of targets. `c` is true if attnc emits only portable C for the
 * alias. */
static const struct {
    const char *other, *name;
    bool c;
} others[] = {
    { "aarch64", "armv8-a", false },    { "arm64", "armv8-a", false },
    { "riscv64", "generic", true },     { "wasm32", "generic", true },
    { "cortex-m0", "generic", true },   { "cortex-m0plus", "generic", true },
    { "cortex-m1", "generic", true },   { "cortex-m3", "generic", true },
    { "cortex-m4", "generic", true },   { "cortex-m7", "generic", true },
    { "cortex-m23", "generic", true },  { "cortex-m33", "generic", true },
    { "cortex-m35p", "generic", true }, { "cortex-m52", "generic", true },
    { "cortex-m55", "generic", true },  { "cortex-m85", "generic", true },
};
enum { Others = sizeof others / sizeof *others };

bool target_is_c(const char *name)
{
    for (int i = 0; name && i < Others; i++)
        if (others[i].c && !strcmp(others[i].other, name))
            return true;
    return false;
}

static const Row *find_row(const char *name)
{
    for (int i = 0; i < Others; i++)
        if (!strcmp(others[i].other, name))
            name = others[i].name;
    if (!strcmp(name, "native")) {
        Cpu here;
        cpu_find(&here);
        name = cpu_target(&here);
    }
    for (int i = 0; i < Rows; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

struct attn_processor target_processor(const Target *t)
{
    const Row *r = find_row(t->name);
    return (struct attn_processor){ .maker = r->maker,
                                    .family = r->family,
                                    .has = needs(r) };
}

static int bits(int set)
{
    int n = 0;
    for (; set; set &= set - 1)
        n++;
    return n;
}

bool target_above(const Target *t, const Target *other)
{
    const struct attn_processor a = target_processor(t),
                                b = target_processor(other);
    if (t->width != other->width)
        return t->width > other->width;
    if (bits(a.has) != bits(b.has))
        return bits(a.has) > bits(b.has);
    if (!a.maker != !b.maker)
        return a.maker != ATTN_MAKER_OTHER;
    return a.family > b.family;
}

const char *target_lacks(const Target *t, const Cpu *c)
{
    const Row *r = find_row(t->name);
    if (!r || isas[r->isa].has & ~c->has)
        return t->march;
    for (int f = 0; f < FeatureBits; f++)
        if (needs(r) & feature_bits[f].has & ~c->has)
            return feature_bits[f].name;
    return NULL;
}

/* ---- compilers ---- */
bool target_foreign(const Target *t)
{
    return t->triple && strcmp(t->triple, cpu_triple) != 0;
}

bool target_has(const Target *t, const char *name)
{
    for (int i = 0; t->features[i]; i++)
        if (!strcmp(t->features[i], name))
            return true;
    return false;
}

bool target_dots(const Target *t)
{
    return strncmp(t->march, "x86", 3) != 0 || t->width == 1
        || target_has(t, "avx512vnni") || target_has(t, "avxvnni");
}

bool target_widens(const Target *t)
{
    return !target_dots(t) && t->width <= 8;
}

const char *target_flags(Arena *a, const Target *t)
{
    const char *flags = t->guard ? arena_printf(a, "-march=%s", t->march) : "";
    for (int i = 0; t->features[i]; i++)
        flags = arena_printf(a, "%s -m%s", flags, t->features[i]);
    return flags;
}

const char *target_guard(Arena *a, const Target *t)
{
    const char *guard = t->guard;
    for (int i = 0; guard && t->features[i]; i++) {
        char *macro = arena_strdup(a, t->features[i]);
        for (char *c = macro; *c; c++)
            *c = (char)toupper((unsigned char)*c);
        guard = arena_printf(a, "%s || !defined __%s__", guard, macro);
    }
    return guard;
}

Features target_needs(Arena *a, const Target *t)
{
    Features all = { 0 };
    for (int i = 0; t->needs[i]; i++)
        vec_push(a, &all, t->needs[i]);
    for (int i = 0; t->features[i]; i++)
        vec_push(a, &all, t->features[i]);
    return all;
}

/* ---- tiles ---- */

/* Sets the largest tile whose accumulators fit in registers along with one row
 * of B and one element of A. Measured best: 6x64 for width 16, 6x16 for width
 * 8. */
static void default_tile(Target *t, const Isa *isa)
{
    const int vectors = isa->registers / 4 * 3; /* registers for accumulators */
    t->nr = t->width == 16 ? 64 : 16;
    t->mr = vectors * t->width / t->nr;
    if (t->mr > 6)
        t->mr = 6;
    if (t->width == 1)
        t->mr = 4;
    t->tile_from = FromDefault;
}

/* Sets the tile for panels larger than L1. Each tile of rows re-reads such a
 * panel from L2: 4 nr bytes per mr nr FMAs. With a 6x64 tile, a core that
 * starts one FMA of 16 floats per cycle reads 11 bytes per cycle. A core that
 * starts two reads 21, which is more than L2 delivers, so its tile is two
 * vectors wide and as tall as the registers allow. */
static void tall_tile(Target *t, const Isa *isa)
{
    t->tall_mr = t->mr;
    t->tall_nr = t->nr;
    if (t->fmas < 2 || t->width < 8 || t->width < isa->width)
        return;
    t->tall_nr = 2 * t->width;
    t->tall_mr = (isa->registers - 3) / 2;
}

/* Returns the number of rows for which re-reading the weights takes a tenth of
 * the time of the FMAs, rounded up to a multiple of the target's row_block. The
 * result is at most 8 row blocks and, on cores that start two FMAs per cycle,
 * at least two, which measured faster. */
int64_t target_row_block(const Target *t, int64_t bytes, int64_t numbers)
{
    const int64_t flops = 2 * t->fmas * t->width;
    const int64_t rate = bytes > t->cache[2] ? t->far : t->near;
    if (numbers == 0 || rate == 0)
        return t->row_block;
    const int64_t least = 10 * flops * bytes / (2 * numbers * rate);
    const int64_t blocks = (least + t->row_block - 1) / t->row_block;
    const int64_t fewest = t->fmas > 1 && t->width >= 8 ? 2 : 1;
    return t->row_block * (blocks < fewest ? fewest : blocks > 8 ? 8 : blocks);
}

/* Returns the largest power of 2, at least 64, such that `lines` times that
 * many floats fit in `bytes`. */
static int64_t elements(int64_t bytes, int64_t lines)
{
    int64_t k = 64;
    while (4 * 2 * k * lines <= bytes)
        k *= 2;
    return k;
}

/* Returns k if a block of rows and a panel fit in L2 together. Otherwise
 * chooses a part of k: on cores that start two FMAs per cycle, such that a
 * tile's rows and panel fit in L1; on others, such that a block of rows and a
 * panel fit in a quarter of L2. */
int64_t target_sum_block(const Target *t, int mr, int nr, int64_t k)
{
    const int64_t block = target_row_block(t, 4, 1);
    if (4 * k * (block + nr) <= t->cache[1])
        return k;
    return t->fmas > 1 ? elements(t->cache[0], mr + nr)
                       : elements(t->cache[1] / 4, block + nr);
}

/* Sets the tile of products with small M. Reading weights from memory bounds
 * these products, so the tile reads them in two streams if it has the
 * registers. */
static void small_m_tile(Target *t, const Isa *isa)
{
    const int vectors = isa->registers / 4 * 3;
    t->small_m_nr = t->width == 16 ? 32 : 16;
    t->small_m_mr = vectors * t->width / t->small_m_nr;
    if (t->small_m_mr > 8)
        t->small_m_mr = 8;
    if (t->width == 1)
        t->small_m_mr = 0;
    t->small_m_bytes = 8 << 20; /* roughly a core's share of the caches */
    t->near_small_m = t->small_m_mr < 2 ? t->small_m_mr : 2;
}

static bool read_tile(Target *t, const char *tile, Fault *why)
{
    int end = 0;
    if (tile[strspn(tile, "0123456789x")] /* rejects signs and spaces */
        || sscanf(tile, "%2dx%2d%n", &t->mr, &t->nr, &end) != 2 || tile[end]
        || t->mr < 1 || t->mr > 16 || t->nr < 16 || t->nr > 64 || t->nr % 16)
        return fault(why, ExitUsage,
                     "tile %s: expected ROWSxCOLUMNS, 1 to 16 "
                     "rows and 16, 32, 48 or 64 columns, as 6x64",
                     quote(tile));
    t->tall_mr = t->mr;
    t->tall_nr = t->nr;
    t->tile_from = FromOption;
    return true;
}

bool target_find(Target *t, const char *march, int width, const char *tile,
                 Fault *why)
{
    const Row *r = find_row(march);
    TargetNames names;
    if (!r)
        return fault(why, ExitUsage, "unknown target %s: expected one of %s",
                     quote(march), target_list(&names));
    const Isa *isa = &isas[r->isa];
    if (width == 0)
        width = isa->width;
    if ((width != 1 && width != 4 && width != 8 && width != 16)
        || width > isa->width)
        return fault(why, ExitUsage,
                     "width %d: expected 1, 4, 8 or 16, and "
                     "at most the %d of %s",
                     width, isa->width, r->name);
    *t = (Target){ .name = r->name,
                   .march = isa->march,
                   .triple = isa->system->triple,
                   .packages = isa->system->packages,
                   .features = r->features,
                   .width = width,
                   .registers = isa->registers,
                   .dot = isa->dot,
                   .fma = isa->fma,
                   .guard = isa->guard,
                   .needs = isa->features,
                   .fmas = r->fmas,
                   .code = (int64_t)r->code << 10,
                   .cache = { (int64_t)r->l1 << 10, (int64_t)r->l2 << 10,
                              (int64_t)r->l3 << 10 },
                   .near = r->near,
                   .far = r->far,
                   .met = r->met,
                   .row_block = RowBlock,
                   .part_work = PartWork };
    t->pairs = target_has(t, "avx512bf16") && r->maker == ATTN_MAKER_AMD;
    t->amx = target_has(t, "avx512bf16") && r->maker == ATTN_MAKER_INTEL
          && t->width > 1;
    default_tile(t, isa);
    tall_tile(t, isa);
    small_m_tile(t, isa);
    return !tile || read_tile(t, tile, why);
}
