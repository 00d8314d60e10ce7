/* cmd_verify.c: attnc verify. Compiles the model with each backend, fused and
 * unfused, and runs it on inputs of many lengths. Prints the maximum error of
 * each op and of the result. Returns ExitNegative if an error exceeds its
 * gate. */
#include <math.h>
#include <string.h>

#include "base/progress.h"
#include "base/table.h"
#include "base/put_json.h"
#include "base/strings.h"
#include "cli/options/options.h"
#include "oracle/verify.h"

/* the backends that are verified by default */
static const char *const backends[] = { "jit", "clang" };
enum { Backends = sizeof backends / sizeof *backends };

/* ---- samples ---- */

enum { Longest = -1, MostSequences = 7 };

/* [inputs]: number of rows of each sequence; 0 ends the list */
static const struct {
    int64_t source[MostSequences], target[MostSequences];
} lengths[] = {
    { { 1 }, { 1 } },
    { { 2 }, { 3 } },
    { { 7 }, { 2 } },
    { { 63 }, { 65 } },
    { { 64 }, { 63 } },
    { { 65 }, { 64 } },
    { { 13, 1, 67, 2, 64, 31 }, { 5, 17, 1, 66, 2, 64 } },
    { { Longest }, { Longest } },
};
enum { Lengths = sizeof lengths / sizeof *lengths };

/* Returns the maximum length to verify: `asked`, or if that is 0, a length that
 * the oracle can compute within seconds for a model of this size. The result
 * never exceeds the model's limit. */
static int64_t row_limit(const Engine *e, int64_t asked)
{
    const Spec *s = e->spec;
    int64_t source = s->side[SideEncoder].max_len;
    int64_t target = s->side[SideDecoder].max_len;
    int64_t most = source > target ? source : target;
    int64_t cheap = 4000000000 / (e->plan->parameters + 1);
    int64_t limit = asked > 0 ? asked : cheap < 2 ? 2 : cheap;
    return most > 0 && limit > most ? most : limit;
}

static int64_t bounded(int64_t rows, int64_t limit)
{
    return rows == Longest || rows > limit ? limit : rows;
}

static const Sample *make_sample(Arena *a, const Engine *e, int k,
                                 int64_t limit)
{
    int64_t source[MostSequences], target[MostSequences], n = 0;
    for (; n < MostSequences && lengths[k].source[n]; n++) {
        source[n] = bounded(lengths[k].source[n], limit);
        target[n] = bounded(lengths[k].target[n], limit);
        if (e->spec->fix.target > 0) /* with `fix.target`, all values are from
                                      * one call */
            target[n] = e->spec->fix.target;
    }
    return sample_random(a, e->spec, (uint64_t)k + 1, n, source, target);
}

/* Returns the number of rows on both sides in input k. Progress is estimated
 * from it, because the oracle's time increases with it. */
static double case_rows(int k, int64_t limit)
{
    double sum = 0;
    for (int i = 0; i < MostSequences && lengths[k].source[i]; i++)
        sum += (double)(bounded(lengths[k].source[i], limit)
                        + bounded(lengths[k].target[i], limit));
    return sum;
}

/* ---- printing ---- */

typedef enum { Verified, OnlyZeros, NotVerified } Verdict;

static const char *const verdict_text[] = { "", "  only zeros", "  FAILED" };

static Verdict worse_of(Verdict a, Verdict b)
{
    return a > b ? a : b;
}

static Verdict verdict_of(bool passed, bool failed)
{
    return passed ? Verified : failed ? NotVerified : OnlyZeros;
}

static const char *const verdict_word[] = { "held", "only zeros", "failed" };

/* Begins the JSON line of an op or result: {"backend": "jit", "fused": true,
 * "check": "op", ..., "verdict": "held"}. */
static void json_begin(Buffer *b, const Engine *e, bool fused,
                       const char *check)
{
    buffer_printf(b, "{");
    json_put_text(b, "backend", e->options.backend);
    json_put_flag(b, "fused", fused);
    json_put_text(b, "check", check);
}

static void json_end(Buffer *b, double want, double got, Verdict v)
{
    json_put_number(b, "oracle", want, 9);
    json_put_number(b, "compiled", got, 9);
    buffer_printf(b, "}");
    json_put_text(b, "verdict", verdict_word[v]);
    printf("%s}\n", b->at);
}

static Verdict json_op(const Engine *e, bool fused, const OpResult *r, Op op)
{
    const Verdict v = verdict_of(compare_passed(&r->c), r->c.failed > 0);
    Buffer b = { .arena = e->arena };
    json_begin(&b, e, fused, "op");
    json_put_text(&b, "op", op_info[op].name);
    json_put_count(&b, "values", r->c.count);
    json_put_number(&b, "error", r->c.ratio, 9);
    buffer_printf(&b, ", \"worst\": {");
    json_put_text(&b, "tensor", r->worst ? r->worst : "");
    json_put_count(&b, "index", r->c.worst);
    json_end(&b, r->c.want, r->c.got, v);
    return v;
}

static Verdict json_ops(const Engine *e, bool fused, const OpResults *r)
{
    Verdict v = Verified;
    for (int op = 0; op < OpCount; op++)
        if (r->op[op].c.count > 0)
            v = worse_of(v, json_op(e, fused, &r->op[op], (Op)op));
    return v;
}

static Verdict json_result(const Engine *e, bool fused,
                           const ModelComparison *c, bool rounded)
{
    const Verdict v = verdict_of(c->passed, c->failed);
    Buffer b = { .arena = e->arena };
    json_begin(&b, e, fused, rounded ? "beside f32 weights" : "end to end");
    json_put_number(&b, "max_error", c->max_error, 9);
    json_put_number(&b, "nmse", c->nmse, 9);
    json_put_number(&b, "kl", c->divergence, 9);
    buffer_printf(&b, ", \"worst\": {");
    json_put_count(&b, "index", c->worst);
    json_end(&b, c->want, c->got, v);
    return v;
}

/* Columns of the table of ops. The last one has no heading and marks
 * failures. */
enum {
    OpName,
    OpValues,
    OpRatio,
    OpWorst,
    OpIndex,
    OpOracle,
    OpGot,
    OpVerdict,
    OpCells
};

static const char *const op_heads[OpCells] = {
    "op", "values", "err/gate", "worst at", "index", "oracle", "compiled", "",
};

static void put_op_row(Arena *a, const char *const cell[OpCells],
                       const TableFit *fit)
{
    static const int gap[OpCells] = { 2, 1, 1, 2, 1, 1, 1, 2 };
    const bool cuts = table_room(stdout) > 0;
    for (int c = 0; c < OpVerdict; c++) {
        const int width = fit[c].width - gap[c];
        if (fit[c].shown)
            printf(c == OpName || c == OpWorst ? "%*s%-*s" : "%*s%*s", gap[c],
                   "", width,
                   cuts && c == OpWorst ? cut_middle(a, cell[c], width)
                                        : cell[c]);
    }
    printf("%s", cell[OpVerdict]);
}

/* Fits the columns to the terminal: shortens names, then drops columns. `name`
 * and `verdict` are the widths of their longest entries. */
static void fit_ops(TableFit fit[OpCells], int name, int verdict)
{
    enum { Least = 16 + 2 };
    static const TableFit all[OpCells] = {
        { 12, 0, true }, { 11, 3, true }, { 10, 0, true }, { 32, 0, true },
        { 9, 4, true },  { 15, 1, true }, { 15, 1, true },
    };
    const int room = table_room(stdout);
    memcpy(fit, all, sizeof all);
    fit[OpVerdict] = (TableFit){ verdict, 0, true };
    if (room > 0)
        fit[OpWorst].width = Least;
    const int left = table_fit(fit, OpCells, room);
    const int more = name > Least - 2 ? name + 2 - Least : 0;
    if (left > 0)
        fit[OpWorst].width += left < more ? left : more;
}

static Verdict op_verdict(const OpResult *r)
{
    return verdict_of(compare_passed(&r->c), r->c.failed > 0);
}

static void print_op(Arena *a, const OpResult *r, Op op, const TableFit *fit)
{
    const char *const cell[OpCells] = {
        op_info[op].name,
        arena_printf(a, "%lld", (long long)r->c.count),
        arena_printf(a, "%.2g", r->c.ratio),
        r->worst,
        arena_printf(a, "%lld", (long long)r->c.worst),
        arena_printf(a, "%.7g", r->c.want),
        arena_printf(a, "%.7g", r->c.got),
        verdict_text[op_verdict(r)],
    };
    put_op_row(a, cell, fit);
    putchar('\n');
}

static Verdict print_ops(Arena *a, const OpResults *r)
{
    Verdict v = Verified;
    TableFit fit[OpCells];
    int name = 0, verdict = 0;
    for (int op = 0; op < OpCount; op++) {
        if (r->op[op].c.count == 0)
            continue;
        const Verdict one = op_verdict(&r->op[op]);
        name = longer(name, r->op[op].worst);
        verdict = longer(verdict, verdict_text[one]);
        v = worse_of(v, one);
    }
    fit_ops(fit, name, verdict);
    fputs(paint(stdout, PaintHead), stdout);
    put_op_row(a, op_heads, fit);
    printf("%s\n", paint(stdout, PaintEnd));
    for (int op = 0; op < OpCount; op++)
        if (r->op[op].c.count > 0)
            print_op(a, &r->op[op], (Op)op, fit);
    return v;
}

/* Returns a gate as text, e.g. "1e-4" or "0.5". */
static const char *gate_text(Arena *a, double x)
{
    const double power = log10(x);
    return power < -1.5 && power == rint(power)
             ? arena_printf(a, "1e%.0f", power)
             : arena_printf(a, "%g", x);
}

static Verdict print_result(Arena *a, const ModelComparison *c, bool rounded)
{
    const Verdict v = verdict_of(c->passed, c->failed);
    const bool fits = table_room(stdout) > 0;
    const char *text = arena_printf(
        a,
        "%s: max error %.2g (gate %s) of the standard deviation, NMSE %.2g "
        "(%s),%sKL %.2g (%s); worst at %lld: oracle %.7g, compiled %.7g%s",
        rounded ? "beside f32 weights" : "end to end", c->max_error,
        gate_text(a, c->gate->max_error), c->nmse, gate_text(a, c->gate->nmse),
        fits ? " " : "\n      ", c->divergence,
        gate_text(a, c->gate->divergence), (long long)c->worst, c->want, c->got,
        verdict_text[v]);
    fputs("  ", stdout);
    if (fits)
        put_wrapped(stdout, 2, 6, text);
    else
        puts(text);
    return v;
}

/* ---- the rest ---- */

/* what is compared in a run on all inputs */
typedef enum {
    CheckResult,
    CheckRounding, /* the result with that of f32 weights */
    CheckOps       /* every value; the run stores them with keep_all */
} Compared;

static bool is_fused(const Engine *e, const Options *options)
{
    return e->options.passes.skip == options->model.skip.at;
}

static Verdict check(const Engine *e, const Options *options, Compared what,
                     const Engine *keeps)
{
    Weights w;
    Trial t = { 0 }, kept = { 0 };
    OpResults ops = { 0 };
    ModelResults results = { 0 };
    const int cases = options->cases > 0 && options->cases < Lengths
                        ? (int)options->cases
                        : Lengths;
    double rows = 0, done = 0;
    for (int k = 0; k < cases; k++)
        rows += case_rows(k, row_limit(e, options->rows));
    progress_begin("");
    if (what == CheckRounding)
        weights_open_f32(&w, e, e->unfused);
    else
        weights_open(&w, e, what == CheckOps ? e->graph : verify_graph(e));
    for (int k = 0; k < cases; k++) {
        const Sample *x = make_sample(e->arena, e, k,
                                      row_limit(e, options->rows));
        const int64_t size = result_rows(e->spec, x) * result_columns(e->spec);
        float *out = arena_alloc(e->arena, (size_t)size * sizeof *out);
        if (keeps)
            trial_run(&kept, keeps, x, 0, out);
        trial_run(&t, e, x, 0, out);
        const double part = case_rows(k, row_limit(e, options->rows))
                          / (double)x->sequences;
        for (int64_t i = 0; i < x->sequences; i++, done += part) {
            progress_at(done / rows);
            if (what == CheckOps)
                verify_ops(&ops, &w, &t, i, out);
            else
                verify_result(&results, &w, x, i, out, keeps ? &kept : NULL);
        }
    }
    progress_end();
    const ModelComparison worst = verify_end(&results, &w);
    trial_free(&t);
    trial_free(&kept);
    weights_close(&w);
    terminal_clear();
    const bool fused = is_fused(e, options);
    if (options->json)
        return what == CheckOps
                 ? json_ops(e, fused, &ops)
                 : json_result(e, fused, &worst, what == CheckRounding);
    return what == CheckOps
             ? print_ops(e->arena, &ops)
             : print_result(e->arena, &worst, what == CheckRounding);
}

/* True if any weights are not stored as f32. */
static bool rounds(const Graph *g)
{
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op == OpWeight
            && g->nodes.at[i].type.elem != ElemF32)
            return true;
    return false;
}

/* Checks one way to compile the model: as it is used, with memory reused, or
 * with all values stored. */
static int run_variant(const EngineOptions *o, const Options *options,
                       Verdict *worst)
{
    Engine e, keeps = { 0 };
    EngineOptions all = *o;
    int code = engine_open(&e, o);
    const bool chooses = !code && !o->keep_all && verify_chooses(e.graph);
    all.keep_all = true;
    if (chooses)
        code = engine_open(&keeps, &all);
    const Engine *kept = chooses ? &keeps : NULL;
    if (!code && !o->keep_all && !options->json) {
        terminal_clear();
        printf("%s%s\n", o->backend, is_fused(&e, options) ? "" : ", unfused");
    }
    if (!code) {
        const Compared what = o->keep_all ? CheckOps : CheckResult;
        *worst = worse_of(*worst, check(&e, options, what, kept));
        if (!o->keep_all && rounds(e.graph))
            *worst = worse_of(*worst, check(&e, options, CheckRounding, kept));
    }
    if (chooses)
        engine_close(&keeps);
    engine_close(&e);
    return code;
}

/* Rejects --rows above the model's limit. */
static int check_rows(const Spec *s, const void *command)
{
    const Options *o = command;
    const int64_t source = s->side[SideEncoder].max_len;
    const int64_t target = s->side[SideDecoder].max_len;
    const int64_t most = source > target ? source : target;

    if (most > 0 && o->rows > most)
        fail(ExitUsage,
             "verify: --rows %lld: the model takes %lld rows at "
             "most",
             (long long)o->rows, (long long)most);
    return ExitDone;
}

/* Checks the model compiled in four ways with backend number `turn` of
 * `turns`. */
static int run_backend(const Options *options, const char *backend, int turn,
                       int turns, Verdict *worst)
{
    EngineOptions base = engine_options(CmdVerify, &options->model,
                                        &options->code);
    base.fits = check_rows;
    base.command = options;
    if (!options->code.backend) /* the default backends need no options */
        base.offers &= ~OfferBackend;
    for (int unfused = 0; unfused < 2; unfused++) {
        const Variant v = { backend, backend, unfused };
        EngineOptions o = variant_options(&base, &v);
        char name[64];
        snprintf(name, sizeof name, "%.40s%s", backend,
                 unfused ? ", unfused" : "");
        for (int keep = 0; keep < 2; keep++) {
            const double ways = 4.0 * turns;
            const int way = 4 * turn + 2 * unfused + keep;
            progress_step(name, way / ways, (way + 1) / ways);
            o.keep_all = keep;
            const int code = run_variant(&o, options, worst);
            if (code)
                return code;
        }
    }
    return ExitDone;
}

int cmd_verify(const Options *options)
{
    static const char *const ends[] = {
        "verified",
        "NOT verified: where both say only zeros, nothing is proved",
        "NOT verified: a gate was not held",
    };
    const int n = options->code.backend ? 1 : Backends;
    Verdict worst = Verified;
    int code = ExitDone;
    progress_begin("verify");
    for (int i = 0; i < n && !code; i++)
        code = run_backend(options,
                           options->code.backend ? options->code.backend
                                                 : backends[i],
                           i, n, &worst);
    progress_end();
    if (code)
        return code;
    if (options->json)
        printf("{\"verdict\": \"%s\"}\n", verdict_word[worst]);
    else
        puts(options->agrees && worst == Verified ? options->agrees
                                                  : ends[worst]);
    return worst == Verified ? ExitDone : ExitNegative;
}
