/* spec_names.c: the map from the canonical names of weights to those of the
 * file. A row replaces the first segments of a name; {i} stands for the number
 * of a layer; of the rows that fit, the one with most segments is taken.    */
#include <string.h>

#include "fields.h"

/* Every weight that a model can have, {s} for encoder or decoder; each has
 * .weight, and .bias unless it is an embedding or a table of positions.     */
const char *const weight_names[] = {
    "source", "target", "logits", "source_positions", "target_positions",
    "{s}.{i}.self_attn.q", "{s}.{i}.self_attn.k", "{s}.{i}.self_attn.v",
    "{s}.{i}.self_attn.o",
    "decoder.{i}.cross_attn.q", "decoder.{i}.cross_attn.k",
    "decoder.{i}.cross_attn.v", "decoder.{i}.cross_attn.o",
    "{s}.{i}.ffn.w1", "{s}.{i}.ffn.w2",
    "{s}.{i}.norm1", "{s}.{i}.norm2", "decoder.{i}.norm3", "{s}.norm",
    "q", "k", "v", "o", NULL
};

enum { MostNameBytes = 256 };

static size_t segment(const char *s)
{
    return strcspn(s, ".");
}

static bool all_digits(const char *s, size_t n)
{
    return n > 0 && strspn(s, "0123456789") >= n;
}

/* Does the segment at `pattern` stand for the one at `name`? */
static bool fits(const char *pattern, const char *name)
{
    size_t p = segment(pattern), n = segment(name);

    if (p == 3 && !strncmp(pattern, "{i}", 3))
        return all_digits(name, n) || (n == 3 && !strncmp(name, "{i}", 3));
    if (p == 3 && !strncmp(pattern, "{s}", 3))
        return n == 7 && (!strncmp(name, "encoder", 7) ||
                          !strncmp(name, "decoder", 7));
    return p == n && !strncmp(pattern, name, n);
}

/* The rest of `name` after the segments of `pattern`, NULL if it does not
 * begin with them; the text of {i} in *layer, of *digits bytes.             */
static const char *match(const char *pattern, const char *name,
                         const char **layer, int *digits)
{
    for (;;) {
        if (!fits(pattern, name))
            return NULL;
        if (*pattern == '{') {
            *layer = name;
            *digits = (int)segment(name);
        }
        pattern += segment(pattern);
        name += segment(name);
        if (!*pattern)
            return name;
        if (!*name)
            return NULL;
        pattern++;
        name++;
    }
}

/* ------------------------------------------------------------ reading --- */
/* Is `ours` the beginning of a canonical name, whole segments of it? */
static bool known_prefix(const char *ours)
{
    const char *layer;
    int digits;

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
        at = match(weight_names[i], ours, &layer, &digits);
        if (at && (!strcmp(at, ".weight") || !strcmp(at, ".bias")))
            return true;
    }
    return false;
}

static bool good_name(const Yaml *n)
{
    size_t bytes = n->kind == YamlScalar ? strlen(n->text) : 0;

    if (bytes && bytes <= MostNameBytes)
        return true;
    error_at(n->pos, "a name of weights has 1 to %d bytes", MostNameBytes);
    return false;
}

static bool good_pair(const Yaml *ours, const Yaml *theirs)
{
    bool mine = strstr(ours->text, "{i}");
    bool other = strstr(theirs->text, "{i}");

    if (!known_prefix(ours->text)) {
        error_at(ours->pos, "'%s' begins no name of a weight",
                 quote(ours->text));
        note_at((Pos){ 0 }, "`attnc fields` lists the names");
    } else if (mine != other) {
        error_at(theirs->pos, "{i} must stand in both names or in neither");
    } else {
        return true;
    }
    return false;
}

void names_add(Arena *a, Spec *s, const Yaml *ours, const Yaml *theirs)
{
    if (!good_name(ours) || !good_name(theirs) || !good_pair(ours, theirs))
        return;
    SpecName name = { ours->text, theirs->text, theirs->pos };
    for (int i = 0; i < s->names.n; i++)
        if (!strcmp(s->names.at[i].ours, name.ours)) {
            s->names.at[i] = name;
            return;
        }
    vec_push(a, &s->names, name);
}

/* ------------------------------------------------------------ mapping --- */
/* Segments, and a little more for a layer that is named by its number. */
static int weight_of(const char *pattern)
{
    int segments = 1;

    for (const char *p = pattern; *p; p++)
        segments += *p == '.';
    return 2 * segments + !strstr(pattern, "{i}");
}

static const char *replace(Arena *a, const char *theirs, const char *layer,
                           int digits, const char *rest)
{
    const char *hole = strstr(theirs, "{i}");

    if (!hole)
        return arena_printf(a, "%s%s", theirs, rest);
    return arena_printf(a, "%.*s%.*s%s%s", (int)(hole - theirs), theirs,
                        digits, layer, hole + 3, rest);
}

const char *spec_file_name(Arena *a, const Spec *s, const char *canonical)
{
    const char *best = canonical;
    int most = 0;

    for (int i = 0; i < s->names.n; i++) {
        const SpecName *n = &s->names.at[i];
        const char *layer = "";
        int digits = 0;
        const char *rest = match(n->ours, canonical, &layer, &digits);
        if (rest && weight_of(n->ours) > most) {
            most = weight_of(n->ours);
            best = replace(a, n->theirs, layer, digits, rest);
        }
    }
    return best;
}
