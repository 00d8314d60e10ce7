/* pass.c: the table of passes and what runs it. A pass is a row here and a
 * file of its own; any of them but the required can be skipped.             */
#include <stdarg.h>
#include <string.h>

#include "passes/rewrite.h"

const Pass passes[] = {
    /* first: later passes hide the products that the scale moves into */
    { "fold-scale", fold_scale, "constant factors into weights", false },
    { "merge-qkv", merge_qkv, "projections of the same rows into one product",
      false },
    { "fuse-attention", fuse_attention,
      "scores, scale, bias, mask, softmax, context into one op", false },
    /* before fuse-epilogue, which takes what additions are left */
    { "fuse-norm", fuse_norm, "residual and norm into one op", false },
    /* before fuse-epilogue, which would take the activation alone */
    { "fuse-gate", fuse_gate,
      "activation and the product with its gate into one op", false },
    { "fuse-epilogue", fuse_epilogue,
      "bias, activation, residual into the product", false },
    { "fuse-embed", fuse_embed, "scale and positions into the look-up", false },
    /* after fuse-epilogue: bias and product then move as one */
    { "last-rows", last_rows, "the last product for the selected rows only",
      false },
    { "dead-code", dead_code, "what no result needs is removed", false },
    { "lower-pages", lower_pages, "keys and values of attention come in pages",
      true },
};
const int n_passes = sizeof passes / sizeof *passes;

/* ------------------------------------------------- what passes have to say */

/* The pass that runs now; a pass has nobody else to tell. */
static struct {
    const char *name;
    const PassOptions *options;
    FILE *log;
    int missed;
} now;

static void say(const Graph *g, int node, const char *fmt, va_list args)
{
    fprintf(now.log, "%s: %s ", now.name, g->nodes.at[node].name);
    vfprintf(now.log, fmt, args);
    fputc('\n', now.log);
}

void pass_missed(const Graph *g, int node, const char *fmt, ...)
{
    char reason[256];
    va_list args;
    now.missed++;
    if (!now.options)
        return;
    va_start(args, fmt);
    if (now.options->explain)
        say(g, node, fmt, args);
    va_end(args);
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    if (now.options->require_fusion)
        error_at(g->nodes.at[node].pos, "%s: %s %s", now.name,
                 g->nodes.at[node].name, reason);
}

void pass_note(const Graph *g, int node, const char *fmt, ...)
{
    va_list args;
    if (!now.options || !now.options->explain)
        return;
    va_start(args, fmt);
    say(g, node, fmt, args);
    va_end(args);
}

/* -------------------------------------------------------- what passes share */

int pass_each(Graph *g, int (*rewrite)(Graph *g, int node))
{
    int done = 0, count = g->nodes.n;
    for (int i = 0; i < count; i++)
        if (g->nodes.at[i].op != OpNop)
            done += rewrite(g, i);
    if (done)
        graph_sweep(g);
    return done;
}

const char *pass_refuses(const Graph *g, int node)
{
    if (g->nodes.at[node].keep)
        return "is asked for by name";
    return graph_uses(g, node) == 1 ? NULL : "has several readers";
}

bool pass_takes(const Graph *g, int node, int root)
{
    const char *why = pass_refuses(g, node);
    if (why)
        pass_missed(g, root, "stays apart: %s %s", g->nodes.at[node].name, why);
    return !why;
}

bool same_part(const Node *a, const Node *b)
{
    return a->entry == b->entry && same_layer(a, b);
}

/* --------------------------------------------------------------- the driver */

static bool listed(const char *const *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static void run_pass(Graph *g, const Pass *p, const PassOptions *o, FILE *log)
{
    now.name = p->name;
    int done = p->run(g);
    check_graph(g, p->name);
    if (o->explain)
        fprintf(log, "%s: %d rewritten\n", p->name, done);
    if (listed(o->dump, o->ndump, p->name))
        fprintf(log, "after %s:\n%s", p->name,
                print_graph(g->arena, g, GraphText));
}

bool run_passes(Graph *g, const PassOptions *o, FILE *log)
{
    bool skip_all = listed(o->skip, o->nskip, "all");
    now.options = o;
    now.log = log;
    now.missed = 0;
    for (int i = 0; i < n_passes; i++) {
        const Pass *p = &passes[i];
        bool skip = skip_all || listed(o->skip, o->nskip, p->name);
        if (p->required || !skip)
            run_pass(g, p, o, log);
        if (o->after && strcmp(o->after, p->name) == 0)
            break;
    }
    now.options = NULL;
    return !o->require_fusion || now.missed == 0;
}
