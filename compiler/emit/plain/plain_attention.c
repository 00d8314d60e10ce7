/* plain_attention.c: emits attention as section 3.2.1 of the paper describes
 * it, row by row: scores, softmax, weighted sum. There is one function for each
 * form (mask, bias, and normaliser). Each loop computes scores for 64 keys and
 * then updates the maximum, so that all results equal those of the optimised
 * file. */
#include "emit/plain/plain.h"

#include "emit/attention/attention.h"
#include "emit/gen/c_names.h"

typedef struct {
    const Node *n, *k, *v;
    long long heads, group, d_k, d_v;
    const MaskSpec *mask;
    bool positions; /* true if it needs the rows' positions */
    bool totals;    /* true if a weight depends on all scores */
    bool scales;    /* true if rows of keys and values have scales */
} Form;

/* True if a decoder processes one row at a time, which sees all keys so far. */
static bool sees_all(const Plain *p, const Node *n)
{
    const MaskSpec *m = n->mask;
    return m && n->entry == EntryDecode && p->decode_rows == 1 && m->causal
        && !m->window && !m->block && !m->file && !m->prefix && !m->given;
}

static Form form_of(const Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const Node *k = node_at(p->g.p, n->in[1]), *v = node_at(p->g.p, n->in[2]);
    const MaskSpec *mask = sees_all(p, n) ? NULL : n->mask;
    return (Form){
        .n = n,
        .k = k,
        .v = v,
        .heads = n->heads,
        .group = n->heads / k->type.dim[0].c,
        .d_k = k->type.dim[2].c,
        .d_v = v->type.dim[2].c,
        .mask = mask,
        .positions = mask || n->bias,
        .totals = !normalizer_form[n->normalizer].plain,
        .scales = p->g.p->g->spec->cache_store == StoreInt8
               && (k->op == OpAppend || k->op == OpRecall),
    };
}

/* ---- the function ---- */

/* Returns C for the number of keys. */
static const char *keys_text(Plain *p, const Node *k)
{
    if (k->op == OpRecall)
        return "s->source_rows";
    if (k->op != OpAppend || k->entry != EntryDecode)
        return plain_rows(p, k->type);
    p->g.uses.past = true;
    return p->decode_rows == 1
             ? "past + 1"
             : arena_printf(p->g.a, "past + %s",
                            plain_rows(p, node_at(p->g.p, k->in[0])->type));
}

/* Returns the parameters of a form's function or, if `call` is set, the
 * arguments for its node. */
static const char *parameters(Plain *p, const Form *f, bool call)
{
    const Node *n = f->n;
    const int node = (int)(n - p->g.p->g->nodes.at);
    const bool prefix = f->mask && (f->mask->prefix || f->mask->given);
    const char *list = "";
#define PARAMETER(used, declared, passed)                                      \
    if (used)                                                                  \
        list = arena_printf(p->g.a, "%s%s%s", list, *list ? ", " : "",         \
                            call ? (passed) : (declared));
    PARAMETER(true, "float *y", plain_value(p, node))
    PARAMETER(true, "const float *q", plain_value(p, n->in[0]))
    PARAMETER(true, "const float *k", plain_value(p, n->in[1]))
    PARAMETER(true, "const float *v", plain_value(p, n->in[2]))
    PARAMETER(f->scales, "const float *k_scales",
              plain_kept_scales(p, n->in[1], false))
    PARAMETER(f->scales, "const float *v_scales",
              plain_kept_scales(p, n->in[2], false))
    PARAMETER(has_score_vector(n), "const float *v_a",
              plain_weight(p, score_input(n), ""))
    PARAMETER(n->bias, "const float *bias",
              plain_block(p, plan_bias_block(p->g.p, node)))
    PARAMETER(n->sinks, "const float *sinks",
              plain_weight(p, n->in[n->nin - 1], ""))
    PARAMETER(true, "int rows", plain_rows(p, n->type))
    PARAMETER(true, "int keys", keys_text(p, f->k))
    PARAMETER(f->positions, "int past",
              f->k->op == OpAppend ? plain_past(p, node) : "0")
    PARAMETER(prefix, "int prefix", "prefix")
#undef PARAMETER
    p->g.uses.prefix |= call && prefix;
    return list;
}

/* Declares `from` and `to`: row i, at position p, sees the keys from .. to -
 * 1. */
static void put_interval(Plain *p, Emit *e, const Form *f)
{
    const char *from = mask_from(&p->g, f->mask, "p");
    const bool bounds = f->mask && !f->mask->file;
    if (f->positions)
        put(e, "const int p = past + i; /* the row's position */\n");
    if (bounds)
        use_kernel(p->g.kernels, "min");
    if (from || (f->mask && f->mask->prefix))
        use_kernel(p->g.kernels, "max");
    let(e, "from", "%s", from ? from : "0");
    let(e, "to", "%s", mask_to(&p->g, f->mask, "p", "keys", "prefix"));
    if (from)
        put(e, "const int from = $from;\n");
    if (bounds)
        put(e, "const int to = $to;\n");
    let(e, "first", from ? "from / 64 * 64" : "0");
    let(e, "from", from ? "max(from - at, 0)" : "0");
    let(e, "to", bounds ? "to" : "keys");
    let(e, "keys", "int j = %s; j < 64 && at + j < %s; j++",
        from ? "max(from - at, 0)" : "0", bounds ? "to" : "keys");
}

static void put_plain_score(Plain *p, Emit *e, const Form *f)
{
    const ScoreForm *form = &score_form[f->n->score];
    const char *alone = normalizer_form[f->n->normalizer].plain;
    const double scale = f->n->scale;
    const bool scales = (f->n->cap > 0 || f->n->bias)
                     && (scale < 1 || scale > 1);
    put(e, "const float *k_j = k + ((at + j) * $heads_kv + $head) * $d_k;\n"
           "float score = 0.0f;\n"
           "\n");
    if (f->mask && f->mask->file) {
        let(e, "mask", "%s", mask_name(&p->g, f->mask));
        put(e, "if (!$mask(p, at + j))\n"
               "    continue;\n");
    }
    put(e, "for (int c = 0; c < $d_k; c++)\n");
    if (form->plain_function)
        let(e, "function", "%s",
            use_kernel(p->g.kernels, form->plain_function));
    put(e, form->plain);
    if (f->scales)
        put(e, "score *= k_scales[(at + j) * $heads_kv + $head];\n");
    let(e, "by", "%s", plain_float(p->g.a, scale));
    let(e, "cap", "%s", plain_float(p->g.a, f->n->cap));
    if (scales)
        put(e, "score *= $by;\n");
    if (f->n->cap > 0) {
        let(e, "tanh", "%s", use_kernel(p->g.kernels, "tanh1"));
        put(e, "score = $cap * $tanh(score / $cap);\n");
    }
    if (f->n->bias) {
        const Block *b = &p->g.p->block.at[plan_bias_block(
            p->g.p, (int)(f->n - p->g.p->g->nodes.at))];
        let(e, "width", "%lld", (long long)bias_width(b));
        let(e, "middle", "%lld", (long long)(bias_width(b) / 2));
        put(e, "score += bias[h * $width + $middle + at + j - p];\n");
    }
    if (alone) {
        let(e, "weight", "%s", use_kernel(p->g.kernels, alone));
        put(e, "weight[j] = $weight(score, $log2);\n");
    } else {
        put(e, "weight[j] = score;\n");
    }
}

/* Emits the loop over 64 keys at a time, which computes their weights and adds
 * their values to the sum. */
static void put_chunk(Plain *p, Emit *e, const Form *f)
{
    put(e, "for (int at = $first; at < $to; at += 64) {\n"
           "    float weight[64];\n"
           "\n");
    if (f->totals)
        put(e, "for (int j = 0; j < 64; j++)\n"
               "    weight[j] = -INFINITY;\n");
    put(e, "for ($keys) {\n");
    put_plain_score(p, e, f);
    put(e, "}\n");
    if (f->totals) {
        use_kernel(p->g.kernels, "softmax_64");
        put(e, "softmax_64(weight, $log2, &largest, sum, y_i, $d_v);\n");
    }
    put(e, "for ($keys) {\n"
           "    const float *v_j = v + ((at + j) * $heads_kv + $head) * $d_v;\n"
           "\n");
    if (f->mask && f->mask->file)
        put(e, "if (!$mask(p, at + j))\n"
               "    continue;\n");
    if (f->scales)
        put(e, "weight[j] *= v_scales[(at + j) * $heads_kv + $head];\n");
    put(e, "for (int c = 0; c < $d_v; c++)\n"
           "    y_i[c] = fmaf(weight[j], v_j[c], y_i[c]);\n"
           "}\n"
           "}\n");
}

static void let_form(Plain *p, Emit *e, const Form *f)
{
    const double scale = f->n->cap > 0 || f->n->bias ? 1 : f->n->scale;
    let(e, "heads", "%lld", f->heads);
    let(e, "heads_kv", "%lld", f->heads / f->group);
    let(e, "head", f->group > 1 ? "h / %lld" : "h", f->group);
    let(e, "d_k", "%lld", f->d_k);
    let(e, "d_v", "%lld", f->d_v);
    let(e, "log2", "%s", plain_float(p->g.a, scale * Log2E));
    let(e, "sink", "%s",
        scale < 1 || scale > 1
            ? arena_printf(p->g.a, " * %s", plain_float(p->g.a, 1 / scale))
            : "");
}

static void put_plain_rows(Plain *p, Emit *e, const Form *f)
{
    put(e, "for (int i = 0; i < rows; i++) {\n");
    put_interval(p, e, f);
    if (f->positions)
        put(e, "\n");
    put(e, "for (int h = 0; h < $heads; h++) {\n"
           "    const float *q_i = q + (i * $heads + h) * $d_k;\n"
           "    float *y_i = y + (i * $heads + h) * $d_v;\n");
    if (f->n->sinks)
        put(e, "float largest = sinks[h]$sink, sum[16] = { 1.0f };\n");
    else if (f->totals)
        put(e, "float largest = -INFINITY, sum[16] = { 0.0f };\n");
    put(e, "\n"
           "for (int c = 0; c < $d_v; c++)\n"
           "    y_i[c] = 0.0f;\n");
    put_chunk(p, e, f);
    if (f->totals) {
        let(e, "sum_16", "%s", use_kernel(p->g.kernels, "sum_16"));
        put(e, "const float total = $sum_16(sum);\n"
               "\n"
               "for (int c = 0; c < $d_v && total != 0.0f; c++)\n"
               "    y_i[c] *= 1.0f / total;\n");
    }
    put(e, "}\n"
           "}\n"
           "}\n\n");
}

static void put_form_comment(Plain *p, Emit *e, const Form *f)
{
    let(e, "weights", "%s", normalizer_form[f->n->normalizer].word);
    let(e, "scores", "%s", score_form[f->n->score].plain_formula);
    let(e, "of", "%s", score_form[f->n->score].source);
    let(e, "more", "%s",
        f->group > 1 ? arena_printf(p->g.a,
                                    " %lld neighbouring heads share keys and "
                                    "values [Ainslie et al. 2023].",
                                    f->group)
                     : "");
    put_comment(e, "Attention: $weights($scores) V $of, of $heads heads. For "
                   "64 keys at a time: scores, weights, the sum of values "
                   "times these.$more");
}

/* Returns the key of a form's function. The layout of the keys is an argument
 * of the function, and so is not in the key. */
static SharedKey form_key(const Plain *p, const Form *f)
{
    const int node = (int)(f->n - p->g.p->g->nodes.at);
    const int bias = f->n->bias ? plan_bias_block(p->g.p, node) : -1;
    SharedKey key = { .kind = SharedAttention,
                      .size = { f->heads, f->group, f->d_k, f->d_v },
                      .form = plan_task(p->g.p, TaskAttention, node)->is.form };
    if (bias >= 0)
        key.size[4] = bias_width(&p->g.p->block.at[bias]);
    if (!f->mask)
        key.form.mask = (MaskSpec){ 0 };
    key.form.paged = f->scales;
    return key;
}

/* Emits the function of a form unless it exists. Returns its name. */
static const char *need_function(Plain *p, const Form *f)
{
    Arena *a = p->g.a;
    Emit *e = emit_new(a);
    const SharedKey key = form_key(p, f);
    const char *base = f->mask && f->mask->causal ? "attention_causal"
                     : f->mask                    ? "attention_masked"
                                                  : "attention";
    bool made;
    const char *name = shared_name(&p->g, &key, base, &made);
    if (made)
        return name;
    if (f->mask && f->mask->file)
        need_mask_of_file(&p->g, p->functions, f->mask, "int");
    let_form(p, e, f);
    put_form_comment(p, e, f);
    put_call(e, arena_printf(a, "static void %s", name),
             parameters(p, f, false), "");
    put(e, "{\n");
    put_plain_rows(p, e, f);
    emit_add(p->functions, e);
    return name;
}

void plain_attention(Plain *p, Emit *e, int node)
{
    const Form f = form_of(p, node);
    const char *name = need_function(p, &f);
    put_call(e, name, parameters(p, &f, true), ";");
}
