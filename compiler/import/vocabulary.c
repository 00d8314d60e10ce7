/* vocabulary.c: converts the tokenizer of a folder or .gguf file to vocabulary
 * files next to the spec, which refers to them. If any part of the tokenizer is
 * not supported, the model gets no vocabulary and accepts only ids. */
#include <stdlib.h>
#include <string.h>

#include "emit/text/embedded.h"
#include "import/state.h"
#include "tokenizer/tokenizer.h"

/* Returns the scalar map.a.b; NULL if it is absent. */
static const char *text_at(const Yaml *map, const char *a, const char *b)
{
    const Yaml *y = map ? yaml_get(map, a) : NULL;
    if (y && b)
        y = y->kind == YamlMap ? yaml_get(y, b) : NULL;
    return y && y->kind == YamlScalar ? y->text : NULL;
}

/* Returns the spec's path with another ending: "out/model.yaml" becomes
 * "out/model.vocab" for ".vocab". */
static const char *beside(Import *m, const char *ending)
{
    const char *spec = m->o->spec, *dot = strrchr(spec, '.');
    const size_t n = dot && !strchr(dot, '/') ? (size_t)(dot - spec)
                                              : strlen(spec);
    return arena_printf(m->a, "%.*s%s", (int)n, spec, ending);
}

static void refuse_far_tokens(Import *m, int64_t tokens, int64_t rows)
{
    error_at((Pos){ 0 },
             "%s: the tokenizer has %lld tokens, but the table of embeddings "
             "only %lld rows",
             quote(m->o->folder), (long long)tokens, (long long)rows);
    note_at((Pos){ 0 }, "if it is the tokenizer of another model, remove its "
                        "files: the model then takes ids");
    m->scope.failures++;
}

static bool read_side(Import *m, const Yaml *vocab, TextSide side,
                      Vocabulary *v)
{
    static const char *const sides[] = {
        [TextSource] = "source", [TextTarget] = "target"
    };
    const char *size = sides[side] ? text_at(vocab, sides[side], "size") : NULL;
    size = size ? size : text_at(vocab, "size", NULL);
    size = size ? size : text_at(vocab, "source", "size");
    VocabularyFrom from = { .folder = m->o->folder,
                            .side = side,
                            .size = size ? strtoll(size, NULL, 10) : -1 };
    bool found = false;
    Fault why;
    const bool gguf = m->gguf.kind == ValueMap;
    from.classes = embedded_text(gguf ? "import/gguf_splitting.json"
                                      : "import/tokenizers.json",
                                 &from.classes_bytes);
    if (gguf ? vocabulary_of_gguf(&from, v, &found, &why)
             : vocabulary_of_folder(&from, v, &found, &why)) {
        if (found && v->tokens < from.size)
            note_once("%s: the tokenizer has %lld tokens and the table of "
                      "embeddings %lld rows: the other rows are padding",
                      quote(m->o->folder), (long long)v->tokens,
                      (long long)from.size);
        return found;
    }
    end_if_fatal(&why);
    if (from.size > 0 && v->tokens > from.size) {
        refuse_far_tokens(m, v->tokens, from.size);
        return false;
    }
    warning_once("%s: the model takes ids, not text", why.text);
    return false;
}

/* Moves a vocabulary to the import's arena. Returns its file name as the spec
 * contains it. */
static Yaml *keep(Import *m, Imported *to, Vocabulary *v, const char *ending)
{
    ImportedVocab *kept = &to->vocab[to->vocabs++];
    const char *path = beside(m, ending);
    void *block = arena_alloc(m->a, (size_t)v->bytes);
    memcpy(block, v->block, (size_t)v->bytes);
    *kept = (ImportedVocab){ path, block, v->bytes };
    free(v->block);
    return scalar_new(m->a, base_name(path), false);
}

static void set_side(Import *m, Yaml *vocab, const char *side, Yaml *size,
                     Yaml *file)
{
    Yaml *map = map_take(vocab, side);
    if (!map || map->kind != YamlMap)
        map = map_new(m->a);
    if (size && !yaml_get(map, "size"))
        map_set(m->a, map, "size", size);
    map_set(m->a, map, "file", file);
    map_set(m->a, vocab, side, map);
}

/* ---- tokens ---- */

static bool is_beyond(const Yaml *id, int64_t size)
{
    return id->kind == YamlScalar && strtoll(id->text, NULL, 10) >= size;
}

/* Returns the value of a token's field without ids that are not below `size`;
 * NULL if none is left. */
static Yaml *ids_below(Import *m, Yaml *ids, int64_t size)
{
    if (ids->kind == YamlScalar)
        return is_beyond(ids, size) ? NULL : ids;
    Yaml *list = arena_alloc(m->a, sizeof *list);
    *list = (Yaml){ .kind = YamlList, .pos = ids->pos };
    for (int i = 0; i < ids->items.n; i++)
        if (!is_beyond(ids->items.at[i], size))
            vec_push(m->a, &list->items, ids->items.at[i]);
    return list->items.n == ids->items.n ? ids : list->items.n ? list : NULL;
}

void vocabulary_drop_far(Import *m, Yaml *spec)
{
    static const char *const names[][2] = { { "end", "eos_token_id" },
                                            { "pad", "pad_token_id" } };
    const Yaml *vocab = yaml_get(spec, "vocab");
    const char *size = text_at(vocab, "size", NULL);
    size = size ? size : text_at(vocab, "target", "size");
    Yaml *tokens = vocab ? (Yaml *)yaml_get(vocab, "tokens") : NULL;
    const int64_t count = size ? strtoll(size, NULL, 10) : 0;
    for (int i = 0; count > 0 && tokens && i < 2; i++) {
        Yaml *ids = (Yaml *)yaml_get(tokens, names[i][0]);
        Yaml *kept = ids ? ids_below(m, ids, count) : NULL;
        if (!ids || kept == ids)
            continue;
        const ConfigKey *k = generation_key(m, names[i][1]);
        warning_at(k ? k->pos : (Pos){ 0 },
                   "%s has an id that is not below the size of the vocabulary, "
                   "%s: it is left out",
                   names[i][1], size);
        map_take(tokens, names[i][0]);
        if (kept)
            map_set(m->a, tokens, names[i][0], kept);
    }
}

/* Adds the vocabulary files of both sides to the spec. The size is the one that
 * both sides share, or else the source's for each. */
static void set_sides(Import *m, Yaml *vocab, Yaml *source, Yaml *target)
{
    const Yaml *first = yaml_get(vocab, "source");
    Yaml *size = map_take(vocab, "size");
    if (!size && first && first->kind == YamlMap)
        size = yaml_get(first, "size");
    map_take(vocab, "shared");
    set_side(m, vocab, "source", size, source);
    set_side(m, vocab, "target", size, target);
}

static bool same_tokens(const Vocabulary *a, const Vocabulary *b)
{
    return a->bytes == b->bytes
        && memcmp(a->block, b->block, (size_t)a->bytes) == 0;
}

void vocabularies_read(Import *m, Yaml *spec, Imported *to)
{
    const char *kind = text_at(spec, "kind", NULL);
    Yaml *vocab = (Yaml *)yaml_get(spec, "vocab");
    Vocabulary source, target;
    if (!vocab || vocab->kind != YamlMap || is_stream(m->o->spec))
        return;
    if (!kind || strcmp(kind, "encoder-decoder") != 0) {
        if (read_side(m, vocab, TextAlone, &source))
            map_set(m->a, vocab, "file", keep(m, to, &source, ".vocab"));
        return;
    }
    if (!read_side(m, vocab, TextSource, &source))
        return;
    if (!read_side(m, vocab, TextTarget, &target)) {
        free(source.block);
        return;
    }
    if (text_at(vocab, "size", NULL) && same_tokens(&source, &target)) {
        free(target.block);
        map_set(m->a, vocab, "file", keep(m, to, &source, ".vocab"));
        return;
    }
    Yaml *one = keep(m, to, &source, ".source.vocab");
    set_sides(m, vocab, one, keep(m, to, &target, ".target.vocab"));
}
