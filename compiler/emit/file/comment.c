/* comment.c: emits the first comment of the file: the file's origin, how to
 * compile and call it, and its costs. */
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

#include <string.h>

const char *harmless(Arena *a, const char *text)
{
    char *s = arena_strdup(a, text);
    for (char *c = s; *c; c++)
        if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*'))
            c[0] = '?';
    return s;
}

/* Prints a label and the words after it, wrapped at 80 columns. */
static void put_labelled(Gen *g, Emit *e, const char *label, int width,
                         const char *words)
{
    char *line = arena_printf(g->a, " *     %-*s", width, label);
    size_t column = strlen(line);
    for (size_t n; *words; words += n + strspn(words + n, " ")) {
        n = strcspn(words, " ");
        if (column + 1 + n > 80) {
            line = arena_printf(g->a, "%s\n *     %*s", line, width, "");
            column = 7 + (size_t)width;
        }
        line = arena_printf(g->a, "%s %.*s", line, (int)n, words);
        column += 1 + n;
    }
    let(e, "line", "%s", line);
    put(e, "$line\n");
}

static const char *add_word(Gen *g, const char *words, const char *word)
{
    return arena_printf(g->a, "%s%s%s", words, *words ? " " : "", word);
}

typedef struct { /* tiles that differ only in their numbers of rows and
                  * columns */
    const TileKey *first;
    const char *sizes;
} TileFamily;

/* Prints a line for the tiles of each epilogue, and one for all other
 * kernels. */
static void put_kernels(Gen *g, Emit *e)
{
    const Kernels *k = g->kernels;
    VEC(TileFamily) families = { 0 };
    const char *others = "";
    for (int i = 0; i < kernels_count(k); i++) {
        const TileKey *t = kernels_tile(k, i);
        int f = 0;
        if (!t) {
            others = add_word(g, others, kernels_nth(k, i));
            continue;
        }
        while (f < families.n && !suffix_same(families.at[f].first, t))
            f++;
        if (f == families.n)
            vec_push(g->a, &families, ((TileFamily){ t, "" }));
        families.at[f].sizes = add_word(g, families.at[f].sizes,
                                        arena_printf(g->a, "%dx%d", t->mr,
                                                     t->nr));
    }
    for (int f = 0; f < families.n; f++)
        put_labelled(g, e,
                     arena_printf(g->a, "tile%s",
                                  tile_suffix(g->a, *families.at[f].first)),
                     16, families.at[f].sizes);
    put_labelled(g, e, "others", 16, others);
}

/* Prints a task, e.g. "matmul 512x2048 bias_relu mr=12 nr=32 k=512
 * panels=2". */
static void put_task(Gen *g, Emit *e, const Task *t)
{
    const char *label = arena_printf(
        g->a, "%-9s %s%s%s%s", task_word[t->key.kind], t->name.shape,
        *t->name.epilogue ? " " : "", t->name.epilogue,
        t->key.dtype == DtypeF32
            ? ""
            : arena_printf(g->a, " %s", dtype_word[t->key.dtype]));
    put_labelled(g, e, label, 31, tiling_text(g->a, &t->tiling));
}

/* Prints the tasks, grouped by the origin of their tilings. All tuned tilings
 * are for the same host, which is printed once. */
static void put_tasks(Gen *g, Emit *e)
{
    for (int from = FromTuned; from >= FromDefault; from--) {
        bool any = false;
        for (int i = 0; i < g->p->task.n; i++) {
            const Task *t = &g->p->task.at[i];
            if ((int)t->from != from || t->tiling.small_m == 1)
                continue; /* 1: no M counts as small */
            let(e, "from", "%s", from_word[from]);
            if (!any)
                put(e, " *\n"
                       " * Tasks and their tilings ($from):\n");
            any = true;
            put_task(g, e, t);
        }
        if (any && from == FromTuned && g->p->choices.host)
            put_labelled(g, e, "tuned on", 9,
                         harmless(g->a, g->p->choices.host));
    }
}

/* Returns the bytes of arena for a call with one row. */
static int64_t row_arena(const Plan *p)
{
    int64_t arena = 0;
    for (int k = EntryEncode; k <= EntryDecode; k++) {
        const int64_t n = has_entry(p, (Entry)k)
                            ? 4 * affine_at(p->arena[k], 1, 1, 1) + 64
                            : 0;
        arena = n > arena ? n : arena;
    }
    return arena;
}

static void put_costs(Gen *g, Emit *e)
{
    const Plan *p = g->p;
    int64_t arena = row_arena(p);
    for (int i = 0; i < level_count(g); i++)
        arena = attn_max(arena, row_arena(level_plan(g, i)));
    const struct {
        const char *what;
        int64_t n;
    } cost[] = {
        { "parameters", p->parameters },
        { "bytes of packed weights", p->pack.bytes },
        { "bytes of arena for a call with one row", arena },
        { "FLOPs a token", plan_token_flops(p) },
    };
    put(e, " *\n");
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++) {
        let(e, "n", "%15s", arena_grouped(g->a, cost[i].n));
        let(e, "what", "%s", cost[i].what);
        put(e, " * $n  $what\n");
    }
}

/* Prints the lengths that `fix` makes constant. */
static void put_fixed(Gen *g, Emit *e)
{
    if (!plan_fixed(g->p))
        return;
    let(e, "fixed", "%s", plan_fixed_text(g->p));
    put(e, " *\n"
           " * Each call has these lengths, which are constants below, and no\n"
           " * others: ATTN_ERROR_FIXED.\n"
           " *     $fixed\n");
}

/* Prints the processors that the code is made for. */
static void put_levels(Gen *g, Emit *e)
{
    put(e,
        " *\n"
        " * The model's code is there for these processors, and the best that\n"
        " * runs is chosen when weights are bound:\n");
    put_labelled(g, e, "", 0, level_names(g));
}

void emit_tilings(Gen *g, Emit *e)
{
    put_tasks(g, e);
    put(e, " *\n"
           " * Kernels; tiles are rows x columns:\n");
    put_kernels(g, e);
}

void emit_comment(Gen *g, Emit *e)
{
    const bool outside = g->p->pack.bytes > 0 && !weights_embedded(g->o);
    let(e, "name", "%s", g->p->g->spec->name);
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "hash", "%016llx", (unsigned long long)g->p->g->spec->hash);
    let(e, "command", "%s",
        harmless(g->a, g->o->command ? g->o->command : "attnc compile"));
    let_flags(g, e, " \\\n *        ");
    let(e, "weights", "%s", outside ? " model.weights" : "");
    let(e, "runtime", g->o->beside ? " attn.c" : "");
    let(e, "or", has_main(g) ? ", or to make it a program" : "");
    put(e, "/* $name, a Transformer in C, made by attnc $version\n"
           " * from the spec of hash $hash by\n"
           " *     $command\n"
           " *\n"
           " * To compile this file (here model.c)$or:\n"
           " *     cc -O2 -std=c11$flags$break -c model.c$runtime\n");
    let(e, "cc", has_ranks(g) ? "mpicc" : "cc");
    let(e, "start", "%s",
        has_ranks(g)
            ? arena_printf(g->a, "mpirun -n %lld ", (long long)ranks_of(g))
            : "");
    if (has_main(g))
        put(e, " *     $cc -O2 -std=c11$flags$break -DATTNC_MAIN "
               "model.c$runtime -lm -pthread -o model\n"
               " *     $start./model$weights < lines\n");
    put(e, " * model.h declares the exported functions and has an example.\n");
    if (g->o->nlevels)
        put_levels(g, e);
    if (g->p->g->spec->layers) {
        put(e, " *\n"
               " * Layers, if they are not all alike:\n");
        put_labelled(g, e, "", 0, harmless(g->a, g->p->g->spec->layers));
    }
    put_fixed(g, e);
    put_costs(g, e);
    if (!g->o->nlevels)
        emit_tilings(g, e);
    put(e, " */\n");
}
