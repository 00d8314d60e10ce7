/* over_ranks.c: computes and prints the cost of a model over N ranks
 * (over_ranks.h). */
#include "sweep/over_ranks.h"

#include <math.h>
#include <string.h>

#include "base/put_json.h"
#include "sweep/sweep_parts.h"

enum { StepPast = 128, PrefillRows = 512, BatchSteps = 32, MostBatch = 4096 };

const char *const rank_how_name[RankHows] = { "none", "gather f32", "max",
                                              "sum int32", "sum f32" };

typedef struct {
    const Plan *p;
    const Machine *m;
    const double *c;
    const Link *link;
    Machine part; /* a rank's part of the machine, and of its rates */
    Rates rates;
    Entry entry; /* of steps and prompts; of a model without steps: encode */
    Cost *cost;  /* [nodes] */
    const RankColumns *need;       /* [nodes] */
    int32_t *rows, *past, *source; /* [MostBatch + 1] */
} Ranks;

static int64_t longest(const Plan *p, Entry entry)
{
    const Spec *s = p->g->spec;
    const int64_t n =
        s->side[entry == EntryDecode ? SideDecoder : SideEncoder].max_len;
    return n ? n : PrefillRows;
}

/* Counts a call of `sequences` sequences. */
static EntryCall count(Ranks *r, Entry entry, int64_t sequences, int64_t rows,
                       int64_t past)
{
    const int64_t source = longest(r->p, EntryEncode);
    for (int64_t i = 0; i <= sequences; i++) {
        r->rows[i] = (int32_t)(i * rows);
        r->past[i] = (int32_t)past;
        r->source[i] = (int32_t)(source < StepPast ? source : StepPast);
    }
    const EntryCall call = { .entry = entry,
                             .sequences = sequences,
                             .start = r->rows,
                             .past = entry == EntryDecode ? r->past : NULL,
                             .source = entry == EntryDecode ? r->source : NULL,
                             .group = 1 };
    memset(r->cost, 0, (size_t)r->p->g->nodes.n * sizeof *r->cost);
    count_call(r->p, &call, r->cost);
    return call;
}

/* Returns what the ranks do with the result of node i, which emits code. */
static RankHow how_of(const Ranks *r, int i)
{
    const Node *n = &r->p->g->nodes.at[i];
    if (!rank_terms(r->p, r->need, i))
        return ranks_gather(r->p, r->need, i) ? RankGather : RankOwn;
    if (!is_product(n))
        return RankMax;
    return dtype_is_integer(dtype_of(node_at(r->p, n->in[1])->type))
             ? RankSumInt
             : RankSumFloat;
}

/* Returns the integers that the ranks add for a number of a product: for int15
 * there are two. */
static double sums_of(const Plan *p, const Node *n)
{
    const Elem elem = node_at(p, n->in[0])->type.elem;
    return row_formats[elem_arithmetic(elem)].planes;
}

/* Returns the bytes that each rank receives for the result of node i, of which
 * r->cost has the floats. */
static double received(const Ranks *r, int i)
{
    const double part = (1 - 1 / (double)r->link->ranks) * r->cost[i].written;
    switch (how_of(r, i)) {
    case RankGather:   return part;
    case RankSumFloat:
    case RankSumInt:   return 2 * part * sums_of(r->p, node_at(r->p, i));
    default:           return 0;
    }
}

static bool runs_in(const Ranks *r, int i, Entry entry)
{
    return r->p->region_of[i] >= 0 && node_at(r->p, i)->entry == entry;
}

/* Adds the gathers, sums and maxima of the nodes of the entry that were
 * counted. `stack`: only nodes of the layers of this stack; StackNone: all
 * nodes. */
static void add_gathers(const Ranks *r, Entry entry, Stack stack, RankWork *w)
{
    const double rounds = ceil(log2((double)r->link->ranks));
    for (int i = 0; i < r->p->g->nodes.n; i++) {
        const Node *n = node_at(r->p, i);
        const RankHow how = how_of(r, i);
        if (how == RankOwn || !runs_in(r, i, entry)
            || (stack && (n->stack != stack || n->layer < 0)))
            continue;
        w->gathers++;
        w->messages += how < RankSumInt ? rounds : 2 * rounds;
        w->bytes += received(r, i);
        w->layers = n->layer + 1 > w->layers ? n->layer + 1 : w->layers;
    }
}

/* Adds the steps of the entry that the ranks divide, those of all layers that
 * are alike as one. */
static void add_steps(const Ranks *r, Entry entry, RankReport *to)
{
    for (int i = 0; i < r->p->g->nodes.n; i++) {
        const Node *n = node_at(r->p, i);
        RankStep s = { .how = how_of(r, i), .times = 1 };
        int k = 0;
        if (!runs_in(r, i, entry)
            || (s.how == RankOwn && !is_product(n) && !gives_heads(n)))
            continue;
        s.name = step_name(r->p, i);
        s.columns = s.how == RankMax ? 1 : n->type.dim[n->type.rank - 1].c;
        s.columns *= n->op == OpContext ? n->type.dim[0].c : 1;
        s.bytes = received(r, i);
        while (k < to->step.n
               && (strcmp(to->step.at[k].name, s.name)
                   || to->step.at[k].how != s.how
                   || to->step.at[k].columns != s.columns))
            k++;
        if (k < to->step.n)
            to->step.at[k].times++;
        else
            vec_push(r->p->arena_, &to->step, s);
    }
}

/* Sets a rank's part of the machine, which it shares with as many others as the
 * cores are enough for. Each core has an L2 of its own. */
static void find_part(Ranks *r)
{
    const int threads = r->link->threads;
    const int here = (int)attn_max(1, attn_min(r->link->ranks,
                                               r->m->cores / threads));
    Rates *of = &r->rates;
    *of = *machine_rates(r->m, here * threads);
    const double part = fmin(1, (double)threads / of->threads);
    of->threads = threads;
    of->fma *= part;
    of->dot *= part;
    of->pair *= part;
    for (int i = 0; i < Levels; i++)
        of->read[i] *= part;
    r->part = *r->m;
    r->part.cache[LevelL3] /= (size_t)here;
}

static double seconds_of(const Ranks *r, const Machine *m, const Rates *rates,
                         const Load *load)
{
    double x[Loads] = { 0 };
    load_add(m, rates, load, x);
    return coefficients_seconds(r->c, x);
}

/* Divides the work of products and attention by the ranks. */
static Load shared(Load load, double ranks)
{
    static const int counts[] = { LoadResults, LoadCurves, LoadScores };
    for (int i = 0; i < LoadNorm; i++) {
        Cost *of = &load.of[i];
        *of = (Cost){ .flops = of->flops / ranks,
                      .dots = of->dots / ranks,
                      .pairs = of->pairs / ranks,
                      .weights = of->weights / ranks,
                      .again = of->again / ranks,
                      .scan = of->scan / ranks,
                      .cached = of->cached / ranks,
                      .values = of->values / ranks,
                      .written = of->written / ranks };
    }
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        load.count[counts[i]] /= ranks;
    return load;
}

/* Adds what is not divided of products whose sums the ranks add. Each rank has
 * sums of all columns, and makes results of all of them in a pass that reads
 * the sums and residuals and writes the results. */
static void add_finish(const Ranks *r, Entry entry, Load *load)
{
    const double more = 1 - 1 / (double)r->link->ranks;
    Cost *to = &load->of[LoadMove];
    for (int i = 0; i < r->p->g->nodes.n; i++) {
        if (how_of(r, i) < RankSumInt || !runs_in(r, i, entry))
            continue;
        to->values += (2 + sums_of(r->p, node_at(r->p, i)))
                    * r->cost[i].written;
        to->written += r->cost[i].written;
        load->blocks[LoadMove]++;
        load->count[LoadResults] += more * r->cost[i].written / sizeof(float);
    }
}

static RankWork work_of_call(Ranks *r, const char *name, Entry entry,
                             int64_t sequences, int64_t rows, int64_t past)
{
    RankWork w = {
        .name = name, .rows = rows, .past = past, .sequences = sequences
    };
    const EntryCall call = count(r, entry, sequences, rows, past);
    const Load load = load_of(r->p, &call, r->cost);
    Load part = shared(load, (double)r->link->ranks);
    add_finish(r, entry, &part);
    add_gathers(r, entry, StackNone, &w);
    w.one = seconds_of(r, r->m, machine_rates(r->m, r->link->threads), &load);
    w.compute = seconds_of(r, &r->part, &r->rates, &part);
    w.link = w.messages * r->link->latency + w.bytes / r->link->rate;
    return w;
}

/* ---- break-even ---- */

static bool pays(Ranks *r, bool by_rows, int64_t n)
{
    const int64_t past = longest(r->p, r->entry) - 1;
    const Entry encode = has_entry(r->p, EntryEncode) ? EntryEncode
                                                      : EntryDecode;
    const RankWork w = by_rows
                         ? work_of_call(r, "", encode, 1, n, 0)
                         : work_of_call(r, "", r->entry, n, 1,
                                        past < StepPast ? past : StepPast);
    return w.compute + w.link < w.one;
}

/* Returns the last number, from `yes` on towards `no`, for which N ranks are
 * faster. */
static int64_t edge(Ranks *r, bool by_rows, int64_t yes, int64_t no)
{
    while (yes - no > 1 || no - yes > 1) {
        const int64_t middle = (yes + no) / 2;
        if (pays(r, by_rows, middle))
            yes = middle;
        else
            no = middle;
    }
    return yes;
}

/* Small numbers are slower by the latency of the link, large ones by its
 * rate. */
static RankRange range(Ranks *r, bool by_rows, int64_t most)
{
    RankRange to = { .from = most + 1, .to = 0, .most = most };
    int64_t before = 0, behind = most + 1;
    for (int64_t n = 1, last = 0; last < most && behind > most; n *= 2) {
        const int64_t here = attn_min(n, most);
        if (pays(r, by_rows, here)) {
            before = to.to ? before : last;
            to.from = to.to ? to.from : here;
            to.to = here;
        } else if (to.to) {
            behind = here;
        }
        last = here;
    }
    if (to.to == 0)
        return to;
    to.from = edge(r, by_rows, to.from, before);
    to.to = behind > most ? most : edge(r, by_rows, to.to, behind);
    return to;
}

/* ---- report ---- */

static void add_layers(Ranks *r, RankReport *to)
{
    for (Entry e = EntryEncode; e <= EntryDecode; e++) {
        if (!has_entry(r->p, e))
            continue;
        count(r, e, 1, 1, 0);
        for (Stack s = StackEncoder; s < Stacks; s++)
            add_gathers(r, e, s, &to->layer[s]);
        add_steps(r, e, to);
    }
    for (Stack s = StackEncoder; s < Stacks; s++) {
        RankWork *w = &to->layer[s];
        w->name = stack_name[s];
        w->gathers /= w->layers ? (double)w->layers : 1;
        w->messages /= w->layers ? (double)w->layers : 1;
        w->bytes /= w->layers ? (double)w->layers : 1;
    }
}

RankReport ranks_report(const Plan *p, const Machine *m, const double *c,
                        const Link *link)
{
    const size_t bytes = (MostBatch + 1) * sizeof(int32_t);
    const bool steps = has_entry(p, EntryDecode);
    const Entry first = has_entry(p, EntryEncode) ? EntryEncode : EntryDecode;
    Ranks r = { .p = p,
                .m = m,
                .c = c,
                .link = link,
                .entry = steps ? EntryDecode : EntryEncode,
                .cost = new_costs(p),
                .need = plan_rank_columns(p, link->ranks),
                .rows = arena_alloc(p->arena_, bytes),
                .past = arena_alloc(p->arena_, bytes),
                .source = arena_alloc(p->arena_, bytes) };
    RankReport to = { .link = link };
    find_part(&r);
    to.rates = r.rates;
    const int64_t rows = attn_min(longest(p, first), PrefillRows);
    const int64_t past = attn_min(longest(p, r.entry) - 1, StepPast);
    const int64_t short_rows = attn_min(longest(p, first), StepPast);
    add_layers(&r, &to);
    if (steps)
        to.work[to.works++] = work_of_call(&r, "step", r.entry, 1, 1, past);
    else
        to.work[to.works++] = work_of_call(&r, "sequence", first, 1, short_rows,
                                           0);
    to.work[to.works++] = work_of_call(&r, steps ? "prefill" : "sequence",
                                       first, 1, rows, 0);
    to.work[to.works++] = steps ? work_of_call(&r, "steps", r.entry, BatchSteps,
                                               1, past)
                                : work_of_call(&r, "batch", first, BatchSteps,
                                               short_rows, 0);
    to.rows = range(&r, true, longest(p, first));
    if (steps)
        to.batch = range(&r, false, MostBatch);
    return to;
}

/* ---- print ---- */

static void put_range(const RankReport *r, const char *what,
                      const RankRange *range, FILE *out)
{
    const long long from = range->from, to = range->to;
    fprintf(out, "%s: %lld ranks are ", what, (long long)r->link->ranks);
    if (from > to)
        fprintf(out, "slower than 1 for any number up to %lld\n",
                (long long)range->most);
    else if (to < range->most)
        fprintf(out, "faster than 1 only for %lld to %lld\n", from, to);
    else if (from > 1)
        fprintf(out, "slower than 1 below %lld\n", from);
    else
        fprintf(out, "faster than 1 for any number up to %lld\n", to);
}

static void put_steps(const RankReport *r, FILE *out)
{
    fprintf(out, "\n%-32s %6s  %-12s %8s %12s\n", "divided step", "times",
            "exchange", "columns", "bytes a row");
    for (int i = 0; i < r->step.n; i++) {
        const RankStep *s = &r->step.at[i];
        fprintf(out, "%-32s %6lld  %-12s %8lld %12.0f\n", s->name,
                (long long)s->times, rank_how_name[s->how],
                (long long)s->columns, s->bytes);
    }
}

static void put_text(const Plan *p, const RankReport *r, FILE *out)
{
    const long long ranks = r->link->ranks;
    const int threads = r->link->threads;
    fprintf(out,
            "%s over %lld ranks, on paper\n"
            "link: %g us a message, %g GB/s; each rank: %d thread%s, %.0f "
            "GFLOP/s, %.1f GB/s of memory\n\n"
            "layer of   layers  gathers  messages  bytes a row\n",
            p->g->spec->name, ranks, 1e6 * r->link->latency,
            1e-9 * r->link->rate, threads, threads == 1 ? "" : "s",
            1e-9 * r->rates.fma, 1e-9 * r->rates.read[LevelMemory]);
    for (Stack s = StackEncoder; s < Stacks; s++) {
        const RankWork *w = &r->layer[s];
        if (w->layers)
            fprintf(out, "%-8s %8lld %8g %9g %12.0f\n", w->name,
                    (long long)w->layers, w->gathers, w->messages, w->bytes);
    }
    put_steps(r, out);
    fprintf(out, "\n%-10s %9s %6s %8s %10s %10s %10s %10s %8s\n", "call",
            "sequences", "rows", "messages", "MB", "1 rank ms", "N ranks ms",
            "gathers ms", "speed-up");
    for (int i = 0; i < r->works; i++) {
        const RankWork *w = &r->work[i];
        const double all = w->compute + w->link;
        fprintf(out,
                "%-10s %9lld %6lld %8g %10.3f %10.3f %10.3f %10.3f %8.2f\n",
                w->name, (long long)w->sequences, (long long)w->rows,
                w->messages, 1e-6 * w->bytes, 1e3 * w->one, 1e3 * all,
                1e3 * w->link, w->one / all);
    }
    fputc('\n', out);
    put_range(r, "rows of a sequence", &r->rows, out);
    if (r->batch.most)
        put_range(r, "sequences of a step", &r->batch, out);
}

static void put_work(Buffer *b, const RankWork *w)
{
    json_next(b);
    buffer_printf(b, "{");
    json_put_text(b, "name", w->name);
    if (w->layers && !w->sequences)
        json_put_count(b, "layers", w->layers);
    if (w->sequences) {
        json_put_count(b, "sequences", w->sequences);
        json_put_count(b, "rows", w->rows);
        json_put_count(b, "past", w->past);
    }
    json_put_number(b, "gathers", w->gathers, 6);
    json_put_number(b, "messages", w->messages, 6);
    json_put_number(b, "bytes", w->bytes, 9);
    if (w->sequences) {
        json_put_number(b, "one_rank_s", w->one, 6);
        json_put_number(b, "compute_s", w->compute, 6);
        json_put_number(b, "gathers_s", w->link, 6);
    }
    buffer_printf(b, "}");
}

static void put_step(Buffer *b, const RankStep *s)
{
    json_next(b);
    buffer_printf(b, "{");
    json_put_text(b, "name", s->name);
    json_put_count(b, "times", s->times);
    json_put_text(b, "exchange", rank_how_name[s->how]);
    json_put_count(b, "columns", s->columns);
    json_put_number(b, "bytes", s->bytes, 9);
    buffer_printf(b, "}");
}

/* Puts [from, to], or null if N ranks are slower for any number. */
static void put_numbers(Buffer *b, const char *key, const RankRange *range)
{
    const int64_t ends[] = { range->from, range->to };
    if (range->from <= range->to)
        json_put_counts(b, key, ends, 2);
    else
        json_put_number(b, key, NAN, 1);
}

static void put_json(const Plan *p, const RankReport *r, FILE *out)
{
    Buffer b = { .arena = p->arena_ };
    buffer_printf(&b, "{");
    json_put_text(&b, "name", p->g->spec->name);
    json_put_count(&b, "ranks", r->link->ranks);
    json_put_number(&b, "latency_s", r->link->latency, 9);
    json_put_number(&b, "rate_bytes_per_s", r->link->rate, 9);
    json_put_count(&b, "threads", r->link->threads);
    json_put_number(&b, "flop_per_s", r->rates.fma, 6);
    json_put_number(&b, "read_bytes_per_s", r->rates.read[LevelMemory], 6);
    json_put_key(&b, "layers");
    buffer_printf(&b, "[");
    for (Stack s = StackEncoder; s < Stacks; s++)
        if (r->layer[s].layers)
            put_work(&b, &r->layer[s]);
    buffer_printf(&b, "]");
    json_put_key(&b, "steps");
    buffer_printf(&b, "[");
    for (int i = 0; i < r->step.n; i++)
        put_step(&b, &r->step.at[i]);
    buffer_printf(&b, "]");
    json_put_key(&b, "calls");
    buffer_printf(&b, "[");
    for (int i = 0; i < r->works; i++)
        put_work(&b, &r->work[i]);
    buffer_printf(&b, "]");
    put_numbers(&b, "faster_rows", &r->rows);
    if (r->batch.most)
        put_numbers(&b, "faster_sequences", &r->batch);
    buffer_printf(&b, "}\n");
    fputs(b.at, out);
}

void ranks_print(const Engine *e, const Link *link, bool json, FILE *out)
{
    Machine m = { 0 };
    Coefficients c;
    machine_find(&m);
    rates_find(e->arena, &m, &e->target, m.cores, false);
    const char *host = engine_host_name(e->arena, e);
    coefficients_read(e->arena, host ? host : "", &c);
    const RankReport r = ranks_report(e->plan, &m, c.c, link);
    (json ? put_json : put_text)(e->plan, &r, out);
}
