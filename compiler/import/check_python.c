/* check_python.c: attnc import --check=PYTHON. Runs the imported model on three
 * inputs. Then the Python program runs the embedded script
 * models/import/check.py, which computes the same results with transformers.
 * Ids and results are exchanged through files in a temporary directory. */
#define _POSIX_C_SOURCE 200809L
#define READS_LAYERS
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/strings.h"
#include "emit/text/embedded.h"
#include "import/import.h"
#include "oracle/trial.h"

enum { Inputs = 3, Hour = 3600 };

/* maximum difference, relative to the largest absolute result */
static const double gate = 1e-4;

/* [inputs]: maximum number of rows of source and target */
static const int64_t lengths[Inputs][2] = { { 1, 1 }, { 7, 5 }, { 40, 33 } };

typedef struct {
    const Sample *sample;
    int64_t rows, columns; /* shape of the result */
    const float *result;
} Input;

typedef struct {
    const PythonCheck *c;
    Arena *arena;
    const char *kind;
    int64_t bytes;        /* of weights */
    int64_t short_length; /* see short_length() */
    Input input[Inputs];
    TempFolder temp;
    Spawned messages;
} Check;

const char *python_find(Arena *a, const char *name)
{
    /* resolves no links, because the link in a venv identifies the venv */
    const char *path = strchr(name, '/') ? name : find_program(a, name);
    if (path && access(path, X_OK) == 0)
        return path;
    fail(ExitBackend,
         "--check=%s: there is no such program; name a Python that has "
         "transformers, as --check=python3",
         quote(name));
}

/* ---- inputs ---- */
static bool is_special(const Spec *s, int32_t id)
{
    for (int i = 0; i < s->token_ends.n; i++)
        if (id == s->token_ends.at[i])
            return true;
    return id == s->token_pad || id == s->token_end || id == s->token_start;
}

/* Returns the sample's ids with special tokens replaced by ordinary ones,
 * because transformers skips padding when it numbers positions. The last source
 * token remains the end token, because some transformers classes use its
 * row. */
static const int32_t *plain_ids(Arena *a, const Spec *s, const Sample *x,
                                int side)
{
    const int64_t n = x->start[side][1];
    const int64_t size = side == 0 ? s->source.size : s->target.size;
    int32_t *ids = arena_alloc(a, (size_t)n * sizeof *ids);
    for (int64_t i = 0; i < n; i++) {
        ids[i] = x->ids[side][i];
        for (int64_t k = 0; k < size && is_special(s, ids[i]); k++)
            ids[i] = (int32_t)((ids[i] + 1) % size);
    }
    if (side == 0 && s->token_end >= 0 && s->token_end < size)
        ids[n - 1] = (int32_t)s->token_end;
    return ids;
}

static const Sample *sample_of(Arena *a, const Spec *s, int i)
{
    Sample *x = sample_random(a, s, (uint64_t)i + 1, 1, &lengths[i][0],
                              &lengths[i][1]);
    for (int side = 0; side < 2; side++)
        if (x->ids[side])
            x->ids[side] = plain_ids(a, s, x, side);
    x->prefix = 0;
    return x;
}

/* Opens the imported model; max_len: 0: the spec's. Returns an exit code. */
static int open_model(Engine *e, const Check *k, int64_t max_len)
{
    const char *set = arena_printf(k->arena, "max_len=%lld",
                                   (long long)max_len);
    const EngineOptions o = { .spec = k->c->spec,
                              .sets = &set,
                              .nsets = max_len > 0,
                              .allow_nan = k->c->allow_nan,
                              .seed = 1,
                              .threads = -1,
                              .backend = "jit" };
    return engine_open(e, &o);
}

/* Computes the results of the inputs of which no side is longer than `most`;
 * 0: of all. */
static void compute_inputs(Check *k, Engine *e, int64_t most)
{
    for (int i = 0; i < Inputs; i++) {
        Trial t = { 0 };
        Input *in = &k->input[i];
        const int side = sample_side(e->spec);
        if (most && in->sample->start[side][1] > most)
            continue;
        in->sample = sample_of(k->arena, e->spec, i);
        in->rows = result_rows(e->spec, in->sample);
        in->columns = result_columns(e->spec);
        float *out = arena_alloc(k->arena, (size_t)(in->rows * in->columns)
                                               * sizeof *out);
        trial_run(&t, e, in->sample, 0, out);
        trial_free(&t);
        in->result = out;
    }
}

/* Returns the length up to which transformers uses short_factor of longrope, if
 * the model uses long_factor; otherwise 0. */
static int64_t short_length(const Spec *s)
{
    const int side = sample_side(s);
    const Spec *first = spec_layer(s, side ? SideDecoder : SideEncoder, 0);
    const int64_t most = first->scaling.original_max_len;
    return first->scaling.type == ScalingLongrope
                && s->side[side].max_len > most
             ? most
             : 0;
}

/* Computes the results of all inputs with the imported spec. A spec has one
 * table of longrope, and transformers chooses one by the length of the input:
 * short inputs are computed with a max_len that uses short_factor. */
static int compute_spec(Check *k)
{
    static const char *const kinds[] = {
        [KindEncoder] = "encoder",
        [KindDecoder] = "decoder",
        [KindEncoderDecoder] = "encoder-decoder",
    };
    Engine e;
    int code = open_model(&e, k, 0);
    if (!code) {
        compute_inputs(k, &e, 0);
        k->kind = kinds[e.spec->kind];
        k->bytes = 4 * e.plan->parameters;
        k->short_length = short_length(e.spec);
    }
    engine_close(&e);
    if (!code && k->short_length) {
        code = open_model(&e, k, k->short_length);
        if (!code)
            compute_inputs(k, &e, k->short_length);
        engine_close(&e);
    }
    return code;
}

/* ---- files ---- */
static const char *in_temp(const Check *k, const char *name)
{
    return arena_printf(k->arena, "%s/%s", k->temp.path, name);
}

static bool write_inputs(Check *k, Fault *why)
{
    static const char *const names[] = { "source", "target", "types" };
    TensorOut t[Inputs * 3];
    int n = 0;
    for (int i = 0; i < Inputs; i++) {
        const Sample *x = k->input[i].sample;
        const int32_t *const ids[] = { x->ids[0], x->ids[1], x->types };
        for (int j = 0; j < 3; j++)
            if (ids[j])
                t[n++] = (TensorOut){
                    .name = arena_printf(k->arena, "%d.%s", i, names[j]),
                    .rank = 1,
                    .dim = { x->start[j == 1 || (j == 2 && !ids[0])][1] },
                    .data = ids[j],
                    .is_int = true
                };
    }
    return safetensors_write(in_temp(k, "inputs.safetensors"), t, n, why);
}

static bool write_script(Check *k, Fault *why)
{
    size_t n;
    const char *text = embedded_text("import/check.py", &n);
    return write_file(in_temp(k, "check.py"), text, n, why);
}

/* ---- Python ---- */

static bool run_script(Check *k, Fault *why)
{
    const PythonCheck *c = k->c;
    const char *const argv[] = { c->python,
                                 in_temp(k, "check.py"),
                                 k->kind,
                                 c->folder,
                                 c->merged ? c->merged : "",
                                 in_temp(k, "inputs.safetensors"),
                                 in_temp(k, "answers.safetensors"),
                                 NULL };
    SpawnJob job = { .argv = argv };
    progress_begin("transformers");
    spawn_all(&job, 1,
              &(SpawnLimits){ .at_once = 1,
                              .seconds = Hour,
                              .out_fd = -1,
                              .as_user = true });
    progress_end();
    k->messages = job.messages;
    if (job.ok)
        return true;
    const char *line = last_line(k->arena, job.messages.tail);
    if (job.signal)
        return fault(why, job.why.code,
                     "%s; the weights in f32 take %s bytes there", job.why.text,
                     arena_grouped(k->arena, k->bytes));
    return fault(why, job.why.code, "%s%s%s", job.why.text, *line ? ": " : "",
                 line);
}

/* Finds the line with the versions and the name of the model's class. */
static bool read_versions(const Check *k, const char **to, Fault *why)
{
    static const char begin[] = "transformers ";
    *to = last_line(k->arena, k->messages.out);
    return !strncmp(*to, begin, sizeof begin - 1)
        || fault(why, ExitBackend,
                 "%s says '%.60s' where the version of transformers is "
                 "expected: is it a Python?",
                 k->c->python, *to);
}

/* ---- answers ---- */
static const char *tensor_shape_text(Arena *a, const Tensor *t)
{
    const char *text = "[";
    for (int i = 0; i < t->rank; i++)
        text = arena_printf(a, "%s%s%lld", text, i ? ", " : "",
                            (long long)t->dim[i]);
    return arena_printf(a, "%s]", text);
}

/* Returns true if the tensor has the shape [rows, columns]. A single column may
 * be transposed. */
static bool has_shape(const Tensor *t, const Input *in)
{
    if (t->rank != 2 || t->elements != in->rows * in->columns)
        return false;
    return t->dim[1] == in->columns || in->columns == 1;
}

static bool answer_of(const Check *k, const Safetensors *s, int i,
                      const Tensor **to, Fault *why)
{
    const Input *in = &k->input[i];
    const Tensor *t = safetensors_find(s, arena_printf(k->arena, "%d", i));
    *to = t;
    if (!t || t->type != StF32)
        return fault(why, ExitBackend, "%s wrote no answer in f32 to input %d",
                     k->c->python, i + 1);
    return has_shape(t, in)
        || fault(why, ExitNegative,
                 "input %d: transformers computes %s, the spec [%lld, %lld]: "
                 "it has another head than the checkpoint's class",
                 i + 1, tensor_shape_text(k->arena, t), (long long)in->rows,
                 (long long)in->columns);
}

static const char *ids_text(Arena *a, const Sample *x)
{
    const int n = x->ids[0] ? x->start[0][1] : x->start[1][1];
    if (x->ids[0] && x->ids[1])
        return arena_printf(a, "%d and %d ids", n, x->start[1][1]);
    return arena_printf(a, "%d id%s", n, n == 1 ? "" : "s");
}

/* Returns the largest difference; NaN if any number is NaN. */
static double difference(const Input *in, const float *by)
{
    double most = 0;
    for (int64_t i = 0; i < in->rows * in->columns; i++) {
        const double d = fabs((double)in->result[i] - (double)by[i]);
        most = d <= most || isnan(most) ? most : d;
    }
    return most;
}

static float *answer_floats(Arena *a, const Tensor *t, double *scale)
{
    float *x = arena_alloc(a, (size_t)t->elements * sizeof *x);
    tensor_floats(t, 0, t->elements, x);
    for (int64_t i = 0; i < t->elements; i++)
        *scale = fmax(*scale, fabs((double)x[i]));
    return x;
}

static bool compare_outputs(const Check *k, const Safetensors *s, Fault *why)
{
    const float *by[Inputs];
    double scale = 0, worst = 0;
    int at = 0;
    for (int i = 0; i < Inputs; i++) {
        const Tensor *t;
        if (!answer_of(k, s, i, &t, why))
            return false;
        by[i] = answer_floats(k->arena, t, &scale);
    }
    for (int i = 0; i < Inputs; i++) {
        const double d = difference(&k->input[i], by[i]);
        printf("  %-14s largest difference %.2g, %.2g of the scale\n",
               ids_text(k->arena, k->input[i].sample), d, d / scale);
        if (!(d <= worst) && !isnan(worst)) {
            worst = d;
            at = i;
        }
    }
    if (scale > 0 && isfinite(scale) && worst <= gate * scale) {
        printf("the same within 1e-4 of the scale, %.3g\n", scale);
        return true;
    }
    const char *then = "the rules of its family are wrong here, please report "
                       "it with config.json";
    if (k->c->as)
        then = arena_printf(k->arena, "the rules of %s do not fit it",
                            k->c->as);
    return fault(why, ExitNegative,
                 "input %d differs by %.2g of the scale, more than 1e-4, from "
                 "what transformers computes: %s",
                 at + 1, worst / scale, then);
}

static bool compare_answers(const Check *k, Fault *why)
{
    const char *versions, *path = in_temp(k, "answers.safetensors");
    if (!read_versions(k, &versions, why))
        return false;
    Fault what;
    Safetensors *s = safetensors_open(path, &what);
    if (!s)
        return fault(why, ExitBackend, "%s wrote no answers: %s", k->c->python,
                     what.text);
    printf("%s\n", versions);
    if (k->c->merged)
        printf("  (it reads the merged weights: their merging is not "
               "compared)\n");
    if (k->short_length)
        printf("  (inputs of at most %lld ids are computed with max_len=%lld, "
               "so that both use short_factor%s)\n",
               (long long)k->short_length, (long long)k->short_length,
               k->short_length >= lengths[Inputs - 1][0]
                   ? "; long_factor is not compared"
                   : "");
    const bool good = compare_outputs(k, s, why);
    safetensors_close(s);
    return good;
}

int python_check(const PythonCheck *c)
{
    Arena *a = arena_new();
    Check k = { .c = c, .arena = a };
    Fault why;
    int code = compute_spec(&k);
    if (!code && !temp_open(&k.temp, NULL)) {
        fault(&why, ExitIO, "%s: cannot make a folder: %s", temp_root(),
              strerror(errno));
        code = report_fault(&why);
    }
    if (!code
        && !(write_script(&k, &why) && write_inputs(&k, &why)
             && run_script(&k, &why) && compare_answers(&k, &why)))
        code = report_fault(&why);
    temp_close(&k.temp);
    arena_free(a);
    return code;
}
