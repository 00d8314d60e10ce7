/* merged.c: computes weights from several files, once the spec has been
 * checked. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "import/merge.h"
#include "import/state.h"

static bool mean_of(Import *m)
{
    const int n = m->o->n_others;
    const Safetensors **file = arena_alloc(m->a,
                                           ((size_t)n + 1) * sizeof *file);
    Fault why;
    file[0] = m->weights;
    for (int i = 0; i < n; i++)
        file[i + 1] = m->other[i].weights;
    if (!merge_mean(m->a, file, n + 1, m->made, &why))
        m->code = report_fault(&why);
    return !m->code;
}

/* ---- joined ---- */

/* Adds the tensors of another file to the weights. Their prefix is the name of
 * its folder, or its own in the folder of the model: "2_Dense." for
 * "2_Dense/model.safetensors", "sparse_linear." for
 * "sparse_linear.safetensors". */
static bool join_file(Import *m, const char *name)
{
    Fault why;
    const char *end = strrchr(name, '/');
    end = end ? end : strrchr(name, '.');
    const int n = end ? (int)(end - name) : 0;
    Safetensors *more = safetensors_open(arena_printf(m->a, "%s/%s",
                                                      m->o->folder, name),
                                         &why);
    if (!more) {
        m->code = report_fault(&why);
        return false;
    }
    const int count = safetensors_count(more);
    const char **names = arena_alloc(m->a, ((size_t)count + 1) * sizeof *names);
    for (int i = 0; i < count; i++)
        names[i] = arena_printf(m->a, "%.*s.%s", n, name,
                                safetensors_at(more, i)->name);
    m->joined[m->n_joined++] = more;
    m->joined[m->n_joined++] = m->weights;
    m->weights = safetensors_joined(m->weights, more, names);
    if (!m->weights)
        fail(ExitResource, "%s: out of memory", quote(m->path));
    return true;
}

/* Returns the file that holds a tensor; NULL for a tensor without bytes. */
static const File *file_of(const Import *m, const Tensor *t)
{
    const File *f = NULL;
    for (int k = 0; k < m->n_joined; k++)
        for (int i = 0; (f = safetensors_file_at(m->joined[k], i)); i++)
            if (t->at >= f->at && t->at + t->bytes <= f->at + f->size
                && t->bytes > 0)
                return f;
    return NULL;
}

/* Returns the text of an index of all files that the weights are in
 * (shards.c). */
static const char *index_text(const Import *m)
{
    bool whole = true;
    json_t *map = json_object();
    const size_t folder = strlen(m->o->folder) + 1;
    for (int i = 0; i < safetensors_count(m->weights); i++) {
        const Tensor *t = safetensors_at(m->weights, i);
        const File *f = file_of(m, t);
        if (f)
            whole &= !json_object_set_new(map, t->name,
                                          json_string(f->path + folder));
    }
    json_t *index = json_pack("{s:o}", "weight_map", map);
    char *text = whole ? json_dumps(index, JSON_COMPACT) : NULL;
    if (!text)
        fail(ExitResource, "%s: out of memory", quote(m->path));
    const char *copy = arena_strdup(m->a, text);
    free(text);
    json_decref(index);
    return copy;
}

bool join_weights(Import *m, Imported *to)
{
    const Yaml *rule = yaml_get(m->rules, "beside");
    m->made = m->o->merged;
    if (!rule)
        return true;
    const Datum files = import_value(m, rule, 1);
    if (files.kind != ValueList || files.many.n < 1)
        return m->scope.failures == 0;
    if (!m->o->joined && !m->o->index) {
        error_at((Pos){ 0 },
                 "%s has weights in %s too, which must be joined in one file: "
                 "attnc import %s -o model.yaml writes it beside the spec",
                 quote(m->o->folder), quote(files.many.at[0].text),
                 quote(m->o->folder));
        return false;
    }
    m->made = m->o->joined;
    for (int i = 0; i < files.many.n && m->n_joined < 4; i++)
        if (!join_file(m, files.many.at[i].text))
            return false;
    m->scope.tensors = m->weights;
    if (m->o->index) {
        to->index = index_text(m);
        m->path = m->o->index;
    }
    return true;
}

bool merge_weights(Import *m)
{
    Fault why;
    if (!m->made)
        return true;
    if (!can_merge(m))
        return false;
    if (!m->o->lora)
        return mean_of(m); /* the mean of a single file is a copy in f32 */
    LoraMerge lora = { .arena = m->a,
                       .base = m->weights,
                       .use = m->use,
                       .adapter = m->o->lora,
                       .path = m->made };
    if (!merge_lora(&lora, &why)) {
        m->code = report_fault(&why);
        if (lora.note)
            note_at((Pos){ 0 }, "%s", lora.note);
    }
    return !m->code;
}
