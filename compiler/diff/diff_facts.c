/* diff_facts.c: collects the facts of a variant from its engine. */
#include <string.h>

#include "diff/diff.h"

static Fact *add(Facts *to, FactKind kind, const char *key, const char *text)
{
    const Fact f = { .kind = kind,
                     .layer = -1,
                     .key = arena_strdup(to->arena, key),
                     .text = arena_strdup(to->arena, text),
                     .type = "" };
    vec_push(to->arena, &to->at, f);
    return &to->at.at[to->at.n - 1];
}

/* ---- spec ---- */
static void add_fields(Facts *to, const Spec *s)
{
    const char *key;
    for (int i = 0; (key = spec_field_key(i)) != NULL; i++) {
        const char *value = spec_field_value(to->arena, s, i);
        if (value)
            add(to, FactField, key, value)->derived = !spec_has(s, key);
    }
    for (int i = 0; i < s->names.n; i++)
        add(to, FactField,
            arena_printf(to->arena, "names.%s", s->names.at[i].ours),
            spec_name_value(to->arena, &s->names.at[i]));
}

/* ---- costs ---- */
static void add_cost(Facts *to, const char *key, FactUnit unit, int64_t n)
{
    Fact *f = add(to, FactCost, key, "");
    f->unit = unit;
    f->number = (double)n;
}

static void add_costs(Facts *to, const Plan *p)
{
    const PlanCosts c = plan_costs(p);
    const EntryCosts *encode = &c.entry[EntryEncode];
    const EntryCosts *decode = &c.entry[EntryDecode];
    add_cost(to, "parameters", UnitCount, c.parameters);
    add_cost(to, "weights", UnitBytes, c.weights);
    if (decode->there) {
        add_cost(to, "hypotheses", UnitCount, c.beam);
        add_cost(to, "self cache", UnitBytes, c.cache[CacheSelf]);
    }
    if (c.cache[CacheCross])
        add_cost(to, "cross cache", UnitBytes, c.cache[CacheCross]);
    add_cost(to, "arena", UnitBytes, c.arena);
    if (encode->there) {
        add_cost(to, "encode, rows", UnitCount, encode->rows);
        add_cost(to, "encode", UnitFlops, encode->flops);
    }
    if (decode->there) {
        add_cost(to, "step, keys", UnitCount, decode->keys);
        add_cost(to, "step", UnitFlops, decode->flops);
    }
    add_cost(to, "operations", UnitCount, p->order.n);
}

void facts_time(Facts *to, const char *key, double median, double low,
                double high)
{
    Fact *f = add(to, FactTime, key, "");
    f->unit = UnitSeconds;
    f->number = median;
    f->low = low;
    f->high = high;
}

/* ---- graph ---- */

/* Returns `text` in which `with` replaces `what` where a name begins with
 * it. */
static const char *replaced(Arena *a, const char *text, const char *what,
                            const char *with)
{
    Buffer b = { .arena = a };
    const size_t n = strlen(what);
    const char *from = text;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += n) {
        if (at > text && at[-1] != ' ')
            continue;
        buffer_add(&b, from, (size_t)(at - from));
        buffer_printf(&b, "%s", with);
        from = at + n;
    }
    if (from == text)
        return text;
    buffer_printf(&b, "%s", from);
    return b.at;
}

static const char *layer_name(Arena *a, Stack stack, int layer)
{
    const Stack in = stack == StackCross ? StackDecoder : stack;
    return arena_printf(a, "%s.%d.", stack_name[in], layer);
}

/* Returns a text about one layer without the layer's number, so that equal
 * layers have equal texts. `own` replaces the prefix of the layer's names. */
static const char *any_layer(Arena *a, Stack stack, int layer, const char *text,
                             const char *own)
{
    if (layer < 0)
        return text;
    text = replaced(a, text, layer_name(a, stack, layer), own);
    return layer == 0
             ? text
             : replaced(a, text, layer_name(a, stack, layer - 1),
                        arena_printf(a, "%s.{i-1}.",
                                     stack == StackEncoder ? "encoder"
                                                           : "decoder"));
}

static const char *layer_key(Arena *a, Stack stack)
{
    return arena_printf(a, "%s.{i}.",
                        stack == StackEncoder ? "encoder" : "decoder");
}

static void add_node(Facts *to, const Graph *g, int node)
{
    Arena *a = to->arena;
    const Node *n = &g->nodes.at[node];
    const char *key = any_layer(a, n->stack, n->layer, n->name,
                                layer_key(a, n->stack));
    const char *does = any_layer(a, n->stack, n->layer,
                                 print_operation(a, g, node), ".");
    Fact *f = add(to, FactNode, key, does);
    f->layer = n->layer;
    f->type = print_type(a, n->type);
}

/* ---- passes ---- */
static void add_missed(Facts *to, const Pass *p, const Missed *m)
{
    Arena *a = to->arena;
    const char *own = layer_key(a, m->stack);
    Fact *f = add(to, FactMissed,
                  arena_printf(a, "%s: %s", p->name,
                               any_layer(a, m->stack, m->layer, m->text, own)),
                  "");
    f->layer = m->layer;
}

static void add_passes(Facts *to, const PassRecord *record)
{
    for (int i = 0; i < n_passes; i++)
        add(to, FactPass, passes[i].name, record[i].ran ? "" : "skipped")
            ->number = record[i].rewrites;
    for (int i = 0; i < n_passes; i++)
        for (int j = 0; j < record[i].missed.n; j++)
            add_missed(to, &passes[i], &record[i].missed.at[j]);
}

/* ---- plan ---- */

/* Adds the emitted functions, each with its number of calls. Layers with the
 * same shapes share functions. */
static void add_functions(Facts *to, const Plan *p)
{
    Index known = { 0 };
    for (int i = 0; i < p->region.n; i++) {
        const char *name = p->region.at[i].name;
        int at = index_find(&known, name);
        if (at < 0) {
            at = to->at.n;
            add(to, FactFunction, name, "");
            index_add(to->arena, &known, name, at);
        }
        to->at.at[at].number++;
    }
}

static void add_tasks(Facts *to, const Plan *p)
{
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        add(to, FactTask,
            arena_printf(to->arena, "%s %s %s%s%s", task_word[t->key.kind],
                         t->key.shape, t->key.epilogue,
                         *t->key.epilogue ? " " : "", dtype_word[t->key.dtype]),
            arena_printf(to->arena, "%s (%s)",
                         tiling_text(to->arena, &t->tiling),
                         from_word[t->from]));
    }
}

void facts_of(Facts *to, const Engine *e, const PassRecord *record)
{
    add_fields(to, e->spec);
    add_costs(to, e->plan);
    add_passes(to, record);
    for (int i = 0; i < e->graph->nodes.n; i++)
        add_node(to, e->graph, i);
    add_functions(to, e->plan);
    add_tasks(to, e->plan);
}
