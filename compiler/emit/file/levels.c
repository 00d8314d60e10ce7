/* levels.c: emits the code of a file for several levels of processors: each
 * level's with a prefix before its names, and a table of them, from which one
 * is chosen when weights are bound. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"
#include "emit/text/renamer.h"

#include <string.h>

typedef struct LevelCode {
    const Plan *p;
    const char *id;   /* "v4_avx512vnni" */
    const char *text; /* its code */
    size_t n;
    NameList tiles;
    int code; /* index of the level whose code it has, mostly itself */
    Gen g;
} LevelCode;

/* The first versions of compilers that have a feature. */
static const struct {
    const char *feature;
    int clang, gcc;
} since[] = { { "avx2", 6, 8 },       { "avx512f", 6, 8 },
              { "avx512vnni", 7, 8 }, { "avx512bf16", 9, 10 },
              { "amx-tile", 11, 11 }, { "avxvnni", 12, 11 } };

/* Returns the target's name in C: "v4_avx512vnni" for
 * "x86-64-v4+avx512vnni". */
static const char *level_id(Arena *a, const Target *t, const char *prefix)
{
    static const char x86[] = "x86-64-";
    const bool is_set = !strncmp(t->name, x86, sizeof x86 - 1);
    char *id = arena_strdup(a, t->name + (is_set ? sizeof x86 - 1 : 0));
    for (char *c = id; *c; c++)
        if (*c == '-' || *c == '+' || *c == '.')
            *c = '_';
    /* exported names begin with the model's */
    return strcmp(id, prefix) ? id : arena_printf(a, "%s_code", id);
}

/* Returns the features that the compiler must allow in the code. */
static Features features_of(const LevelCode *l)
{
    Arena *a = l->g.a;
    Features all = target_needs(a, &l->p->target);
    if (plan_has_amx(l->p)) {
        vec_push(a, &all, "amx-tile");
        vec_push(a, &all, "amx-int8");
        vec_push(a, &all, "amx-bf16");
    }
    return all;
}

static void make_code(Gen *g, LevelCode *l)
{
    Emit *e = emit_new(g->a);
    l->id = level_id(g->a, &l->p->target, l->p->prefix);
    l->g = (Gen){ .a = g->a,
                  .p = l->p,
                  .o = g->o,
                  .helpers = emit_new(g->a),
                  .shapes = emit_new(g->a),
                  .counts = emit_new(g->a),
                  .count_prototypes = emit_new(g->a),
                  .kernels = kernels_new(g->a, &l->p->target, false),
                  .serial = g->serial };
    kernels_inside(l->g.kernels);
    if (plan_has_amx(l->p)) /* all of the level may use it */
        put(e, "#define AMX_FUNCTION\n\n");
    emit_code(&l->g, e);
    l->text = emit_text(e, &l->n);
    l->tiles = kernels_tiles(l->g.kernels);
}

void levels_of(Gen *g)
{
    g->level = arena_alloc(g->a, (size_t)level_count(g) * sizeof *g->level);
    for (int i = 0; i < level_count(g); i++) {
        LevelCode *l = &g->level[i];
        l->p = level_plan(g, i);
        make_code(g, l);
        l->code = i;
    }
    /* the code of several levels may be the same: that of the last one is for
     * all of them, since it needs the fewest features */
    for (int i = 0; i < level_count(g); i++)
        for (int j = i + 1; j < level_count(g); j++)
            if (g->level[i].n == g->level[j].n
                && !memcmp(g->level[i].text, g->level[j].text, g->level[i].n))
                g->level[i].code = j;
}

/* ---- the code ---- */

/* Binds $clang and $gcc to the first versions that can make the code of the
 * level. */
static void let_versions(Emit *e, const LevelCode *l)
{
    const Features names = features_of(l);
    int clang = 0, gcc = 0;
    for (int i = 0; i < names.n; i++)
        for (size_t k = 0; k < sizeof since / sizeof *since; k++)
            if (!strcmp(names.at[i], since[k].feature)) {
                clang = clang > since[k].clang ? clang : since[k].clang;
                gcc = gcc > since[k].gcc ? gcc : since[k].gcc;
            }
    let(e, "clang", "%d", clang);
    let(e, "gcc", "%d", gcc);
}

/* Binds $id and names that begin with it. */
static void let_level_names(Emit *e, const char *id)
{
    static const char *const names[] = {
        "weights", "arena_bytes", "bind_weights", "encode",
        "decode",  "log_sum_exp", "amx_allowed",
    };
    let(e, "id", "%s", id);
    let(e, "has", "HAS_%s", id);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        let(e, names[i], "%s_%s", id, names[i]);
}

static void let_level(Emit *e, const LevelCode *l)
{
    Arena *a = emit_arena(e);
    const Features names = features_of(l);
    const char *all = "";
    for (int i = 0; i < names.n; i++)
        all = arena_printf(a, "%s%s%s", all, i ? "," : "", names.at[i]);
    let(e, "features", "%s", all);
    let(e, "name", "%s", l->p->target.name);
    let_level_names(e, l->id);
    let_versions(e, l);
}

/* Returns a sentence on the levels that have the code of level i. */
static const char *others_of(const Gen *g, int i)
{
    const char *all = "";
    for (int j = 0; j < level_count(g); j++)
        if (j != i && g->level[j].code == i)
            all = arena_printf(g->a, "%s%s%s", all, *all ? ", " : "",
                               g->level[j].p->target.name);
    return *all ? arena_printf(g->a, " It is also the code for\n * %s.", all)
                : "";
}

static void put_level(Gen *g, Emit *e, int i)
{
    const int mark = emit_mark(e);
    LevelCode *l = &g->level[i];
    let(e, "others", "%s", others_of(g, i));
    section_heading(e, arena_printf(emit_arena(e), "code for %s",
                                    l->p->target.name));
    let_level(e, l);
    put(e, "/* Its names begin with $id.$others\n");
    emit_tilings(&l->g, e);
    put(e, " */\n"
           "#if COMPILER_IS($clang, $gcc)\n"
           "#define $has\n"
           "#if defined __clang__\n"
           "#pragma clang attribute push( \\\n"
           "    __attribute__((target( \\\n"
           "        \"$features\"))), \\\n"
           "    apply_to = function)\n"
           "#else\n"
           "#pragma GCC push_options\n"
           "#pragma GCC target( \\\n"
           "    \"$features\")\n"
           "#endif\n\n");
    rename_all(e, l->text, l->n, arena_printf(emit_arena(e), "%s_", l->id),
               l->tiles);
    put(e, "\n"
           "#if defined __clang__\n"
           "#pragma clang attribute pop\n"
           "#else\n"
           "#pragma GCC pop_options\n"
           "#endif\n"
           "#else\n"
           "#pragma message(\"left out: the code for $name needs clang $clang "
           "or gcc $gcc, for x86-64\")\n"
           "#endif\n\n");
    emit_reset(e, mark);
}

/* Emits an error for compilers that can make the code of no level. */
static void put_none(Gen *g, Emit *e)
{
    const char *none = "";
    for (int i = 0; i < level_count(g); i++)
        if (g->level[i].code == i)
            none = arena_printf(g->a, "%s%s!defined HAS_%s", none,
                                *none ? " \\\n    && " : "", g->level[i].id);
    let(e, "none", "%s", none);
    put(e, "#if $none\n"
           "#error \"made for x86-64, by newer versions of clang or gcc\"\n"
           "#endif\n\n");
}

void emit_levels(Gen *g, Emit *e)
{
    bool intrinsics = false;
    for (int i = 0; i < level_count(g); i++)
        intrinsics |= strstr(g->level[i].text, "#include <immintrin.h>")
                   != NULL;
    emit_float_rules(g->level[0].g.kernels, e);
    put(e, "\n"
           "/* Compilers that can make a level's code: this version, or "
           "later. */\n"
           "#if !defined __x86_64__\n"
           "#define COMPILER_IS(clang, gcc) 0\n"
           "#elif defined __clang__\n"
           "#define COMPILER_IS(clang, gcc) (__clang_major__ >= clang)\n"
           "#elif defined __GNUC__\n"
           "#define COMPILER_IS(clang, gcc) (__GNUC__ >= gcc)\n"
           "#else\n"
           "#define COMPILER_IS(clang, gcc) 0\n"
           "#endif\n");
    put(e, intrinsics ? "\n#include <immintrin.h>\n\n" : "\n");
    for (int i = 0; i < level_count(g); i++)
        if (g->level[i].code == i)
            put_level(g, e, i);
    put_none(g, e);
}

/* ---- the choice ---- */

static void put_structs(Gen *g, Emit *e)
{
    put(e, "/* Processors, and the code that is made for them. */\n"
           "struct level {\n"
           "    const char *name;\n"
           "    struct attn_processor needs;\n"
           "    int64_t (*arena_bytes)(int64_t rows, int64_t sequences,\n"
           "                           int64_t parts);\n"
           "    void (*bind)(void *bound, const void *packed);\n"
           "    void (*encode)(const void *bound, const struct attn_batch *b,\n"
           "                   void *arena);\n"
           "    void (*decode)(const void *bound, const struct attn_batch *b,\n"
           "                   void *arena);\n"
           "    float (*log_sum_exp)(const float *x, int64_t n);\n"
           "    int64_t (*amx_allowed)(void);\n"
           "};\n\n"
           "/* Bound weights, and the level that reads them. */\n"
           "struct bound {\n"
           "    const struct level *level;\n"
           "    union {\n");
    for (int i = 0; i < level_count(g); i++) {
        let_level_names(e, g->level[i].id);
        if (g->level[i].code == i)
            put(e, "#ifdef $has\n"
                   "struct $weights $id;\n"
                   "#endif\n");
    }
    put(e, "    } weights;\n"
           "};\n\n");
}

static void put_level_row(Gen *g, Emit *e, const LevelCode *l)
{
    const struct attn_processor needs = target_processor(&l->p->target);
    const LevelCode *code = &g->level[l->code];
    const bool amx = plan_has_amx(code->p) && !g->o->freestanding;
    let(e, "name", "%s", l->p->target.name);
    let_level_names(e, code->id);
    let(e, "maker", "%d", needs.maker);
    let(e, "family", "%d", needs.family);
    let(e, "bits", "%d", needs.has);
    put(e,
        "#ifdef $has\n"
        "{\n"
        "    .name = \"$name\",\n"
        "    .needs = { .maker = $maker, .family = $family, .has = $bits },\n"
        "    .arena_bytes = $arena_bytes,\n"
        "    .bind = $bind_weights,\n");
    if (has_entry(g->p, EntryEncode))
        put(e, ".encode = $encode,\n");
    if (has_entry(g->p, EntryDecode))
        put(e, ".decode = $decode,\n");
    if (generates(g))
        put(e, ".log_sum_exp = $log_sum_exp,\n");
    if (amx)
        put(e, ".amx_allowed = $amx_allowed,\n");
    put(e, "},\n"
           "#endif\n");
}

static void put_level_entry(Emit *e, const char *entry)
{
    let(e, "entry", "%s", entry);
    put(e, "static void $entry(const void *bound, const struct attn_batch *b,\n"
           "                   void *arena)\n"
           "{\n"
           "    const struct bound *w = bound;\n"
           "    level_of(bound)->$entry(w ? &w->weights : NULL, b, arena);\n"
           "}\n\n");
}

static void put_choosers(Emit *e)
{
    put(e,
        "enum { LEVELS = sizeof levels / sizeof *levels };\n\n"
        "/* Returns the first level that this processor can run; NULL: none.\n"
        " * -DATTNC_LEVEL='\"x86-64-v3\"' leaves out all others, for tests.\n"
        " */\n"
        "static const struct level *level_here(void)\n"
        "{\n"
        "    struct attn_processor here;\n"
        "    attn_processor_find(&here);\n"
        "    for (int64_t i = 0; i < LEVELS; i++) {\n"
        "        struct attn_processor needs = levels[i].needs;\n"
        "#ifdef ATTNC_LEVEL\n"
        "        if (strcmp(levels[i].name, ATTNC_LEVEL) != 0)\n"
        "            continue;\n"
        "        needs.maker = ATTN_MAKER_OTHER;\n"
        "#endif\n"
        "        if (attn_processor_has(&here, &needs))\n"
        "            return &levels[i];\n"
        "    }\n"
        "    return NULL;\n"
        "}\n\n"
        "/* Returns the level of bound weights; NULL is a model without. */\n"
        "static const struct level *level_of(const void *bound)\n"
        "{\n"
        "    const struct bound *w = bound;\n"
        "    return w ? w->level : level_here();\n"
        "}\n\n"
        "static const char *target_of(const void *bound)\n"
        "{\n"
        "    const struct level *l = level_of(bound);\n"
        "    return l ? l->name : NULL;\n"
        "}\n\n"
        "static int64_t arena_bytes(int64_t rows, int64_t sequences,\n"
        "                           int64_t parts)\n"
        "{\n"
        "    int64_t most = 0;\n"
        "    for (int64_t i = 0; i < LEVELS; i++)\n"
        "        most = attn_max(\n"
        "            most, levels[i].arena_bytes(rows, sequences, parts));\n"
        "    return most;\n"
        "}\n\n"
        "static void bind_weights(void *bound, const void *packed)\n"
        "{\n"
        "    struct bound *w = bound;\n"
        "    w->level = level_here();\n"
        "    if (w->level)\n"
        "        w->level->bind(&w->weights, packed);\n"
        "}\n\n");
}

void emit_choice(Gen *g, Emit *e)
{
    const int mark = emit_mark(e);
    put_structs(g, e);
    put(e, "static const struct level levels[] = {\n");
    for (int i = 0; i < level_count(g); i++)
        put_level_row(g, e, &g->level[i]);
    put(e, "};\n");
    put_choosers(e);
    if (has_entry(g->p, EntryEncode))
        put_level_entry(e, "encode");
    if (has_entry(g->p, EntryDecode))
        put_level_entry(e, "decode");
    if (generates(g))
        put(e, "static float sum_of_logits(const void *bound, const float *x,\n"
               "                           int64_t n)\n"
               "{\n"
               "    return level_of(bound)->log_sum_exp(x, n);\n"
               "}\n\n");
    if (any_amx(g) && !g->o->freestanding)
        put(e, "static int64_t amx_allowed(void)\n"
               "{\n"
               "    const struct level *l = level_here();\n"
               "    return !l || !l->amx_allowed || l->amx_allowed();\n"
               "}\n\n");
    emit_reset(e, mark);
}
