/* dtypes.c: reads the storage formats of weight matrices, which are one word,
 * or a map from prefixes of canonical names to words. Also checks that the
 * arithmetic is possible with these formats. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "spec/arithmetic.h"
#include "spec/fields/fields.h"

const char dtype_logits[] = "logits", dtype_embedding[] = "embedding";

/* ---- values ---- */
static int by_key(const void *a, const void *b)
{
    const SpecDtype *x = a, *y = b;

    return strcmp(x->key, y->key);
}

/* Reads one word. Returns false after an error. */
static bool read_word(Arena *a, const Field *f, Dtype *to, const Yaml *v)
{
    const int word = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;

    if (word < 0)
        return refuse_word(a, f, v);
    *to = (Dtype)word;
    return true;
}

bool read_dtypes(Arena *a, const Field *f, SpecDtypes *to, const Yaml *v)
{
    VEC(SpecDtype) rows = { 0 };
    bool good = true;

    *to = (SpecDtypes){ .default_dtype = DtypeF32 };
    if (v->kind != YamlMap) /* one word for all matrices */
        return read_word(a, f, &to->default_dtype, v);
    for (int i = 0; i < v->keys.n; i++) {
        const Yaml *key = v->keys.at[i];
        SpecDtype row = { .key = key->text, .pos = key->pos };
        const bool is_default = !strcmp(key->text, "default");
        good &= read_word(a, f, is_default ? &to->default_dtype : &row.dtype,
                          v->items.at[i]);
        if (!is_default)
            vec_push(a, &rows, row);
    }
    if (rows.n)
        qsort(rows.at, (size_t)rows.n, sizeof *rows.at, by_key);
    to->at = rows.at;
    to->n = rows.n;
    return good;
}

char *dtypes_text(Arena *a, const SpecDtypes *d)
{
    Buffer b = { .arena = a };

    if (d->n == 0)
        return arena_strdup(a, dtype_word[d->default_dtype]);
    buffer_printf(&b, "{default: %s", dtype_word[d->default_dtype]);
    for (int i = 0; i < d->n; i++) {
        const char *mark = strpbrk(d->at[i].key, "{}[],:\"' ") ? "'" : "";
        buffer_printf(&b, ", %s%s%s: %s", mark, d->at[i].key, mark,
                      dtype_word[d->at[i].dtype]);
    }
    buffer_printf(&b, "}");
    return b.at;
}

/* ---- names ---- */
static const SpecDtype *called(const SpecDtypes *d, const char *key)
{
    for (int i = 0; i < d->n; i++)
        if (!strcmp(d->at[i].key, key))
            return &d->at[i];
    return NULL;
}

/* Returns the key that matches the most segments of the name. Among those of
 * equal length, prefers one with the layer's number to one with {i}. NULL: none
 * matches. */
static const SpecDtype *begins(const SpecDtypes *d, const char *name)
{
    const SpecDtype *best = NULL;
    size_t least = strlen(name) + 1; /* bytes after the match */
    NameMatch m;

    for (int i = 0; i < d->n; i++) {
        if (!names_match(d->at[i].key, name, &m) || strlen(m.rest) > least)
            continue;
        if (strlen(m.rest) < least || strchr(best->key, '{'))
            best = &d->at[i];
        least = strlen(m.rest);
    }
    return best;
}

DtypeRows dtype_rows(const SpecDtypes *d, const char *name, int readers)
{
    DtypeRows rows = { begins(d, name), NULL };

    if (!rows.here && readers & ReadByLookUp)
        rows.here = called(d, dtype_embedding);
    if (readers & ReadByLogits)
        rows.logits = called(d, dtype_logits);
    return rows;
}

Dtype spec_dtype(const Spec *s, const char *canonical, int readers)
{
    const DtypeRows rows = dtype_rows(&s->dtype, canonical, readers);
    const SpecDtype *row = rows.here ? rows.here : rows.logits;
    const bool coarse = dtype_shared(s->dtype.default_dtype) > 0
                     && readers & (ReadByLookUp | ReadByLogits);

    if (!readers)
        return DtypeF32;
    const Dtype d = row    ? row->dtype
                  : coarse ? DtypeInt8
                           : s->dtype.default_dtype;
    return readers & ReadByProduct ? arithmetic_dtype(s->arithmetic, d) : d;
}

/* ---- arithmetic ---- */

/* Checks that the arithmetic has weights that it reads. Products with others
 * are computed in f32. If a later change of `dtype` removed all these weights,
 * resets the arithmetic instead of reporting an error. */
void check_arithmetic(Spec *s, const FieldState *state)
{
    const SpecDtypes *d = &s->dtype;
    const Pos here = s->field_pos[field_row("arithmetic")],
              dtype = s->field_pos[field_row("dtype")];
    const Arithmetic a = s->arithmetic;
    const char *needs = dtype_word[arithmetic_needs(a)];
    bool reads = arithmetic_reads(a, arithmetic_dtype(a, d->default_dtype));

    (void)state;
    for (int i = 0; i < d->n; i++)
        reads |= arithmetic_reads(a, arithmetic_dtype(a, d->at[i].dtype));
    if (reads)
        return;
    if (dtype.src && dtype.src->rank > here.src->rank) {
        s->arithmetic = ArithmeticF32;
        return;
    }
    error_at(here, "arithmetic %s needs %s weights, but dtype is %s",
             fields[field_row("arithmetic")].words[a],
             row_formats[a].scaled ? "integer" : needs,
             dtype_word[d->default_dtype]);
    note_at((Pos){ 0 }, "write dtype: %s, or leave arithmetic out", needs);
}
