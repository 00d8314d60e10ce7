/* names_propose.c: proposes rows of `names` if the weights file uses other
 * names than the spec expects. It matches tensors by words that other tools
 * use, and by shapes. It proposes a row only if exactly one tensor matches. */
#define _GNU_SOURCE
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "spec/fields/fields.h"

enum { LongName = 256 };

typedef struct {      /* a weight and its bias, in the model or the file, in all
                         layers */
    const char *name; /* with {i}, without .weight or .bias */
    int rank, layers; /* number of layers that have it; 0: outside the layers */
    int64_t dim[2];   /* shape of its weight; 0: it has none */
    const char *from; /* for the model's: matching name in the file; NULL:
                         none */
    bool missing;     /* for the model's: not in the file */
    bool turned;      /* for the model's: the match is stored as [in, out] */
    bool taken;       /* for the file's: already matched */
} Module;
typedef VEC(Module) Modules;

typedef struct {
    Arena *arena;
    const PackList *list;
    const Safetensors *file;
    Modules ours, theirs;
    bool both; /* the model has an encoder and a decoder */
    bool flat; /* the file has no layers: the model's layers share weights */
} Proposal;

/* The endings that each weight's name has in other tools, the most likely
 * first. A * matches any text. */
static const struct {
    const char *ours, *theirs;
} looks[] = {
    /* clang-format off */
    { "source", "word_embeddings embed_tokens wte tok_embeddings "
                "token_embedding* shared embed embedding" },
    { "target", "word_embeddings embed_tokens wte tok_embeddings "
                "token_embedding* embed_in shared embed embedding" },
    { "logits", "lm_head predictions.decoder embed_out output" },
    { "source_positions", "position_embeddings embed_positions wpe "
                          "position_embedding* pos_embed*" },
    { "target_positions", "position_embeddings embed_positions wpe "
                          "position_embedding* pos_embed*" },
    { "types", "token_type_embeddings" },
    { "?.embedding_norm", "embeddings.layernorm layernorm_embedding "
                          "embeddings.norm word_embeddings_layernorm" },
    { "?.relative", "relative_attention_bias" },
    { "?.self_attn.q", "query q_proj q_lin wq q" },
    { "?.self_attn.k", "key k_proj k_lin wk k" },
    { "?.self_attn.v", "value v_proj v_lin wv v" },
    { "?.self_attn.o", "attention.output.dense out_proj o_proj out_lin wo o "
                       "c_proj attention.dense proj" },
    { "?.self_attn.q_norm", "q_norm" },
    { "?.self_attn.k_norm", "k_norm" },
    { "?.self_attn.q_down", "q_a_proj" },
    { "?.self_attn.q_down_norm", "q_a_layernorm" },
    { "?.self_attn.kv_down_norm", "kv_a_layernorm" },
    { "?.cross_attn.q", "query q_proj q" },
    { "?.cross_attn.k", "key k_proj k" },
    { "?.cross_attn.v", "value v_proj v" },
    { "?.cross_attn.o", "out_proj o_proj o" },
    { "?.ffn.w3", "up_proj w3 wi_1" },
    { "?.ffn.w1", "intermediate.dense fc1 gate_proj lin1 c_fc w1 wi_0 wi "
                  "dense_h_to_4h linear1 fc_in up_proj ffn" },
    { "?.ffn.w2", "output.dense fc2 down_proj lin2 c_proj w2 wo "
                  "dense_4h_to_h linear2 fc_out ffn_output" },
    { "?.norm1", "attention.output.layernorm attention.layernorm "
                 "input_layernorm ln_1 "
                 "sa_layer_norm self_attn_layer_norm attention_norm "
                 "layer.0.layer_norm norm1 ln1" },
    { "?.norm3", "encoder_attn_layer_norm layer.1.layer_norm norm3" },
    { "?.norm2", "post_attention_layernorm ln_2 output_layer_norm "
                 "final_layer_norm ffn_norm output.layernorm "
                 "layer.2.layer_norm layer.1.layer_norm norm2 ln2 "
                 "full_layer_layer_norm" },
    { "?.norm", "ln_f final_layer_norm final_layernorm norm layer_norm" },
    { "?.embedding_projection", "embeddings_project project_in "
                                "embedding_hidden_mapping_in" },
    { "head.dense", "transform.dense generator_predictions.dense "
                    "predictions.dense lm_head.dense vocab_transform "
                    "classifier.dense pre_classifier pooler.dense "
                    "text_projection project_out" },
    { "head.norm", "transform.layernorm generator_predictions.layernorm "
                   "predictions.layernorm lm_head.layer_norm "
                   "vocab_layer_norm" },
    { "classifier", "classifier classifier.out_proj score" },
    /* clang-format on */
};

/* ---- modules ---- */
/* Returns the name with {i} in place of its first number. Sets *layer to that
 * number, or to -1 if there is none. */
static char *with_hole(Arena *a, const char *name, long *layer)
{
    *layer = -1;
    for (const char *at = name; *at;) {
        const size_t n = strcspn(at, ".");
        if (names_digits(at, n)) {
            *layer = strtol(at, NULL, 10);
            return arena_printf(a, "%.*s{i}%s", (int)(at - name), name, at + n);
        }
        at += n + (at[n] == '.');
    }
    return arena_strdup(a, name);
}

static Module *module_of(Arena *a, Modules *m, const char *name)
{
    for (int i = 0; i < m->n; i++)
        if (!strcmp(m->at[i].name, name))
            return &m->at[i];
    vec_push(a, m, ((Module){ .name = name }));
    return &m->at[m->n - 1];
}

/* Adds a tensor to its module. Returns NULL if the tensor is neither a weight
 * nor a bias. */
static Module *add_tensor(Proposal *p, Modules *to, const char *name, int rank,
                          const int64_t dim[2])
{
    const char *dot = strrchr(name, '.');
    const bool weight = dot && !strcmp(dot, ".weight");
    long layer;

    if (!weight && !(dot && !strcmp(dot, ".bias")))
        return NULL;
    char *plain = arena_strndup(p->arena, name, (size_t)(dot - name));
    Module *m = module_of(p->arena, to, with_hole(p->arena, plain, &layer));
    if (layer >= m->layers)
        m->layers = (int)layer + 1;
    if (weight && m->rank == 0) {
        m->rank = rank;
        m->dim[0] = dim[0];
        m->dim[1] = rank > 1 ? dim[1] : 0;
    }
    return m;
}

static void add_ours(Proposal *p)
{
    for (int64_t i = 0; i < p->list->count; i++) {
        const PackItem *it = &p->list->item[i];
        const bool vector = it->layout == PackVector;
        const int64_t dim[2] = { vector ? it->k : it->rows, it->k };
        if (!it->name || it->table || !it->from.name)
            continue;
        Module *m = add_tensor(p, &p->ours, it->name, vector ? 1 : 2, dim);
        if (m && !safetensors_find(p->file, it->from.name))
            m->missing = true;
        p->both = p->both || !strncmp(it->name, "decoder.0.cross", 15);
    }
}

static bool is_ours(const Proposal *p, const char *name)
{
    for (int64_t i = 0; i < p->list->count; i++)
        if (p->list->item[i].from.name
            && !strcmp(p->list->item[i].from.name, name))
            return true;
    return false;
}

static void add_theirs(Proposal *p)
{
    for (int i = 0; i < safetensors_count(p->file); i++) {
        const Tensor *t = safetensors_at(p->file, i);
        if (t->rank >= 1 && t->rank <= 2 && !is_ours(p, t->name))
            add_tensor(p, &p->theirs, t->name, t->rank, t->dim);
    }
    for (int i = 0; i < p->theirs.n; i++) { /* the only layer has number 0 */
        Module *m = &p->theirs.at[i];
        const char *hole = strstr(m->name, "{i}");
        if (!hole || m->layers != 1)
            continue;
        m->name = arena_printf(p->arena, "%.*s0%s", (int)(hole - m->name),
                               m->name, hole + 3);
        m->layers = 0;
    }
    p->flat = true;
    for (int i = 0; i < p->theirs.n; i++)
        p->flat &= p->theirs.at[i].layers == 0;
}

/* ---- fits ---- */
static bool fits_shape(const Module *ours, const Module *theirs, bool *turned)
{
    const bool same = ours->rank == theirs->rank
                   && ours->dim[0] == theirs->dim[0]
                   && (ours->rank == 1 || ours->dim[1] == theirs->dim[1]);
    const bool table = !strchr(ours->name, '.') && ours->rank == 2
                    && theirs->rank == 2 && ours->dim[1] == theirs->dim[1]
                    && ours->dim[0] < theirs->dim[0];

    *turned = !same && ours->rank == 2 && theirs->rank == 2
           && ours->dim[0] == theirs->dim[1] && ours->dim[1] == theirs->dim[0];
    return same || table || *turned;
}

static bool has(const char *name, const char *word)
{
    return strcasestr(name, word) != NULL;
}

/* True if both names have the same words for parts of a model (attention,
 * encoder, ...). */
static bool fits_part(const Proposal *p, const char *ours, const char *theirs)
{
    const bool cross = has(ours, "cross_attn");
    const bool theirs_cross = has(theirs, "encdec") || has(theirs, "cross")
                           || has(theirs, "encoder_attn");

    if (has(ours, "_attn") && (!has(theirs, "att") || cross != theirs_cross))
        return false;
    if (has(ours, "ffn") && has(theirs, "att"))
        return false;
    if (!p->both)
        return true;
    if (!strncmp(ours, "encoder", 7) || !strncmp(ours, "source", 6))
        return !has(theirs, "decoder");
    if (!strncmp(ours, "decoder", 7))
        return has(theirs, "decoder");
    if (!strncmp(ours, "target", 6))
        return !has(theirs, "encoder");
    return true;
}

static bool fits_layers(const Proposal *p, const Module *ours,
                        const Module *theirs)
{
    return ours->layers == theirs->layers
        || ((ours->layers == 1 || p->flat) && theirs->layers == 0);
}

/* True if the last segments of `name` match `word`. */
static bool ends_in(const char *name, const char *word)
{
    char pattern[80];

    snprintf(pattern, sizeof pattern, "*.%s", word);
    return fnmatch(word, name, FNM_CASEFOLD) == 0
        || fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

/* Returns the module of the file that fits and whose name ends with `word`
 * (NULL: any name), if exactly one unmatched module does; else NULL. */
static Module *only_one(Proposal *p, const Module *ours, const char *word,
                        bool *turned)
{
    Module *only = NULL;
    bool t;

    for (int i = 0; i < p->theirs.n; i++) {
        Module *m = &p->theirs.at[i];
        if (m->taken || !fits_layers(p, ours, m) || !fits_shape(ours, m, &t)
            || !fits_part(p, ours->name, m->name)
            || (word && !ends_in(m->name, word)))
            continue;
        if (only)
            return NULL;
        only = m;
        *turned = t;
    }
    return only;
}

static void take(Module *ours, Module *theirs, bool turned)
{
    ours->from = theirs->name;
    ours->turned = turned;
    theirs->taken = true;
}

static bool is_called(const char *pattern, const char *name)
{
    const char *rest = name;

    if (*pattern != '?')
        return !strcmp(pattern, name);
    rest += strcspn(rest, ".");
    if (!strncmp(rest, ".{i}", 4))
        rest += 4;
    return !strcmp(pattern + 1, rest);
}

static void find_by_words(Proposal *p, const char *ours, const char *theirs)
{
    for (int i = 0; i < p->ours.n; i++) {
        Module *m = &p->ours.at[i];
        if (!m->missing || m->from || !is_called(ours, m->name))
            continue;
        for (const char *at = theirs; *at && !m->from; at += strspn(at, " ")) {
            const size_t n = strcspn(at, " ");
            bool turned = false;
            Module *found = only_one(p, m, arena_strndup(p->arena, at, n),
                                     &turned);
            if (found)
                take(m, found, turned);
            at += n;
        }
    }
}

/* Matches a missing module by its shape, if no other missing module of the
 * model has that shape. */
static void find_by_shape(Proposal *p)
{
    for (int i = 0; i < p->ours.n; i++) {
        Module *m = &p->ours.at[i];
        bool turned = false;
        int alike = 0;
        for (int j = 0; j < p->ours.n; j++)
            alike += p->ours.at[j].missing && !p->ours.at[j].from
                  && p->ours.at[j].layers == m->layers
                  && p->ours.at[j].rank == m->rank
                  && p->ours.at[j].dim[0] == m->dim[0];
        Module *found = m->missing && !m->from && m->rank == 2 && alike == 1
                          ? only_one(p, m, NULL, &turned)
                          : NULL;
        if (found)
            take(m, found, turned);
    }
}

/* ---- rows ---- */
typedef struct {
    int rows; /* number of rows printed so far */
} Rows;

static void put_row(Arena *a, Rows *r, const char *ours, const char *theirs)
{
    if (r->rows++ == 0) {
        message_line("note: the file has other names; these rows of the spec "
                     "seem to fit:");
        note_line("names:");
    }
    note_line(arena_printf(a, "  %s: %s", ours, theirs));
}

static Module *ours_of(Proposal *p, const char *stack, const char *part)
{
    const char *name = arena_printf(p->arena, "%s.{i}.self_attn.%s", stack,
                                    part);
    for (int i = 0; i < p->ours.n; i++)
        if (!strcmp(p->ours.at[i].name, name))
            return &p->ours.at[i];
    return NULL;
}

/* Finds a tensor in which q, k and v are concatenated. */
static void find_fused(Proposal *p, Rows *r, const char *stack)
{
    static const char *const words[] = { "c_attn", "qkv_proj", "qkv", "wqkv",
                                         "query_key_value" };
    Module *q = ours_of(p, stack, "q"), *k = ours_of(p, stack, "k"),
           *v = ours_of(p, stack, "v");

    if (!q || !k || !v || !q->missing || q->from || k->from || v->from)
        return;
    Module all = { .name = q->name,
                   .rank = 2,
                   .layers = q->layers,
                   .dim = { q->dim[0] + k->dim[0] + v->dim[0], q->dim[1] } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool turned = false;
        Module *found = only_one(p, &all, words[i], &turned);
        if (!found)
            continue;
        take(q, found, turned);
        k->from = v->from = found->name;
        put_row(p->arena, r, arena_printf(p->arena, "%s.{i}.self_attn", stack),
                arena_printf(p->arena, "{tensor: \"%s\", rows: [q, k, v]%s}",
                             found->name, i == 4 ? ", groups: heads" : ""));
        q->missing = k->missing = v->missing = false;
        return;
    }
}

static void put_turned(Proposal *p, Rows *r, const char *stack)
{
    for (int i = 0; i < p->ours.n; i++) {
        const Module *m = &p->ours.at[i];
        if (!m->turned || m->layers == 0
            || strncmp(m->name, stack, strlen(stack)))
            continue;
        put_row(p->arena, r, arena_printf(p->arena, "%s.{i}", stack),
                "{transpose: true}");
        return;
    }
}

static void put_rows(Proposal *p, Rows *r)
{
    for (int i = 0; i < p->ours.n; i++) {
        const Module *m = &p->ours.at[i];
        if (m->missing && m->from && m->turned && m->layers == 0)
            put_row(p->arena, r, m->name,
                    arena_printf(p->arena, "{tensor: \"%s\", transpose: true}",
                                 m->from));
        else if (m->missing && m->from)
            put_row(p->arena, r, m->name, m->from);
    }
    for (int i = 0; i < p->ours.n && r->rows; i++)
        if (p->ours.at[i].missing && !p->ours.at[i].from)
            note_line(arena_printf(p->arena, "  # not found: %s",
                                   p->ours.at[i].name));
}

void spec_propose_names(Arena *a, const PackList *list, const Safetensors *file)
{
    static const char *const stacks[] = { "encoder", "decoder" };
    Proposal p = { .arena = a, .list = list, .file = file };
    Rows rows = { 0 };

    add_ours(&p);
    add_theirs(&p);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        find_by_words(&p, looks[i].ours, looks[i].theirs);
    for (int i = 0; i < 2; i++)
        find_fused(&p, &rows, stacks[i]);
    find_by_shape(&p);
    for (int i = 0; i < 2; i++)
        put_turned(&p, &rows, stacks[i]);
    put_rows(&p, &rows);
}
