/* merged.c: weights that are made of several files, once the spec is right. */
#include "import/merge.h"
#include "import/state.h"

static bool mean_of(Import *m)
{
    const int n = m->o->n_others;
    const Safetensors **file = arena_alloc(m->a,
                                           ((size_t)n + 1) * sizeof *file);
    const char *path;
    Fault why;
    int open = 1;
    file[0] = m->weights;
    while (open <= n
           && (file[open] = tensors_of(m, m->o->others[open - 1], &path)))
        open++;
    const bool all = open == n + 1;
    if (all && !merge_mean(m->a, file, open, m->o->merged, &why))
        m->code = report_fault(&why);
    while (--open > 0)
        safetensors_close((Safetensors *)file[open]);
    return all && !m->code;
}

bool merge_weights(Import *m)
{
    Fault why;
    if (!m->o->merged)
        return true;
    if (m->gguf.kind == ValueMap) {
        error_at((Pos){ 0 },
                 "%s: weights are merged in the folder of a checkpoint, not "
                 "in a file of llama.cpp",
                 quote(m->path));
        return false;
    }
    if (!m->o->lora)
        return mean_of(m);
    if (!merge_lora(m->a, m->weights, m->o->lora, m->o->merged, &why))
        m->code = report_fault(&why);
    return !m->code;
}
