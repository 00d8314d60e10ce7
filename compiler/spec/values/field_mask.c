/* field_mask.c: reads a mask from a word or a list of parts; one part may be a
 * file of zeros and ones. */
#include <string.h>
#include <xxhash.h>

#include "spec/fields/fields.h"

enum { MostFile = 1 << 28 }; /* maximum size of a mask file in bytes */

typedef struct { /* a mask file that is being read */
    Arena *arena;
    Source *src;
    unsigned char *cell;
    int64_t n, rows, columns; /* columns: number of cells in the first row */
} MaskFile;

/* ---- file ---- */
static Source *open_mask(Arena *a, const Yaml *path)
{
    const char *name = spec_path(a, path->pos, path->text);
    Source *src = arena_alloc(a, sizeof *src);
    Fault why;
    File *file = arena_file(a, name, MostFile, &why);

    if (!file) {
        error_fault(path->pos, &why);
        return NULL;
    }
    const size_t mark = file_mark(file), size = file->size - mark;
    *src = (Source){ name,
                     arena_strndup(a, (const char *)file->at + mark, size),
                     size, path->pos.src ? path->pos.src->rank : 0 };
    arena_closes(a, file);
    return src;
}

/* Reads the cells of one line. Returns false after an error. */
static bool read_cells(MaskFile *m, const char *line, const char *end,
                       int number)
{
    int64_t before = m->n;

    for (const char *c = line; c < end; c++) {
        if (*c == '0' || *c == '1') {
            m->cell[m->n++] = *c == '1';
        } else if (!*c || !strchr(" \t,\r", *c)) {
            error_at((Pos){ m->src, number, (int)(c - line) + 1 },
                     "a mask must have rows of 0 and 1, found '%s'",
                     quote_n(c, 1));
            return false;
        }
    }
    int64_t found = m->n - before;
    if (found == 0)
        return true;
    if (m->rows++ == 0)
        m->columns = found;
    if (found == m->columns)
        return true;
    error_at((Pos){ m->src, number, 1 },
             "this row has %lld numbers, but the first has %lld",
             (long long)found, (long long)m->columns);
    return false;
}

static bool read_file(Arena *a, MaskSpec *mask, const Yaml *path)
{
    MaskFile m = { .arena = a, .src = open_mask(a, path) };

    if (!m.src)
        return false;
    m.cell = arena_alloc(a, m.src->size + 1);
    const char *at = m.src->text, *all = at + m.src->size;
    for (int number = 1; at < all; number++) {
        const char *end = memchr(at, '\n', (size_t)(all - at));
        if (!read_cells(&m, at, end ? end : all, number)) {
            note_at(path->pos, "the file is named here");
            return false;
        }
        at = end ? end + 1 : all;
    }
    if (m.rows == 0)
        error_at(path->pos, "%s has no rows of 0 and 1", quote(m.src->name));
    mask->file = m.cell;
    mask->file_rows = m.rows;
    mask->file_columns = m.columns;
    return m.rows > 0;
}

/* ---- parts ---- */
static bool twice(const Field *f, const Yaml *v, bool already, const char *part)
{
    if (already)
        error_at(v->pos, "%s has '%s' twice", f->key, part);
    return already;
}

static bool read_mask_word(Arena *a, const Field *f, MaskSpec *mask,
                           const Yaml *v)
{
    int word = v->kind == YamlScalar ? find_word(f->words, v->text) : -1;
    bool *part = word == 2 ? &mask->prefix : &mask->causal;

    if (word < 0)
        return refuse_word(a, f, v);
    if (word == 0)
        return true; /* the word is none */
    if (twice(f, v, *part, v->text))
        return false;
    *part = true;
    return true;
}

static bool read_length(Arena *a, const Field *f, const char *part, int64_t *to,
                        const Yaml *v)
{
    Field length = *f;
    bool plain = v->kind == YamlScalar && !v->quoted;
    int64_t n;

    length.key = arena_printf(a, "%s %s", f->key, part);
    length.type = FieldInt;
    if (twice(f, v, *to != 0, part))
        return false;
    if (!plain || !parse_int(v->text, &n) || (double)n < f->least
        || (double)n > f->most)
        return refuse_value(a, &length, v);
    *to = n;
    return true;
}

static bool read_path(Arena *a, const Field *f, MaskSpec *mask, const Yaml *v)
{
    Field path = *f;

    path.key = arena_printf(a, "%s file", f->key);
    path.type = FieldPath;
    if (v->kind != YamlScalar || !*v->text)
        return refuse_value(a, &path, v);
    return !twice(f, v, mask->file, "file") && read_file(a, mask, v);
}

static const char *const part_keys[] = { "window", "block", "file", NULL };

bool is_mask(const Yaml *v)
{
    for (int i = 0; v->kind == YamlMap && i < v->keys.n; i++)
        if (find_word(part_keys, v->keys.at[i]->text) >= 0)
            return true;
    return v->kind != YamlMap;
}

/* Reports an unknown part of a mask, e.g. in {causal: true, window: 8}. */
static bool refuse_part(Arena *a, const Field *f, const Yaml *key)
{
    refuse_value(a, f, key);
    if (find_word(f->words, key->text) >= 0)
        note_at((Pos){ 0 }, "write words in a list: [%s, {window: n}]",
                key->text);
    return false;
}

/* Reads a map with parts of a mask, e.g. {window: 128}. */
static bool read_parts(Arena *a, const Field *f, MaskSpec *mask, const Yaml *v)
{
    for (int i = 0; i < v->keys.n; i++) {
        const char *key = v->keys.at[i]->text;
        const Yaml *value = v->items.at[i];
        bool good;
        switch (find_word(part_keys, key)) {
        case 0:  good = read_length(a, f, key, &mask->window, value); break;
        case 1:  good = read_length(a, f, key, &mask->block, value); break;
        case 2:  good = read_path(a, f, mask, value); break;
        default: good = refuse_part(a, f, v->keys.at[i]);
        }
        if (!good)
            return false;
    }
    return v->keys.n > 0 || refuse_value(a, f, v);
}

bool read_mask(Arena *a, const Field *f, MaskSpec *mask, const Yaml *v)
{
    const Yaml *const *part = (const Yaml *const *)v->items.at;
    int n = v->kind == YamlList ? v->items.n : 1;

    *mask = (MaskSpec){ 0 };
    for (int i = 0; i < n; i++) {
        const Yaml *p = v->kind == YamlList ? part[i] : v;
        if (p->kind == YamlMap ? !read_parts(a, f, mask, p)
                               : !read_mask_word(a, f, mask, p))
            return false;
    }
    return n > 0 || refuse_value(a, f, v);
}

char *mask_words(Arena *a, const MaskSpec *m, const char *before,
                 const char *between)
{
    char *text = arena_printf(a, "%s%s%s%s%s%s", m->causal ? before : "",
                              m->causal ? "causal" : "",
                              m->prefix ? before : "",
                              m->prefix ? "prefix" : "", m->given ? before : "",
                              m->given ? "given" : "");

    if (m->window)
        text = arena_printf(a, "%s%swindow%s%lld", text, before, between,
                            (long long)m->window);
    if (m->block)
        text = arena_printf(a, "%s%sblock%s%lld", text, before, between,
                            (long long)m->block);
    return text;
}

char *mask_text(Arena *a, const MaskSpec *m)
{
    char *text = mask_words(a, m, " ", " ");

    if (m->file)
        text = arena_printf(a, "%s file %016llx", text,
                            (unsigned long long)XXH3_64bits(
                                m->file,
                                (size_t)(m->file_rows * m->file_columns)));
    return *text ? text + 1 : arena_strdup(a, "none");
}

/* ---- meaning ---- */
bool mask_allows(const MaskSpec *m, int64_t i, int64_t j, int64_t prefix)
{
    if (!m)
        return true;
    if (m->file && !m->file[i * m->file_columns + j])
        return false;
    if (m->window && (j <= i - m->window || j >= i + m->window))
        return false;
    if (m->block && i / m->block != j / m->block)
        return false;
    if (m->given && j >= prefix)
        return false;
    return !m->causal || j <= i || (m->prefix && j < prefix);
}

/* Returns how many of the first `keys` keys row i may attend to. */
static int64_t row_pairs(const MaskSpec *m, int64_t i, int64_t keys)
{
    int64_t from = 0, to = keys, seen = 0;
    if (m->window) {
        from = attn_max(from, i - m->window + 1);
        to = attn_min(to, i + m->window);
    }
    if (m->block) {
        from = attn_max(from, i / m->block * m->block);
        to = attn_min(to, (i / m->block + 1) * m->block);
    }
    if (m->causal)
        to = attn_min(to, i + 1);
    for (int64_t j = from; m->file && j < to; j++)
        seen += m->file[i * m->file_columns + j];
    return m->file ? seen : attn_max(to - from, 0);
}

int64_t mask_pairs(const MaskSpec *m, int64_t first, int64_t rows, int64_t keys)
{
    int64_t seen = 0;
    if (!m)
        return rows * keys;
    for (int64_t i = first; i < first + rows; i++)
        seen += row_pairs(m, i, keys);
    return seen;
}
