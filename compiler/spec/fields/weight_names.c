/* weight_names.c: the weight map, which converts canonical names to names in
 * the file. A row replaces the first segments of a name; {i} stands for a
 * layer's number. If several rows match, the one with the most segments
 * applies. names_read.c reads the rows; weight_slices.c handles rows that
 * select a part of a tensor. */
#include <string.h>

#include "base/strings.h"
#include "spec/fields/fields.h"

/* All weights that a model can have, with {s} for encoder or decoder. Each has
 * .weight. Each also has .bias, except embeddings, position tables and class
 * tokens. */
/* clang-format off */
const char *const weight_names[] = {
    "source", "target", "logits", "source_positions", "target_positions",
    "types", "source.input_projection", "source.class_token",
    "source.distillation_token",
    "source.embedding_projection", "target.embedding_projection",
    "{s}.embedding_norm", "{s}.relative",
    "source.convolution.{i}",
    "{s}.{i}.self_attn.q", "{s}.{i}.self_attn.k", "{s}.{i}.self_attn.v",
    "{s}.{i}.self_attn.o", "{s}.{i}.self_attn.q_norm",
    "{s}.{i}.self_attn.k_norm", "{s}.{i}.self_attn.q_norm.{e}",
    "{s}.{i}.self_attn.k_norm.{e}", "{s}.{i}.self_attn.sinks",
    "{s}.{i}.self_attn.score", "{s}.{i}.self_attn.q_down",
    "{s}.{i}.self_attn.q_down_norm", "{s}.{i}.self_attn.q_rope",
    "{s}.{i}.self_attn.kv_down", "{s}.{i}.self_attn.kv_down_norm",
    "{s}.{i}.self_attn.k_rope",
    "{s}.{i}.recurrent.input", "{s}.{i}.recurrent.hidden",
    "{s}.{i}.recurrent.backward.input", "{s}.{i}.recurrent.backward.hidden",
    "{s}.{i}.recurrent.o",
    "{s}.{i}.convolution.w1", "{s}.{i}.convolution.w2",
    "{s}.{i}.convolution.depthwise1", "{s}.{i}.convolution.depthwise2",
    "decoder.{i}.cross_attn.q", "decoder.{i}.cross_attn.k",
    "decoder.{i}.cross_attn.v", "decoder.{i}.cross_attn.o",
    "decoder.{i}.cross_attn.score",
    "{s}.{i}.ffn.w1", "{s}.{i}.ffn.w2", "{s}.{i}.ffn.w3",
    "{s}.{i}.ffn.router", "{s}.{i}.ffn.correction",
    "{s}.{i}.ffn.experts.{e}.w1", "{s}.{i}.ffn.experts.{e}.w2",
    "{s}.{i}.ffn.experts.{e}.w3", "{s}.{i}.ffn.shared.w1",
    "{s}.{i}.ffn.shared.w2", "{s}.{i}.ffn.shared.w3",
    "{s}.{i}.ffn.shared_gate",
    "{s}.{i}.norm1", "{s}.{i}.norm2", "decoder.{i}.norm3", "{s}.norm",
    "{s}.{i}.norm1_after", "{s}.{i}.norm2_after", "decoder.{i}.norm3_after",
    "{s}.{i}.scale1", "{s}.{i}.scale2", "decoder.{i}.scale3",
    "head.dense", "head.norm", "head.second", "classifier",
    "q", "k", "v", "o", "score",
    NULL
};
/* clang-format on */

static size_t segment(const char *s)
{
    return strcspn(s, ".");
}

bool names_digits(const char *s, size_t n)
{
    return n > 0 && strspn(s, "0123456789") >= n;
}

/* True if the first segment of `pattern` matches the first segment of
 * `name`. */
static bool fits(const char *pattern, const char *name)
{
    size_t p = segment(pattern), n = segment(name);

    if (p == 3 && (!strncmp(pattern, "{i}", 3) || !strncmp(pattern, "{e}", 3)))
        return names_digits(name, n) || (n == 3 && !strncmp(name, pattern, 3));
    if (p == 3 && !strncmp(pattern, "{s}", 3))
        return n == 7
            && (!strncmp(name, "encoder", 7) || !strncmp(name, "decoder", 7));
    return p == n && !strncmp(pattern, name, n);
}

bool names_match(const char *pattern, const char *name, NameMatch *m)
{
    *m = (NameMatch){ .layer = "", .expert = "" };
    for (;;) {
        if (!fits(pattern, name))
            return false;
        if (!strncmp(pattern, "{i}", 3)) {
            m->layer = name;
            m->digits = (int)segment(name);
        } else if (!strncmp(pattern, "{e}", 3)) {
            m->expert = name;
            m->expert_digits = (int)segment(name);
        }
        pattern += segment(pattern);
        name += segment(name);
        m->rest = name;
        if (!*pattern)
            return true;
        if (!*name)
            return false;
        pattern++;
        name++;
    }
}

bool spec_name_begins(const char *row, const char *name)
{
    NameMatch m;
    return names_match(row, name, &m);
}

/* True if `ours` consists of the first segments of a canonical name. */
bool known_prefix(const char *ours)
{
    NameMatch m;

    for (int i = 0; weight_names[i]; i++) {
        const char *name = weight_names[i], *at = ours;
        while (fits(name, at)) {
            name += segment(name);
            at += segment(at);
            if (!*at)
                return true;
            if (!*name)
                break;
            name++;
            at++;
        }
        if (names_match(weight_names[i], ours, &m)
            && (!strcmp(m.rest, ".weight") || !strcmp(m.rest, ".bias")))
            return true;
    }
    return false;
}

char *name_text(Arena *a, const SpecName *n)
{
    char *parts = arena_strdup(a, "");

    for (int i = 0; i < n->nparts; i++)
        parts = arena_printf(a, "%s%s ", parts, n->parts[i]);
    return arena_printf(a,
                        "names.%s=%s %d %s%d %lld %d %.17g %d %.17g %d "
                        "%.17g\n",
                        n->ours, n->theirs ? n->theirs : "", n->transpose,
                        parts, n->by_columns, (long long)n->groups,
                        n->is_constant, n->constant, n->scales, n->scale,
                        n->adds, n->add);
}

/* ---- mapping ---- */
static char *fill_hole(Arena *a, const char *pattern, const char *hole,
                       const char *text, int bytes)
{
    const char *at = strstr(pattern, hole);

    if (!at)
        return arena_strdup(a, pattern);
    return arena_printf(a, "%.*s%.*s%s", (int)(at - pattern), pattern, bytes,
                        text, at + 3);
}

char *names_replace(Arena *a, const char *pattern, const NameMatch *m)
{
    return fill_hole(a, fill_hole(a, pattern, "{i}", m->layer, m->digits),
                     "{e}", m->expert, m->expert_digits);
}

static bool has_value(const SpecName *row, NameWay way)
{
    switch (way) {
    case WayTranspose: return row->transpose >= 0;
    case WayScale:     return row->scales;
    case WayAdd:       return row->adds;
    case WayTensor:
    case NameWays:     break;
    }
    return row->theirs || row->is_constant;
}

/* Returns the row whose name is the first n bytes of `name`, which end at a
 * segment; NULL if there is none or it does not provide this part. */
static const SpecName *row_of(const Spec *s, const char *name, size_t n,
                              NameWay way)
{
    char ours[MostNameBytes + 1];

    if (n > MostNameBytes)
        return NULL;
    memcpy(ours, name, n);
    ours[n] = '\0';
    const int i = index_find(&s->name_rows, ours);
    const SpecName *row = i < 0 ? NULL : &s->names.at[i];
    return row && has_value(row, way) ? row : NULL;
}

/* Copies a name. If `layers` is set, {i} replaces its first number, the layer;
 * if `experts` is set, {e} replaces its second number, the expert. */
static void any_number(const char *name, char *text, size_t size, bool layers,
                       bool experts)
{
    size_t n = 0;
    int numbers = 0;

    while (*name && n + segment(name) + 4 < size) {
        const size_t bytes = segment(name);
        const bool number = names_digits(name, bytes);
        const bool any = number && (numbers ? experts : layers);
        n += (size_t)snprintf(text + n, size - n, "%.*s", any ? 3 : (int)bytes,
                              !any      ? name
                              : numbers ? "{e}"
                                        : "{i}");
        numbers += number;
        name += bytes;
        if (*name)
            text[n++] = *name++;
    }
    text[n] = '\0';
}

void names_any_layer(const char *name, char *text, size_t size)
{
    any_number(name, text, size, true, false);
}

static size_t segments_of(const char *name)
{
    size_t n = 1;

    for (; *name; name++)
        n += *name == '.';
    return n;
}

/* Returns the length of the first `segments` segments. */
static size_t beginning(const char *name, size_t segments)
{
    const char *at = name + segment(name);

    while (--segments > 0)
        at += 1 + segment(at + 1);
    return (size_t)(at - name);
}

/* Searches the longest names first. Among names of the same length, an exact
 * layer or expert number comes before {i} or {e}. */
const SpecName *names_find(const Spec *s, const char *canonical, NameWay way,
                           NameMatch *m)
{
    enum { Ways = 4 }; /* two bits: use {i}, use {e} */
    char name[Ways][MostNameBytes + 1];
    const size_t segments = s->names.n ? segments_of(canonical) : 0;

    for (int i = 0; i < Ways && segments; i++)
        any_number(canonical, name[i], sizeof name[i], i & 1, i & 2);
    for (size_t n = segments; n > 0; n--)
        for (int i = 0; i < Ways; i++) {
            const SpecName *row = row_of(s, name[i], beginning(name[i], n),
                                         way);
            if (row && names_match(row->ours, canonical, m))
                return row;
        }
    return NULL;
}

bool names_stacked(const SpecName *n)
{
    return n && n->theirs && strstr(n->ours, "{e}")
        && !strstr(n->theirs, "{e}");
}

const char *spec_file_name(Arena *a, const Spec *s, const char *canonical)
{
    NameMatch m;
    const SpecName *n = names_find(s, canonical, WayTensor, &m);

    if (!n || !n->theirs)
        return canonical;
    return arena_printf(a, "%s%s", names_replace(a, n->theirs, &m), m.rest);
}

bool spec_leaves_out(const Spec *s, const char *tensor)
{
    for (int64_t i = 0; i < s->unused.n; i++)
        if (glob_fits(s->unused.at[i], tensor))
            return true;
    return false;
}

bool names_one_tensor(const SpecName *n)
{
    return n && n->theirs && strstr(n->ours, "{i}")
        && !strstr(n->theirs, "{i}");
}
