/* reader.c: holds the files of a tokenizer until its block is made, and rejects
 * invalid JSON. */
#include <stdarg.h>
#include <stdio.h>

#include "tokenizer/reader.h"

void reader_open(Reader *r, Fault *why)
{
    *r = (Reader){ .arena = arena_new(), .why = why };
    r->t.special = (VocabTokens){ 0, -1, -1, -1, -1, 0 };
}

void reader_close(Reader *r)
{
    for (int i = 0; i < r->json.n; i++)
        json_decref(r->json.at[i]);
    for (int i = 0; i < r->files; i++)
        file_close(&r->file[i]);
    arena_free(r->arena);
}

const File *reader_file(Reader *r, const char *path)
{
    File *f = &r->file[r->files];
    r->path = r->t.path = arena_strdup(r->arena, path);
    if (r->files == (int)(sizeof r->file / sizeof *r->file))
        die("more than %d files of a tokenizer", r->files);
    if (!file_read(f, r->path, TokenizerLimit, r->why))
        return NULL;
    r->files++;
    return f;
}

static const json_t *read_json(Reader *r, const char *path, bool reals)
{
    const File *f = reader_file(r, path);
    json_error_t wrong;
    json_t *root;
    if (!f)
        return NULL;
    const size_t mark = file_mark(f);
    const JsonText json = { f->path, (const char *)f->at + mark, f->size - mark,
                            false, reals };
    if (!json_read(&root, &json, &wrong, r->why))
        return NULL;
    if (!root) {
        fault(r->why, ExitInput, "%s:%d:%d: %s", f->path, wrong.line,
              wrong.column, wrong.text);
        return NULL;
    }
    vec_push(r->arena, &r->json, root);
    if (json_is_object(root))
        return root;
    refuse(r, "an object is expected");
    return NULL;
}

const json_t *reader_json(Reader *r, const char *path)
{
    return read_json(r, path, false);
}

const json_t *reader_config(Reader *r, const char *path)
{
    return read_json(r, path, true);
}

Text text_of(const char *s)
{
    return (Text){ s, strlen(s) };
}

bool text_is(Text t, const char *s)
{
    return t.n == strlen(s) && memcmp(t.at, s, t.n) == 0;
}

/* ---- messages ---- */

bool refuse(Reader *r, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return fault(r->why, ExitInput, "%s: %s", r->path, text);
}

bool refuse_unknown(Reader *r, const char *place, const char *what,
                    const char *name)
{
    return refuse(r,
                  "%s: %s '%s' is not known here; docs/generate.md, "
                  "Tokenizers, lists those that are",
                  place, what, quote(name));
}

/* ---- JSON ---- */

bool json_only(Reader *r, const json_t *object, const char *place,
               const char *const *known)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return refuse(r, "%s: an object is expected", place);
    json_object_foreach((json_t *)object, key, value)
    {
        int i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return refuse_unknown(r, place, "option", key);
    }
    return true;
}

bool json_flag(Reader *r, const json_t *object, const char *place,
               const char *key, bool default_value, bool *to)
{
    const json_t *v = json_object_get(object, key);
    *to = v && !json_is_null(v) ? json_is_true(v) : default_value;
    if (!v || json_is_null(v) || json_is_boolean(v))
        return true;
    return refuse(r, "%s.%s: true or false is expected", place, key);
}

bool json_text(Reader *r, const json_t *object, const char *place,
               const char *key, const char *default_value, Text *to)
{
    const json_t *v = json_object_get(object, key);
    *to = default_value ? text_of(default_value) : (Text){ 0 };
    if (!v || json_is_null(v))
        return true;
    if (!json_is_string(v))
        return refuse(r, "%s.%s: a string is expected", place, key);
    *to = (Text){ json_string_value(v), json_string_length(v) };
    return true;
}

bool json_int(Reader *r, const json_t *object, const char *place,
              const char *key, int64_t default_value, int64_t *to)
{
    const json_t *v = json_object_get(object, key);
    *to = default_value;
    if (!v || json_is_null(v))
        return true;
    if (!json_is_integer(v))
        return refuse(r, "%s.%s: an integer is expected", place, key);
    *to = json_integer_value(v);
    return true;
}
