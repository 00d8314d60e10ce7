/* tokenizer_json.c: reads a tokenizer.json of the package `tokenizers`. */
#include "tokenizer/reader.h"

/* True if a step has this type, or if its list contains a step of this type. */
static bool has_type(const json_t *o, const char *type)
{
    const json_t *list = json_object_get(o, "pretokenizers");
    bool has = strcmp(type_name(o), type) == 0;
    for (size_t i = 0; i < json_array_size(list) && !has; i++)
        has = has_type(json_array_get(list, i), type);
    return has;
}

/* Decodes the tokens of a byte-level vocabulary, in which each letter stands
 * for a byte. */
void decode_letters(Reader *r)
{
    for (int64_t i = 0; i < r->t.tokens; i++) {
        Token *t = &r->t.token[i];
        char *text = arena_alloc(r->arena, t->n + 1);
        const size_t n = tokenizer_alphabet(t->at, t->n, text);
        if (n != SIZE_MAX) {
            t->at = text;
            t->n = n;
        }
    }
}

bool tokenizer_json_is(const json_t *root)
{
    return json_is_object(json_object_get(root, "model"));
}

bool tokenizer_json_read(Reader *r, const json_t *root)
{
    static const char *const known[] = { "version",        "truncation",
                                         "padding",        "added_tokens",
                                         "normalizer",     "pre_tokenizer",
                                         "post_processor", "decoder",
                                         "model",          NULL };
    const json_t *split = json_object_get(root, "pre_tokenizer");
    if (!json_only(r, root, "the file", known))
        return false;
    return model_read(r, json_object_get(root, "model"),
                      has_type(split, "ByteLevel"))
        && added_read(r, json_object_get(root, "added_tokens"))
        && normaliser_read(r, json_object_get(root, "normalizer"), "normalizer")
        && splitting_read(r, split, "pre_tokenizer")
        && template_read(r, json_object_get(root, "post_processor"),
                         "post_processor")
        && decoder_read(r, json_object_get(root, "decoder"), "decoder");
}
