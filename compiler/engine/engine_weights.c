/* engine_weights.c: loads a plan's weights. They come from a file, which is
 * checked and packed, from the cache, or from a random generator. */
#include <string.h>

#include "base/progress.h"
#include "engine/engine.h"
#include "engine/cached_weights.h"

void print_report(Report *r)
{
    for (char *line = r->text; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        message_line(line);
        line = end ? end + 1 : NULL;
    }
    report_free(r);
}

static bool left_out(const void *spec, const char *tensor)
{
    return spec_leaves_out(spec, tensor);
}

static void close_file(void *file)
{
    safetensors_close(file);
}

static int open_file(Engine *e)
{
    Fault why;
    const char *path = e->options.weights;
    if (!path && e->spec->weights)
        path = spec_path(e->arena, e->spec->weights_pos, e->spec->weights);
    if (!path)
        return ExitDone;
    e->file = safetensors_open(path, &why);
    if (!e->file)
        return report_fault(&why);
    arena_owns(e->arena, e->file, close_file);
    return ExitDone;
}

static int check_file(Engine *e, Report *report)
{
    report->allow_nan = e->options.allow_nan;
    report->known = left_out;
    report->by = e->spec;
    progress_begin("checking the weights");
    const bool good = weights_check(&e->plan->pack, e->file, report);
    progress_end();
    if (good)
        return ExitDone;
    if (report->cut)
        fail(ExitResource, "%s: out of memory while it is checked",
             safetensors_path(e->file));
    print_report(report);
    spec_propose_names(e->arena, &e->plan->pack, e->file);
    return ExitInput;
}

int engine_file(Engine *e, Report *report)
{
    const int code = open_file(e);
    return code || !e->file ? code : check_file(e, report);
}

static int64_t elements(const PackItem *item)
{
    return item->rows * item->k;
}

/* Packs the weights, on all cores if there are more than Few elements. Packs
 * one group of items at a time, so that progress can be shown. */
static void pack_weights(Engine *e, bool *bad)
{
    enum { Few = 1 << 20, Share = 1 << 25 };
    const PackList *all = &e->plan->pack;
    WeightSource from = { e->file, e->options.seed, NULL, bad };
    struct attn_pool *pool = NULL;
    int64_t done = 0, sum = 0;
    for (int64_t i = 0; i < all->count; i++)
        sum += elements(&all->item[i]);
    if (sum > Few && attn_cores() > 1)
        pool = attn_pool_open(attn_cores());
    if (pool) /* no pool: this thread packs all items */
        from.parallel = attn_pool_parallel(pool);
    progress_begin(e->file ? "packing the weights" : "making weights");
    for (PackList some = *all; done < sum; some.item += some.count) {
        int64_t share = 0;
        for (some.count = 0; done + share < sum && share < Share; some.count++)
            share += elements(&some.item[some.count]);
        weights_pack(&some, &from, e->packed);
        done += share;
        progress_at((double)done / (double)sum);
    }
    progress_end();
    attn_pool_close(pool);
}

static bool any_weights(const bool *set, int n)
{
    for (int i = 0; set && i < n; i++)
        if (set[i])
            return true;
    return false;
}

/* Returns an exit code: an error if the file changed while it was packed. */
static int still_as_read(const Engine *e)
{
    Fault why;
    return safetensors_unchanged(e->file, &why) ? ExitDone : report_fault(&why);
}

/* Checks and packs the file. Packing checks the values too, so if all shapes
 * fit, packing comes first and the report after it. */
static int check_and_pack(Engine *e)
{
    Report shapes = { .shapes = true }, report = { 0 };
    bool *bad = NULL;
    if (weights_check(&e->plan->pack, e->file, &shapes)) {
        bad = arena_alloc(e->arena, (size_t)safetensors_count(e->file) + 1);
        if (!weights_cached(e)) {
            e->packed = weights_memory(e);
            pack_weights(e, bad);
        }
    }
    report_free(&shapes);
    report.bad = bad;
    const int code = check_file(e, &report);
    weights_allow_cache(e, !any_weights(bad, safetensors_count(e->file)));
    print_report(&report);
    if (!code && !e->packed) /* the first check had no memory for its report */
        fail(ExitResource, "out of memory");
    return code ? code : still_as_read(e);
}

/* Warns that weights are random, so that nobody mistakes the results for a
 * trained model's. */
static void say_random(const Engine *e)
{
    if (!e->file && e->plan->pack.bytes > 0)
        note_once("weights are random (seed %llu): %s names no file; give one "
                  "by --weights",
                  (unsigned long long)e->options.seed,
                  quote(e->spec->top.src->name));
}

int engine_weights(Engine *e)
{
    int code = open_file(e);
    if (code)
        return code;
    if (e->file)
        return check_and_pack(e);
    e->packed = weights_memory(e);
    say_random(e);
    pack_weights(e, NULL);
    return ExitDone;
}
