/* cmd_compare.c: attnc compare. Runs a sweep over kinds of layers and lengths.
 * Prints its results like Table 1 of the paper, with measured times. */
#include <string.h>

#include "cli/options/options.h"

static const char kinds[] =
    "layers.mix=attention,window,recurrent,convolution,separable";
static const char lengths[] = "p=16..4096..x4";
static const char columns[] = "complexity,operations,sequential,path,"
                              "layer_flops,latency,latency_low,latency_high,"
                              "exponent";

/* True if any of the texts begins with "KEY=" or "KEY.". */
static bool any_of(const char *const *texts, int n, const char *key)
{
    const size_t length = strlen(key);
    for (int i = 0; i < n; i++)
        if (!strncmp(texts[i], key, length)
            && (texts[i][length] == '=' || texts[i][length] == '.'))
            return true;
    return false;
}

/* Makes the model an encoder without feed-forward networks, so that only the
 * mixing of rows is measured. These settings precede the user's --set options,
 * which can override them. */
static void set_layer(Arena *a, SweepOptions *o)
{
    VEC(const char *) sets = { 0 };
    vec_push(a, &sets, "kind=encoder");
    if (!any_of(o->model.sets, o->model.nsets, "layers.ffn")
        && !any_of(o->vary, o->nvary, "layers.ffn"))
        vec_push(a, &sets, "layers.ffn=none");
    for (int i = 0; i < o->model.nsets; i++)
        vec_push(a, &sets, o->model.sets[i]);
    o->model.sets = sets.at;
    o->model.nsets = sets.n;
}

int compare_report(const Options *o, FILE *out)
{
    Arena *a = arena_new();
    Options sweep = *o;
    const bool has_lengths = any_of(sweep.vary.at, sweep.vary.n, "p");
    if (sweep.vary.n == has_lengths)
        vec_push(a, &sweep.vary, kinds);
    if (!has_lengths)
        vec_push(a, &sweep.vary, lengths);
    sweep.sweep.layers = true;
    if (!sweep.sweep.columns)
        sweep.sweep.columns = columns;
    sweep.bench.steps = 0;
    sweep.bench.beam = 1;
    const int code = sweep_command(a, CmdCompare, &sweep, set_layer, out);
    arena_free(a);
    return code;
}
