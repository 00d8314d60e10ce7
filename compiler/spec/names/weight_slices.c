/* weight_slices.c: finds the elements of a weight in the file. A tensor of the
 * file may hold several weights; rows of `names` then describe the slices. */
#include <stdlib.h>
#include <string.h>

#include "spec/fields/fields.h"

/* ---- sizes ---- */

/* the products of a layer, which are the only weights that can be slices */
static const char *const products[] = { "q",      "k",       "v",     "o",
                                        "w1",     "w2",      "w3",    "q_rope",
                                        "k_rope", "kv_down", "q_down" };
enum { Products = sizeof products / sizeof *products };

/* Returns the length of the name without .weight or .bias. */
static size_t stem(const char *name)
{
    const char *dot = strrchr(name, '.');
    const bool tail = dot && (!strcmp(dot, ".weight") || !strcmp(dot, ".bias"));

    return tail ? (size_t)(dot - name) : strlen(name);
}

static int product_of(const char *name)
{
    size_t n = stem(name), from = n;
    int i = 0;

    while (from > 0 && name[from - 1] != '.')
        from--;
    n -= from;
    while (
        i < Products
        && (strlen(products[i]) != n || strncmp(products[i], name + from, n)))
        i++;
    return i;
}

bool has_slices(const char *name)
{
    return product_of(name) < Products;
}

static const SpecSide *side_of(const Spec *s, const char *name)
{
    bool decoder = !strncmp(name, "decoder.", 8);
    return &s->side[decoder ? SideDecoder : SideEncoder];
}

static int64_t size_of(const Spec *s, const char *name, bool columns)
{
    const SpecSide *p = side_of(s, name);
    const int64_t d_ff = strstr(name, ".shared.") ? s->ffn_shared : p->d_ff;
    const bool latent = s->latent_kv > 0 && strstr(name, ".self_attn.");
    const int64_t rope = latent ? s->latent_rope : 0;
    const int64_t q = latent && s->latent_q > 0 ? s->latent_q : s->d_model;
    const int64_t kv = latent ? s->latent_kv : s->d_model;
    const int64_t size[Products][2] = {
        /* rows, columns */
        { p->h * (p->d_k - rope), q },
        { p->h_kv * (p->d_k - rope), kv },
        { p->h_kv * p->d_v, kv },
        { s->d_model, p->h * p->d_v },
        { d_ff, s->d_model },
        { s->d_model, d_ff },
        { d_ff, s->d_model },
        { p->h * rope, q },
        { rope, s->d_model },
        { kv, s->d_model },
        { q, s->d_model },
    };
    return size[product_of(name)][columns];
}

/* ---- slices ---- */

/* Returns the rows or columns of `part` in one group of the file's tensor, or
 * -1 after reporting an error. A stack that the model lacks has size 0. */
static int64_t slice_of(const Spec *s, const SpecName *n, const char *part,
                        int64_t groups)
{
    int64_t all = size_of(s, part, n->by_columns);

    if (all % groups == 0)
        return all / groups;
    error_at(n->pos, "%lld groups cannot share the %lld %s of '%s'",
             (long long)groups, (long long)all,
             n->by_columns ? "columns" : "rows", quote(part));
    return -1;
}

bool slices_fit(const Spec *s, const SpecName *n, FileTensor *out)
{
    out->by_columns = n->by_columns;
    out->groups = n->groups ? n->groups : side_of(s, n->ours)->h_kv;
    if (out->groups < 1)
        out->groups = 1;
    out->stride = 0;
    for (int i = 0; i < n->nparts; i++) {
        int64_t share = slice_of(s, n, n->parts[i], out->groups);
        if (share < 0)
            return false;
        if (!strcmp(n->parts[i], n->ours)) {
            out->first = out->stride;
            out->take = share;
        }
        out->stride += share;
    }
    out->total = out->groups * out->stride;
    return true;
}

/* Returns the spec of the layer that the weight belongs to. */
static const Spec *of_layer(const Spec *s, const char *ours)
{
    const bool decoder = !strncmp(ours, "decoder.", 8);
    const bool layers = decoder || !strncmp(ours, "encoder.", 8);
    char *end = NULL;
    const long layer = layers ? strtol(ours + 8, &end, 10) : 0;

    const Side side = decoder ? SideDecoder : SideEncoder;
    if (!layers || end == ours + 8 || !s->layer[side]
        || layer >= s->side[side].N)
        return s;
    return s->layer[side][layer];
}

/* Returns the number of weights that stand in the place of {e}: experts, or
 * heads of a norm. */
static int64_t numbered(const Spec *s, const char *ours)
{
    const SpecSide *p = side_of(s, ours);
    return strstr(ours, ".q_norm.") ? p->h
         : strstr(ours, ".k_norm.") ? p->h_kv
                                    : s->ffn_experts;
}

bool spec_file_tensor(Arena *a, const Spec *s, const char *ours,
                      FileTensor *out)
{
    NameMatch m;
    const SpecName *n = names_find(s, ours, WayTensor, &m);
    const SpecName *turn = names_find(s, ours, WayTranspose, &(NameMatch){ 0 });
    const SpecName *scale = names_find(s, ours, WayScale, &(NameMatch){ 0 });
    const SpecName *add = names_find(s, ours, WayAdd, &(NameMatch){ 0 });
    const char *dot = strrchr(ours, '.');
    bool bias = dot && !strcmp(dot, ".bias");

    *out = (FileTensor){ .transposed = turn && turn->transpose && !bias };
    if (n && n->is_constant) {
        out->fill = n->constant;
        return true;
    }
    out->changed = scale || add;
    out->scale = scale ? (float)scale->scale : 1;
    out->add = add ? (float)add->add : 0;
    out->name = spec_file_name(a, s, ours);
    if (names_stacked(n)) {
        out->slices = numbered(of_layer(s, ours), ours);
        out->slice = strtol(m.expert, NULL, 10);
    }
    if (!n || !n->nparts || (bias && n->by_columns))
        return true;
    return slices_fit(of_layer(s, ours), n, out);
}

/* ---- packed ---- */

/* True if the name contains a layer number. */
static bool of_one_layer(const char *ours)
{
    char any[MostNameBytes + 1];

    names_any_layer(ours, any, sizeof any);
    return strcmp(any, ours) != 0;
}

/* True if a row of `names` or a key of `dtype` applies to this layer's weight
 * only. */
static bool has_own(const Spec *s, const char *canonical)
{
    const SpecDtype *row = dtype_rows(&s->dtype, canonical, 0).here;
    bool own = row && of_one_layer(row->key);

    for (NameWay way = WayTranspose; way < NameWays; way++) {
        const SpecName *n = names_find(s, canonical, way, &(NameMatch){ 0 });
        own |= n && of_one_layer(n->ours);
    }
    return own;
}

const char *spec_packed_name(Arena *a, const Spec *s, const char *canonical)
{
    NameMatch m;
    char any[MostNameBytes + 1];

    if (!names_one_tensor(names_find(s, canonical, WayTensor, &m))
        || has_own(s, canonical))
        return canonical;
    names_any_layer(canonical, any, sizeof any);
    return arena_strdup(a, any);
}
