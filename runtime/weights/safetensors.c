/* safetensors.c: reads a .safetensors file: the length of the header in 8
 * bytes, a JSON header, then the tensors. The file is mapped and not trusted:
 * every rule of the format is checked before any tensor is read. */
#include <stdlib.h>
#include <string.h>

#include "runtime/files/foreign.h"
#include "runtime/base/json.h"
#include "safetensors.h"

enum { HeaderLimit = 100000000, LengthBytes = 8 };

/* All types of the format. The packer can read all of them except StOther. */
static const struct TypeRow {
    const char *name;
    int bits;
    StType type;
} types[] = {
    { "F32", 32, StF32 },          { "F16", 16, StF16 },
    { "BF16", 16, StBF16 },        { "F64", 64, StF64 },
    { "I32", 32, StI32 },          { "I64", 64, StI64 },
    { "BOOL", 8, StOther },        { "U8", 8, StOther },
    { "I8", 8, StOther },          { "I16", 16, StOther },
    { "U16", 16, StOther },        { "U32", 32, StOther },
    { "U64", 64, StOther },        { "C64", 64, StOther },
    { "F8_E4M3", 8, StOther },     { "F8_E5M2", 8, StOther },
    { "F8_E8M0", 8, StOther },     { "F8_E4M3FNUZ", 8, StOther },
    { "F8_E5M2FNUZ", 8, StOther }, { "F6_E2M3", 6, StOther },
    { "F6_E3M2", 6, StOther },     { "F4", 4, StOther },
};

static const struct TypeRow *type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

/* ---- one tensor's entry ---- */

/* Returns a number of the header if it is an integer >= 0, otherwise -1. */
static int64_t natural(const json_t *j)
{
    json_int_t v = json_is_integer(j) ? json_integer_value(j) : -1;
    return v < 0 ? -1 : (int64_t)v;
}

static bool bad(const Safetensors *s, const char *name, const char *what,
                Fault *why)
{
    return fault(why, ExitInput, "%s: tensor '%.80s': %s", s->file.path, name,
                 what);
}

static bool read_shape(const Safetensors *s, Tensor *t, const json_t *shape,
                       Fault *why)
{
    if (!json_is_array(shape))
        return bad(s, t->name, "'shape' must be a list of sizes", why);
    if (json_array_size(shape) > 8)
        return bad(s, t->name, "more than 8 dimensions", why);
    t->rank = (int)json_array_size(shape);
    t->elements = 1;
    for (int i = 0; i < t->rank; i++) {
        t->dim[i] = natural(json_array_get(shape, (size_t)i));
        if (t->dim[i] < 0)
            return bad(s, t->name, "'shape' must be a list of sizes", why);
        if (__builtin_mul_overflow(t->elements, t->dim[i], &t->elements))
            return bad(s, t->name, "its number of elements overflows", why);
    }
    return true;
}

static bool read_type(const Safetensors *s, Tensor *t, const json_t *dtype,
                      Fault *why)
{
    if (!json_is_string(dtype))
        return bad(s, t->name, "'dtype' must be a string", why);
    t->type_name = json_string_value(dtype);
    const struct TypeRow *row = type_named(t->type_name);
    if (!row)
        return fault(why, ExitInput,
                     "%s: tensor '%.80s': unknown dtype "
                     "'%.80s'",
                     s->file.path, t->name, t->type_name);
    t->type = row->type;
    int64_t bits;
    if (__builtin_mul_overflow(t->elements, (int64_t)row->bits, &bits))
        return bad(s, t->name, "its number of bytes overflows", why);
    if (bits % 8)
        return bad(s, t->name, "does not end at a whole byte", why);
    t->bytes = (size_t)(bits / 8);
    return true;
}

static bool read_offsets(const Safetensors *s, Tensor *t, const json_t *pair,
                         Fault *why)
{
    int64_t from = natural(json_array_get(pair, 0));
    int64_t to = natural(json_array_get(pair, 1));
    if (json_array_size(pair) != 2 || from < 0 || to < 0)
        return bad(s, t->name, "'data_offsets' must be two byte offsets", why);
    if (to < from)
        return bad(s, t->name, "'data_offsets' end before they begin", why);
    size_t room = s->file.size - s->data;
    if ((size_t)to > room)
        return fault(why, ExitInput,
                     "%s: tensor '%.80s': ends at byte %lld of "
                     "the data, which has %zu: the file is cut short",
                     s->file.path, t->name, (long long)to, room);
    if ((size_t)(to - from) != t->bytes)
        return fault(why, ExitInput,
                     "%s: tensor '%.80s': has %lld bytes at "
                     "byte %zu, its shape and dtype need %zu",
                     s->file.path, t->name, (long long)(to - from),
                     s->data + (size_t)from, t->bytes);
    t->at = s->file.at + s->data + from;
    return true;
}

static bool read_tensor(const Safetensors *s, Tensor *t, const char *name,
                        json_t *entry, Fault *why)
{
    t->name = name;
    if (!json_is_object(entry))
        return bad(s, name, "its entry must be an object", why);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value) if (
        strcmp(key, "dtype") && strcmp(key, "shape")
        && strcmp(
            key,
            "data_offsets")) return fault(why, ExitInput,
                                          "%s: tensor '%.80s': unknown key "
                                          "'%.80s'",
                                          s->file.path, name, key);
    return read_shape(s, t, json_object_get(entry, "shape"), why)
        && read_type(s, t, json_object_get(entry, "dtype"), why)
        && read_offsets(s, t, json_object_get(entry, "data_offsets"), why);
}

/* ---- the file ---- */
static bool read_metadata(const Safetensors *s, const json_t *meta, Fault *why)
{
    const char *key;
    json_t *value;
    bool fits = json_is_object(meta);
    json_object_foreach((json_t *)meta, key, value)
        fits = fits && json_is_string(value);
    return fits
        || fault(why, ExitInput,
                 "%s: '__metadata__' must map strings "
                 "to strings",
                 s->file.path);
}

static bool read_tensors(Safetensors *s, Fault *why)
{
    size_t n = json_object_size(s->header);
    s->tensor = calloc(n + 1, sizeof *s->tensor);
    if (!s->tensor)
        return fault(why, ExitResource, "%s: out of memory for %zu tensors",
                     s->file.path, n);
    const char *name;
    json_t *entry;
    json_object_foreach(s->header, name, entry)
    {
        bool done = strcmp(name, "__metadata__") == 0
                      ? read_metadata(s, entry, why)
                      : read_tensor(s, &s->tensor[s->count++], name, entry,
                                    why);
        if (!done)
            return false;
    }
    return true;
}

static bool json_fault(const Safetensors *s, const json_error_t *e, Fault *why)
{
    return fault(why, ExitInput, "%s: header, byte %d: %s", s->file.path,
                 LengthBytes + (e->position < 0 ? 0 : e->position), e->text);
}

/* Returns the length of the header, or -1 with a fault. */
static int64_t header_length(const File *f, Fault *why)
{
    uint64_t n = 0; /* stored little-endian */
    if (f->size <= LengthBytes || f->at[LengthBytes] != '{') {
        if (!foreign_file(f->path, AskedWeights, why))
            fault(why, ExitInput,
                  "%s: does not look like a .safetensors file: no "
                  "header begins with '{' at byte 8; convert other formats",
                  f->path);
        return -1;
    }
    for (int i = LengthBytes - 1; i >= 0; i--)
        n = n << 8 | f->at[i];
    if (n == 0 || n > HeaderLimit) {
        fault(why, ExitInput,
              "%s: byte 0: claims a header of %llu bytes, 1 "
              "to %d are allowed",
              f->path, (unsigned long long)n, HeaderLimit);
        return -1;
    }
    if (n > f->size - LengthBytes) {
        fault(why, ExitInput,
              "%s: byte 0: claims a header of %llu bytes, the "
              "file has %zu after it: it is cut short",
              f->path, (unsigned long long)n, f->size - LengthBytes);
        return -1;
    }
    return (int64_t)n;
}

static bool read_header(Safetensors *s, Fault *why)
{
    const File *f = &s->file;
    int64_t length = header_length(f, why);
    if (length < 0)
        return false;
    const char *text = (const char *)f->at + LengthBytes;
    const size_t n = (size_t)length;
    json_error_t e;
    const JsonText json = { f->path, text, n, .followed = true };
    if (!json_read(&s->header, &json, &e, why))
        return false;
    if (!s->header)
        return json_fault(s, &e, why);
    for (size_t i = (size_t)e.position; i < n; i++)
        if (text[i] != ' ')
            return fault(why, ExitInput,
                         "%s: byte %zu: only spaces may follow "
                         "the header",
                         f->path, LengthBytes + i);
    s->data = LengthBytes + n;
    return true;
}

/* ---- the tensors' places ---- */
static int by_place(const void *a, const void *b)
{
    const Tensor *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    /* an empty tensor precedes a tensor that begins at the same byte */
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const Tensor *)a)->name, ((const Tensor *)b)->name);
}

void safetensors_sort(Safetensors *s)
{
    qsort(s->tensor, (size_t)s->count, sizeof *s->tensor, by_name);
}

/* Checks that every byte of the data belongs to exactly one tensor. */
static bool check_places(Safetensors *s, Fault *why)
{
    qsort(s->tensor, (size_t)s->count, sizeof *s->tensor, by_place);
    size_t end = s->data;
    for (int i = 0; i < s->count; i++) {
        const Tensor *t = &s->tensor[i];
        size_t at = (size_t)(t->at - s->file.at);
        if (at < end)
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': begins at byte "
                         "%zu, inside '%.80s'",
                         s->file.path, t->name, at, t[-1].name);
        if (at > end)
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': begins at byte "
                         "%zu, bytes from %zu belong to no tensor",
                         s->file.path, t->name, at, end);
        end += t->bytes;
    }
    if (end != s->file.size)
        return fault(why, ExitInput,
                     "%s: byte %zu: the last tensor ends here, "
                     "the file goes on to %zu",
                     s->file.path, end, s->file.size);
    safetensors_sort(s);
    return true;
}

static bool read_file(Safetensors *s, const char *path, Fault *why)
{
    if (!file_map(&s->file, path, why)) {
        s->file = (File){ 0 }; /* so that safetensors_close() closes no file */
        return false;
    }
    return read_header(s, why) && read_tensors(s, why) && check_places(s, why);
}

Safetensors *safetensors_file(const char *path, Fault *why)
{
    Safetensors *s = calloc(1, sizeof *s);
    if (!s) {
        fault(why, ExitResource, "%s: out of memory", path);
        return NULL;
    }
    if (read_file(s, path, why))
        return s;
    safetensors_close(s);
    return NULL;
}

void safetensors_close(Safetensors *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->shards; i++) {
        safetensors_close(s->shard[i].file);
        free(s->shard[i].names);
        free(s->shard[i].path);
    }
    free(s->shard);
    json_decref(s->header);
    free(s->tensor);
    file_close(&s->file);
    free(s);
}

/* Returns a list with space for `count` tensors of other files, or NULL if
 * memory runs out. */
static Safetensors *view_of(const Safetensors *s, int count)
{
    Safetensors *to = calloc(1, sizeof *to);
    Tensor *tensor = calloc((size_t)count + 1, sizeof *tensor);
    if (!to || !tensor) {
        free(to);
        free(tensor);
        return NULL;
    }
    to->file.path = s->file.path;
    to->tensor = tensor;
    to->count = count;
    return to;
}

Safetensors *safetensors_renamed(const Safetensors *s, const char *const *names)
{
    Safetensors *to = view_of(s, s->count);
    for (int i = 0; to && i < s->count; i++) {
        to->tensor[i] = s->tensor[i];
        to->tensor[i].name = names[i];
    }
    if (to)
        safetensors_sort(to);
    return to;
}

Safetensors *safetensors_doubled(const Safetensors *s, int at, const char *name)
{
    Safetensors *to = view_of(s, s->count + 1);
    for (int i = 0; to && i <= s->count; i++)
        to->tensor[i] = s->tensor[i < s->count ? i : at];
    if (to) {
        to->tensor[s->count].name = name;
        safetensors_sort(to);
    }
    return to;
}

Safetensors *safetensors_joined(const Safetensors *s, const Safetensors *other,
                                const char *const *names)
{
    Safetensors *to = view_of(s, s->count + other->count);
    for (int i = 0; to && i < s->count; i++)
        to->tensor[i] = s->tensor[i];
    for (int i = 0; to && i < other->count; i++) {
        to->tensor[s->count + i] = other->tensor[i];
        to->tensor[s->count + i].name = names[i];
    }
    if (to)
        safetensors_sort(to);
    return to;
}

int safetensors_count(const Safetensors *s)
{
    return s->count;
}

const Tensor *safetensors_at(const Safetensors *s, int i)
{
    return &s->tensor[i];
}

const Tensor *safetensors_find(const Safetensors *s, const char *name)
{
    Tensor key = { .name = name };
    return bsearch(&key, s->tensor, (size_t)s->count, sizeof key, by_name);
}

const char *safetensors_path(const Safetensors *s)
{
    return s->file.path;
}

const File *safetensors_file_at(const Safetensors *s, int i)
{
    if (s->shards > 0)
        return i < s->shards ? &s->shard[i].file->file : NULL;
    return i == 0 ? &s->file : NULL;
}

bool safetensors_unchanged(const Safetensors *s, Fault *why)
{
    const File *f;
    for (int i = 0; (f = safetensors_file_at(s, i)); i++)
        if (!file_unchanged(f))
            return fault(why, ExitIO,
                         "%s: was changed while it was read: run it again when "
                         "it is whole",
                         f->path);
    return true;
}
