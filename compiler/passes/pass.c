/* pass.c: the table of passes and the code that runs them. To add a pass, add a
 * row here and a file. All passes but the required ones can be skipped. */
#include <string.h>

#include "passes/rewrite.h"

const Pass passes[] = {
    /* first, because later passes hide the products that take the scale */
    { "fold-scale", fold_scale, "constant factors into weights", false },
    { "merge-qkv", merge_qkv, "projections of the same rows into one product",
      false },
    { "fuse-attention", fuse_attention,
      "scores, scale, bias, mask, softmax, context into one op", false },
    /* before fuse-epilogue, which takes the remaining additions */
    { "fuse-norm", fuse_norm, "residual and norm into one op", false },
    /* before fuse-epilogue, which would take the activation alone */
    { "fuse-gate", fuse_gate,
      "activation and the product with its gate into one op", false },
    { "fuse-epilogue", fuse_epilogue,
      "bias, activation, residual into the product", false },
    { "fuse-embed", fuse_embed, "scale and positions into the look-up", false },
    /* after fuse-epilogue, so that bias and product move together */
    { "last-rows", last_rows, "the last product for the selected rows only",
      false },
    { "dead-code", dead_code, "what no result needs is removed", false },
    { "pack-kv", pack_kv, "keys and values of attention come in pages", true },
    { "quantize", quantize_rows, "integer products read rows of integers",
      true },
};
const int n_passes = sizeof passes / sizeof *passes;

static bool listed(const char *const *list, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

/* Prints the remarks of a pass if o->explain is set. Returns the number of
 * failed fusions. */
static int report(const Remarks *all, const Pass *p, const PassOptions *o,
                  FILE *log)
{
    int missed = 0;
    for (int i = 0; i < all->n; i++) {
        const Remark *r = &all->at[i];
        missed += r->missed;
        if (o->explain)
            fprintf(log, "%s: %s\n", p->name, r->of.text);
        if (r->missed && o->require_fusion)
            error_at(r->pos, "%s: %s", p->name, r->of.text);
    }
    return missed;
}

static void keep_record(Arena *a, PassRecord *to, const Remarks *all, int done)
{
    *to = (PassRecord){ .ran = true, .rewrites = done };
    for (int i = 0; i < all->n; i++)
        if (all->at[i].missed)
            vec_push(a, &to->missed, all->at[i].of);
}

static int run_pass(Graph *g, const Pass *p, const PassOptions *o, FILE *log)
{
    Remarks remarks = { 0 };
    const bool asked = o->explain || o->require_fusion || o->record;
    g->remarks = asked ? &remarks : NULL;
    int done = p->run(g);
    g->remarks = NULL;
    if (o->record)
        keep_record(g->arena, &o->record[p - passes], &remarks, done);
    int missed = report(&remarks, p, o, log);
    check_graph(g, p->name);
    if (o->explain)
        fprintf(log, "%s: %d rewritten\n", p->name, done);
    if (listed(o->dump, o->ndump, p->name))
        fprintf(log, "after %s:\n%s", p->name,
                print_graph(g->arena, g, GraphText));
    return missed;
}

bool run_passes(Graph *g, const PassOptions *o, FILE *log)
{
    bool skip_all = listed(o->skip, o->nskip, "all");
    int missed = 0;
    for (int i = 0; i < n_passes; i++) {
        const Pass *p = &passes[i];
        bool skip = skip_all || listed(o->skip, o->nskip, p->name);
        if (p->required || !skip)
            missed += run_pass(g, p, o, log);
        if (o->after && strcmp(o->after, p->name) == 0)
            break;
    }
    return !o->require_fusion || missed == 0;
}
