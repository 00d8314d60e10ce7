/* value_names.c: names of values, steps and regions in emitted C, and the
 * prefix of exported names. */
#include "plan/plan_parts.h"

#include <ctype.h>
#include <string.h>

static const char *joined(Arena *a, const char *first, const char *second)
{
    return *first ? arena_printf(a, "%s_%s", first, second) : second;
}

/* Returns a node's name as a C identifier, without its stack and layer. */
const char *local_name(Arena *a, const Node *n)
{
    const char *place = n->outside_layers ? stack_name[n->stack]
                                          : sublayer_name[n->sublayer];
    char *id = arena_strdup(a, joined(a, place, n->word));
    for (char *c = id; *c; c++)
        if (!isalnum((unsigned char)*c))
            *c = '_';
    return id;
}

/* Returns the name of a value in emitted C, derived from its weight or its
 * place in the layer, e.g. self_attn_qkv, self_attn_keys, self_attn, norm1. */
static const char *label_of(const Plan *p, int node)
{
    const Node *n = node_at(p, node);
    Arena *a = p->arena_;
    const char *sublayer = sublayer_name[n->sublayer];
    switch (n->op) {
    case OpMatmul:
    case OpLinear:
        return n->layer < 0
                 ? local_name(a, n)
                 : p->block.at[plan_block(p, n->in[1], PackPanels)].field;
    case OpPackKv:
    case OpAppend:
        return joined(a, sublayer, n->part == PartKey ? "keys" : "values");
    case OpAttention:
        return n->sublayer == SublayerNone ? "attention" : sublayer;
    case OpRotate: return joined(a, sublayer, n->part == PartKey ? "k" : "q");
    case OpOutput: return "output";
    default:       return local_name(a, n);
    }
}

const char *value_label(const Plan *p, int node)
{
    return p->label[node];
}

void plan_labels(Plan *p)
{
    p->label = arena_alloc(p->arena_, (size_t)p->g->nodes.n * sizeof *p->label);
    for (int i = 0; i < p->g->nodes.n; i++)
        if (emits_code(node_at(p, i)) || node_at(p, i)->op == OpSlice)
            p->label[i] = label_of(p, i);
}

static const char *last_word(const char *label)
{
    const char *at = strrchr(label, '_');
    return at ? at + 1 : label;
}

static const char *in_stack(const Plan *p, const Node *n, const char *label)
{
    const char *stack = n->stack != StackNone   ? stack_name[n->stack]
                      : n->entry == EntryEncode ? "encode"
                                                : "decode";
    return arena_printf(p->arena_, "%s_%s", stack, label);
}

/* Adds the stack to a label, unless the label already names it. */
static const char *function_name(const Plan *p, const Node *n,
                                 const char *label)
{
    return n->outside_layers || n->stack == StackCross ? label
                                                       : in_stack(p, n, label);
}

const char *step_name(const Plan *p, int node)
{
    return function_name(p, node_at(p, node), value_label(p, node));
}

static const char *block_name(const Plan *p, const Region *r)
{
    const char *label = last_word(value_label(p, p->order.at[r->first]));
    for (int i = 1; i < r->count; i++)
        label = arena_printf(p->arena_, "%s_%s", label,
                             last_word(
                                 value_label(p, p->order.at[r->first + i])));
    return in_stack(p, node_at(p, p->order.at[r->first]), label);
}

const char *region_name(const Plan *p, const Region *r)
{
    const int node = p->order.at[r->first];
    const Node *first = node_at(p, node);
    const char *label = value_label(p, node);
    if (r->row_block)
        return block_name(p, r);
    if (first->op == OpPackKv || first->op == OpAppend)
        label = joined(p->arena_, sublayer_name[first->sublayer],
                       r->count == 2 ? "pages" : last_word(label));
    return function_name(p, first, label);
}

/* True if exported names such as NAME_open may clash with names of a C library,
 * the compiler or the runtime core. */
static bool taken(const char *name)
{
    static const char *const libraries[] = {
        "aio",   "argp", "dbm",   "fts",     "fts64", "gai",
        "iconv", "mq",   "pidfd", "pthread", "re",    "re_syntax",
        "res",   "sem",  "shm",   "svcerr",  NULL
    };
    for (int i = 0; libraries[i]; i++)
        if (!strcmp(name, libraries[i]))
            return true;
    return *name == '_' || !strcmp(name, "attn") || !strncmp(name, "attn_", 5);
}

/* Returns a model's name as a C prefix. Prepends model_ if the name is taken,
 * or is model_ followed by a taken name, so that two models never share a
 * prefix. */
const char *plan_prefix(Arena *a, const char *name)
{
    const bool digit = isdigit((unsigned char)name[0]);
    char *s = arena_printf(a, digit ? "m_%s" : "%s", name);
    for (char *c = s; *c; c++)
        *c = (char)(isalnum((unsigned char)*c) ? tolower((unsigned char)*c)
                                               : '_');
    const char *last = s;
    while (!strncmp(last, "model_", 6))
        last += 6;
    return taken(last) ? arena_printf(a, "model_%s", s) : s;
}
