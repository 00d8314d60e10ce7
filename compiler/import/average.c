/* average.c: computes the mean of checkpoints. */
#include <math.h>
#include <string.h>

#include "import/merge.h"

typedef struct {
    const Safetensors *const *file;
    const Tensor **of; /* [files]: the tensor in each file */
    int n;
    Fault *why;
} Mean;

static bool not_finite(const Mean *m, int file)
{
    return fault(m->why, ExitInput,
                 "%s: tensor '%.80s': has a value that is not finite, of which "
                 "no mean is taken",
                 safetensors_path(m->file[file]), m->of[file]->name);
}

static bool fill_mean(void *with, int64_t first, int64_t n, float *out)
{
    const Mean *m = with;
    double sum[512];
    float x[512];
    const int64_t most = sizeof x / sizeof *x;

    for (int64_t at = 0, some; at < n; at += some) {
        some = n - at < most ? n - at : most;
        memset(sum, 0, sizeof sum);
        for (int f = 0; f < m->n; f++) {
            tensor_floats(m->of[f], first + at, some, x);
            for (int64_t i = 0; i < some; i++) {
                sum[i] += (double)x[i];
                if (!isfinite(x[i]))
                    return not_finite(m, f);
            }
        }
        for (int64_t i = 0; i < some; i++)
            out[at + i] = (float)(sum[i] / m->n);
    }
    return true;
}

static bool has_numbers(const Tensor *t)
{
    return t->type != StOther && t->type != StI32 && t->type != StI64;
}

static bool same_shape(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank
        && !memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim);
}

/* Finds the tensor with the name of `t` in each file. */
static bool find_all(const Safetensors *const *file, const Tensor *t, Mean *m,
                     Fault *why)
{
    for (int f = 0; f < m->n; f++) {
        const Tensor *other = safetensors_find(file[f], t->name);
        if (!other)
            return fault(why, ExitInput,
                         "%s: has no tensor '%.80s', which %s has: a mean is "
                         "of checkpoints of one model",
                         safetensors_path(file[f]), t->name,
                         safetensors_path(file[0]));
        if (!same_shape(t, other) || !has_numbers(other))
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': is not as in %s: a mean is of "
                         "checkpoints of one model",
                         safetensors_path(file[f]), t->name,
                         safetensors_path(file[0]));
        m->of[f] = other;
    }
    return true;
}

static bool same_names(const Safetensors *const *file, int n, Fault *why)
{
    for (int f = 1; f < n; f++)
        for (int i = 0; i < safetensors_count(file[f]); i++) {
            const Tensor *t = safetensors_at(file[f], i);
            if (has_numbers(t) && !safetensors_find(file[0], t->name))
                return fault(why, ExitInput,
                             "%s: has no tensor '%.80s', which %s has: a mean "
                             "is of checkpoints of one model",
                             safetensors_path(file[0]), t->name,
                             safetensors_path(file[f]));
        }
    return true;
}

bool merge_mean(Arena *a, const Safetensors *const *file, int n,
                const char *path, Fault *why)
{
    VEC(TensorOut) out = { 0 };

    if (!same_names(file, n, why))
        return false;
    for (int i = 0; i < safetensors_count(file[0]); i++) {
        const Tensor *t = safetensors_at(file[0], i);
        Mean *m = arena_alloc(a, sizeof *m);
        *m = (Mean){ file, arena_alloc(a, (size_t)n * sizeof *m->of), n, why };
        if (!has_numbers(t))
            continue;
        if (!find_all(file, t, m, why))
            return false;
        TensorOut to = {
            .name = t->name, .rank = t->rank, .fill = fill_mean, .with = m
        };
        memcpy(to.dim, t->dim, sizeof to.dim);
        vec_push(a, &out, to);
    }
    return safetensors_write(path, out.at, out.n, why);
}
