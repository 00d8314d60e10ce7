/* untie.c: reads a decoder's input and output as two tables if the model ties
 * them and an adapter replaces one of them, or both by different ones. In peft
 * a replaced module (modules_to_save) is a tensor of its own. An adapter that
 * updates a tied table is rejected later (lora.c). */
#include <string.h>

#include "import/lora.h"
#include "import/state.h"

typedef struct {
    int table;          /* the tied tensor of the model */
    const char *output; /* name of the output's tensor */
    /* tensors of the adapter that replace the input's and the output's */
    const Tensor *in, *out;
    bool updated; /* the adapter has an update of one of them */
} Tables;

static Binding *binding_named(Import *m, const char *name)
{
    const int at = index_find(&m->names, name);
    return at < 0 ? NULL : &m->binding.at[at];
}

/* Finds the names of both tables by the rules. Returns false if these do not
 * name the output of a decoder. */
static bool find_tables(Import *m, Tables *t)
{
    const Yaml output = { .kind = YamlScalar, .text = "output" };
    const Binding *tie = binding_named(m, "tie_word_embeddings");
    if (!tie || tie->value.kind != ValueBool || !tie->value.truth
        || strcmp(m->task, "logits") != 0 || !binding_named(m, "output"))
        return false;
    const Datum name = import_value(m, &output, 0);
    const Yaml *names = resolve_names(m);
    const Yaml *row = names ? yaml_get(names, "target") : NULL;
    if (name.kind != ValueText || !row || row->kind != YamlScalar)
        return false;
    const char *table = arena_printf(m->a, "%s.weight", row->text);
    const Tensor *x = safetensors_find(m->weights, table);
    if (!x)
        return false;
    t->table = (int)(x - safetensors_at(m->weights, 0));
    t->output = arena_printf(m->a, "%s.weight", name.text);
    return true;
}

/* Finds what the adapter does to the tables. */
static void find_changes(Import *m, const Safetensors *adapter, Tables *t)
{
    for (int i = 0; i < safetensors_count(adapter); i++) {
        const Tensor *x = safetensors_at(adapter, i);
        const char *name = adapter_name(m->a, x->name);
        const char *update = strstr(name, ".lora_");
        if (update)
            name = arena_printf(m->a, "%.*s.weight", (int)(update - name),
                                name);
        const bool out = !strcmp(name, t->output);
        if (!out && adapter_finds(m->weights, name) != t->table)
            continue;
        t->updated = t->updated || update;
        if (!update)
            *(out ? &t->out : &t->in) = x;
    }
}

/* Lets the rules see two tables. */
static bool give_two(Import *m, const Tables *t)
{
    binding_named(m, "tie_word_embeddings")->value.truth = false;
    for (int i = 0; i < m->binding.n; i++)
        if (m->binding.at[i].expr)
            m->binding.at[i].state = BindingNew;
    if (safetensors_find(m->weights, t->output))
        return true;
    m->tied = m->weights;
    m->weights = safetensors_doubled(m->tied, t->table, t->output);
    if (!m->weights)
        fail(ExitResource, "%s: out of memory", quote(m->path));
    m->scope.tensors = m->weights;
    return true;
}

bool untie_weights(Import *m)
{
    Tables t = { .table = -1 };
    Fault why;
    if (!m->o->lora || m->gguf.kind == ValueMap || !find_tables(m, &t))
        return m->scope.failures == 0;
    Safetensors *adapter = safetensors_open(
        arena_printf(m->a, "%s/adapter_model.safetensors", m->o->lora), &why);
    if (!adapter) /* merge_lora() reports it */
        return true;
    const Tensor *table = safetensors_at(m->weights, t.table);
    const Tensor *stored = safetensors_find(m->weights, t.output);
    find_changes(m, adapter, &t);
    const bool differ = !same_values(t.in ? t.in : table,
                                     t.out ? t.out : table);
    safetensors_close(adapter);
    if (!differ || t.updated || (stored && !same_values(stored, table)))
        return true;
    return give_two(m, &t);
}
