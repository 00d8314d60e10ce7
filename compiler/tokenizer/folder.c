/* folder.c: reads the tokenizer of a checkpoint folder: tokenizer.json or,
 * without one, the files that its class names; then the tokens that have a
 * role, and tokens added by other files. */
#include <stdlib.h>

#include "tokenizer/folder.h"

/* ---- added tokens ---- */

/* Reads added_tokens_decoder, e.g. {"0": {"content": "[PAD]"}}. */
static bool read_decoder(Folder *f)
{
    const json_t *list = json_value(f->config, "added_tokens_decoder");
    const char *key;
    json_t *o;
    json_object_foreach((json_t *)list, key, o)
    {
        char *end;
        const char *place = arena_printf(f->r->arena, "added_tokens_decoder.%s",
                                         quote(key));
        const long id = strtol(key, &end, 10);
        Added a;
        if (*end || end == key)
            return refuse(f->r, "%s: this is no id", place);
        if (!added_of(f->r, o, place, id, &a))
            return false;
        if (f->by_class)
            a.flags &= ~ATTN_ADDED_NORMALISED; /* match in the raw text only */
        if (!added_put(f->r, place, a))
            return false;
    }
    return true;
}

/* Reads added_tokens.json, e.g. {"<mask>": 250001}. */
static bool read_added(Folder *f)
{
    const char *path = folder_file(f, "added_tokens.json"), *key;
    const json_t *list = path ? reader_json(f->r, path) : NULL;
    json_t *id;
    if (path && !list)
        return false;
    json_object_foreach((json_t *)list, key, id)
    {
        const json_int_t n = json_integer_value(id);
        if (!json_is_integer(id) || n < 0 || n >= MostIds)
            return refuse(f->r, "the id of '%s' is 0 to %d", quote(key),
                          MostIds - 1);
        if (!added_put(f->r, "the file",
                       (Added){ text_of(key), (int32_t)n,
                                ATTN_ADDED_NORMALISED }))
            return false;
    }
    return true;
}

/* ---- roles ---- */

static void find_roles(Folder *f)
{
    for (int i = 0; i < Roles; i++) {
        const Text text = folder_role(f, (Role)i);
        f->role[i] = text.at ? token_find(f->r, text) : -1;
    }
    VocabTokens *s = &f->r->t.special;
    s->start = f->role[RoleBegin] >= 0 ? f->role[RoleBegin] : s->start;
    s->end = f->role[RoleEnd] >= 0 ? f->role[RoleEnd] : s->end;
    s->pad = f->role[RolePad] >= 0 ? f->role[RolePad] : s->pad;
    if (s->unknown < 0 && f->r->t.kind != ATTN_RANKS)
        s->unknown = f->role[RoleUnknown];
}

static Text language_text(const Folder *f, const char *code)
{
    const char *form = json_string_value(json_object_get(f->class, "language"));
    const char *at = form ? strchr(form, '%') : NULL;
    return text_of(at ? arena_printf(f->r->arena, "%.*s%s%s", (int)(at - form),
                                     form, code, at + 1)
                      : code);
}

/* Finds the language of this side. In the template, its token replaces the
 * token of the default source language. */
static bool find_language(Folder *f)
{
    const bool target = f->from->side == TextTarget;
    const char *default_code = json_string_value(folder_key(f, "src_lang"));
    const char *code = json_string_value(
        folder_key(f, target ? "tgt_lang" : "src_lang"));
    Tokenizer *t = &f->r->t;
    code = f->from->language ? f->from->language : code;
    f->language = -1;
    if (!code)
        return true;
    f->language = token_find(f->r, language_text(f, code));
    if (f->language < 0 && f->from->language)
        return refuse(f->r,
                      "'%s' is no language of this tokenizer; its "
                      "additional_special_tokens list them",
                      quote(code));
    const int32_t old = default_code
                          ? token_find(f->r, language_text(f, default_code))
                          : -1;
    for (int i = 0; i < t->singles && old >= 0 && f->language >= 0; i++)
        if (t->single[i].id == old)
            t->single[i].id = f->language;
    for (int i = 0; i < t->pairs && old >= 0 && f->language >= 0; i++)
        if (t->pair[i].id == old)
            t->pair[i].id = f->language;
    return true;
}

/* ---- folder ---- */

static const json_t *read_beside(Folder *f, const char *name, bool *ok)
{
    const char *path = *ok ? folder_file(f, name) : NULL;
    const json_t *root = path ? reader_config(f->r, path) : NULL;
    *ok = *ok && (!path || root);
    return root;
}

/* Finds the row of tokenizer_class. The name may also end in "Fast". */
static bool find_class(Folder *f)
{
    const char *name = json_string_value(
        json_value(f->config, "tokenizer_class"));
    json_error_t wrong;
    json_t *rows = NULL;
    if (!f->from->classes || !name)
        return true;
    const JsonText text = { "classes of tokenizers", f->from->classes,
                            f->from->classes_bytes, false, false };
    if (!json_read(&rows, &text, &wrong, f->r->why))
        return false;
    if (!rows)
        die("classes of tokenizers: line %d: %s", wrong.line, wrong.text);
    vec_push(f->r->arena, &f->r->json, rows);
    size_t n = strlen(name);
    if (n > 4 && strcmp(name + n - 4, "Fast") == 0)
        n -= 4;
    f->class = json_object_getn(rows, name, n);
    const char *same = json_string_value(f->class);
    f->class = same ? json_object_get(rows, same) : f->class;
    return true;
}

static bool read_tokenizer(Folder *f, bool *found)
{
    const char *path = folder_file(f, "tokenizer.json");
    *found = path != NULL;
    f->by_class = !path;
    if (!path)
        return class_read(f, found);
    const json_t *root = reader_json(f->r, path);
    return root && tokenizer_json_read(f->r, root);
}

static bool read_folder(Folder *f, bool *found)
{
    bool ok = true;
    f->config = read_beside(f, "tokenizer_config.json", &ok);
    f->map = read_beside(f, "special_tokens_map.json", &ok);
    if (!ok || !find_class(f) || !read_tokenizer(f, found) || !*found)
        return ok && !f->r->why->code;
    f->r->path = f->r->t.path = f->from->folder;
    if (!read_decoder(f) || !read_added(f))
        return false;
    f->r->path = f->r->t.path = f->from->folder;
    if (!class_languages(f))
        return false;
    find_roles(f);
    if (!find_language(f) || !class_template(f))
        return false;
    if (f->r->t.flags & ATTN_MODEL_BYTES)
        decode_letters(f->r);
    return true;
}

static void fill_specials(const Folder *f, Vocabulary *v)
{
    const json_t *length = json_value(f->config, "model_max_length");
    const Tokenizer *t = &f->r->t;
    const double most = json_number_value(length);
    v->size = t->tokens - t->extra;
    v->begin = f->role[RoleBegin];
    v->end = f->role[RoleEnd];
    v->pad = f->role[RolePad];
    v->unknown = f->role[RoleUnknown] >= 0 ? f->role[RoleUnknown]
                                           : t->special.unknown;
    v->mask = f->role[RoleMask];
    v->class_token = f->role[RoleClass];
    v->separator = f->role[RoleSeparator];
    v->language = f->language;
    v->length = most > 0 && most < 1e9 ? (int64_t)most : 0;
    v->template_adds = t->singles > 1;
    v->kind = f->r->kind;
}

bool vocabulary_of_folder(const VocabularyFrom *from, Vocabulary *v,
                          bool *found, Fault *why)
{
    Reader r;
    Folder f = { .r = &r, .from = from };
    *v = (Vocabulary){ 0 };
    *found = false;
    *why = (Fault){ 0 };
    reader_open(&r, why);
    bool ok = read_folder(&f, found);
    v->tokens = ok ? r.t.tokens - r.t.extra : 0;
    if (ok && *found && tokens_fit(&r, from->size)) {
        fill_specials(&f, v);
        v->block = tokenizer_block(&r.t, &v->bytes, why);
    }
    reader_close(&r);
    return ok && (!*found || v->block);
}
