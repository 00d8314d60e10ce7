/* gguf.c: reads a .gguf file: a head, keys with typed values, the list of
 * tensors, then their data at multiples of general.alignment. The file is
 * mapped and not trusted: each count, length and offset is checked against the
 * remaining bytes before anything is read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf.h"
#include "safetensors.h"

enum {
    MostMetadata = 1 << 24, /* maximum values, including those in lists */
    MostDims = 4,           /* maximum dimensions of a tensor, by the format */
    MostName = 65535,       /* maximum bytes of a key */
    DefaultAlignment = 32
};

typedef struct { /* a reader of a file, at byte `at` */
    const File *file;
    size_t at;
    int64_t values; /* number of metadata values so far */
    Fault *why;
} Cursor;

static bool bad_gguf(const Cursor *c, size_t at, const char *what)
{
    return fault(c->why, ExitInput, "%s: byte %zu: %s", c->file->path, at,
                 what);
}

static bool has_magic(const File *f)
{
    return f->size >= 4 && memcmp(f->at, "GGUF", 4) == 0;
}

bool is_gguf(const char *path)
{
    File f;
    Fault why;
    if (!file_map(&f, path, &why))
        return false;
    const bool is = has_magic(&f);
    file_close(&f);
    return is;
}

/* ---- values ---- */

static bool read_number(Cursor *c, int bytes, uint64_t *to)
{
    *to = 0;
    if (c->file->size - c->at < (size_t)bytes)
        return bad_gguf(c, c->file->size, "ends in its head: it is cut short");
    for (int i = bytes - 1; i >= 0; i--)
        *to = *to << 8 | c->file->at[c->at + (size_t)i];
    c->at += (size_t)bytes;
    return true;
}

/* Reads a string, which has no terminating NUL. */
static bool read_gguf_text(Cursor *c, const char **text, size_t *n)
{
    const size_t from = c->at;
    uint64_t bytes;
    if (!read_number(c, 8, &bytes))
        return false;
    if (bytes > c->file->size - c->at)
        return bad_gguf(c, from,
                        "a text is longer than what is left of the file");
    *text = (const char *)c->file->at + c->at;
    *n = (size_t)bytes;
    c->at += (size_t)bytes;
    return true;
}

static bool no_memory(const Cursor *c)
{
    return fault(c->why, ExitResource, "%s: out of memory", c->file->path);
}

/* Returns a copy of a text. Returns NULL, with a fault, if the text is not
 * UTF-8 or memory runs out. */
static json_t *own_text(Cursor *c, size_t from, const char *text, size_t n)
{
    if (attn_utf8(text, (int64_t)n) != (int64_t)n) {
        bad_gguf(c, from, "a text is not UTF-8");
        return NULL;
    }
    json_t *to = json_stringn(text, n);
    if (!to)
        no_memory(c);
    return to;
}

static json_t *text_value(Cursor *c)
{
    const size_t from = c->at;
    const char *text;
    size_t n;
    return read_gguf_text(c, &text, &n) ? own_text(c, from, text, n) : NULL;
}

enum { TypeBool = 7, TypeText = 8, TypeList = 9 };
typedef enum { Natural, Signed, Real, Other } ValueKind;

/* By number of a type: its size in bytes; for a text or a list, the minimum.
 * Comments give the bits of numbers. */
static const struct {
    int bytes;
    ValueKind kind;
} value_types[] = {
    { 1, Natural }, { 1, Signed }, { 2, Natural }, { 2, Signed }, /* 8, 16 */
    { 4, Natural }, { 4, Signed }, { 4, Real },                   /* 32 */
    { 1, Other },   { 8, Other },  { 12, Other }, /* bool, text, list */
    { 8, Natural }, { 8, Signed }, { 8, Real },   /* 64 */
};
enum { ValueTypes = sizeof value_types / sizeof *value_types };

/* Returns a number as a double. For a 32-bit float, that is the double of its
 * shortest decimal, so that 0.001 becomes the double 0.001. */
static double real_of(uint64_t bits, int bytes)
{
    float single;
    double wide;
    char text[32];
    const uint32_t low = (uint32_t)bits;
    memcpy(&single, &low, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    if (bytes != 4 || !isfinite(single))
        return bytes == 4 ? (double)single : wide;
    for (int digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)single);
        if (strtof(text, NULL) == single)
            return strtod(text, NULL);
    }
    return (double)single;
}

static json_t *number_value(Cursor *c, uint64_t type)
{
    const int bytes = value_types[type].bytes, unused = 64 - 8 * bytes;
    const size_t from = c->at;
    uint64_t bits;
    json_t *to = NULL;
    if (!read_number(c, bytes, &bits))
        return NULL;
    if (value_types[type].kind == Real) {
        to = json_real(real_of(bits, bytes));
    } else if (value_types[type].kind == Signed) {
        const uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        to = json_integer((json_int_t)(int64_t)((bits ^ sign) - sign));
    } else if (unused > 0 || bits <= INT64_MAX) {
        to = json_integer((json_int_t)bits);
    }
    if (!to)
        bad_gguf(c, from, "a number that is not finite, or too large");
    return to;
}

static json_t *bool_value(Cursor *c)
{
    uint64_t bits;
    if (!read_number(c, 1, &bits))
        return NULL;
    if (bits > 1) {
        bad_gguf(c, c->at - 1, "a truth value that is neither 0 nor 1");
        return NULL;
    }
    return json_boolean(bits);
}

static json_t *plain_value(Cursor *c, uint64_t type)
{
    if (type == TypeText)
        return text_value(c);
    return type == TypeBool ? bool_value(c) : number_value(c, type);
}

static bool read_gguf_type(Cursor *c, uint64_t *type)
{
    if (!read_number(c, 4, type))
        return false;
    return *type < ValueTypes
        || bad_gguf(c, c->at - 4, "a value of unknown type");
}

/* Reads the type and the number of the values in a list. */
static bool read_list(Cursor *c, uint64_t *type, uint64_t *n)
{
    const size_t from = c->at;
    if (!read_gguf_type(c, type) || !read_number(c, 8, n))
        return false;
    if (*type == TypeList)
        return bad_gguf(c, from, "a list of lists");
    const uint64_t left = c->file->size - c->at;
    if (*n > left / (uint64_t)value_types[*type].bytes)
        return bad_gguf(c, from,
                        "a list is longer than what is left of the file");
    c->values += (int64_t)*n;
    return c->values <= MostMetadata
        || bad_gguf(c, from, "more than 16777216 values before the tensors");
}

static json_t *list_value(Cursor *c)
{
    uint64_t type, n;
    if (!read_list(c, &type, &n))
        return NULL;
    json_t *to = json_array(), *item;
    for (uint64_t i = 0; to && i < n; i++) {
        item = plain_value(c, type);
        if (!item || json_array_append_new(to, item) != 0) {
            json_decref(to);
            return NULL;
        }
    }
    return to;
}

static bool skip_value(Cursor *c, uint64_t type)
{
    const char *text;
    size_t length;
    uint64_t n = 1;
    if (type == TypeList && !read_list(c, &type, &n))
        return false;
    for (uint64_t i = 0; type == TypeText && i < n; i++)
        if (!read_gguf_text(c, &text, &length))
            return false;
    if (type == TypeText)
        return true;
    const uint64_t bytes = n * (uint64_t)value_types[type].bytes;
    if (bytes > c->file->size - c->at)
        return bad_gguf(c, c->file->size, "ends in its head: it is cut short");
    c->at += (size_t)bytes;
    return true;
}

/* ---- head ---- */

typedef struct {
    uint64_t tensors, pairs;
    uint64_t alignment; /* alignment of tensor data */
} Head;

static bool read_head(Cursor *c, Head *h)
{
    uint64_t version;
    if (!has_magic(c->file))
        return bad_gguf(c, 0, "does not look like a .gguf file");
    c->at = 4;
    if (!read_number(c, 4, &version))
        return false;
    if (version == 0 || version > UINT16_MAX)
        return bad_gguf(c, 4,
                        "numbers are big-endian, or this is no gguf file");
    if (version < 2 || version > 3)
        return bad_gguf(c, 4,
                        "versions 2 and 3 of gguf can be read: make the "
                        "file anew");
    h->alignment = DefaultAlignment;
    if (!read_number(c, 8, &h->tensors) || !read_number(c, 8, &h->pairs))
        return false;
    /* minimum bytes of a tensor's entry, and of a key with its value */
    if (h->tensors > (c->file->size - c->at) / 24)
        return bad_gguf(c, 8, "more tensors than the file has bytes for");
    if (h->pairs > (c->file->size - c->at) / 13)
        return bad_gguf(c, 16, "more keys than the file has bytes for");
    c->values = (int64_t)h->pairs;
    return c->values <= MostMetadata
        || bad_gguf(c, 16, "more than 16777216 values before the tensors");
}

static bool is_key(const char *text, size_t n, const char *key)
{
    return n == strlen(key) && memcmp(text, key, n) == 0;
}

static bool read_alignment(Cursor *c, Head *h, uint64_t type)
{
    const size_t from = c->at;
    if (type >= ValueTypes || value_types[type].kind != Natural)
        return bad_gguf(c, from, "general.alignment is no number");
    if (!read_number(c, value_types[type].bytes, &h->alignment))
        return false;
    const bool power = h->alignment > 0 && h->alignment <= 1 << 20
                    && (h->alignment & (h->alignment - 1)) == 0;
    return power || bad_gguf(c, from, "general.alignment is no power of 2");
}

static bool read_key(Cursor *c, const char **key, size_t *n)
{
    const size_t from = c->at;
    if (!read_gguf_text(c, key, n))
        return false;
    if (*n == 0 || *n > MostName || memchr(*key, 0, *n))
        return bad_gguf(c, from,
                        "a name of 1 to 65535 bytes without NUL is "
                        "expected");
    return true;
}

static bool keep_pair(Cursor *c, json_t *to, const char *key, uint64_t type)
{
    const size_t from = c->at;
    if (json_object_get(to, key))
        return bad_gguf(c, from, "its key is there twice");
    json_t *value = type == TypeList ? list_value(c) : plain_value(c, type);
    if (!value)
        return false;
    return json_object_set_new(to, key, value) == 0 || no_memory(c);
}

/* Reads a key and its value. */
static bool read_pair(Cursor *c, Head *h, json_t *to)
{
    const char *key;
    size_t n;
    uint64_t type;
    const size_t from = c->at;
    if (!read_key(c, &key, &n) || !read_gguf_type(c, &type))
        return false;
    Cursor ahead = *c;
    if (is_key(key, n, "general.alignment") && !read_alignment(&ahead, h, type))
        return false;
    if (!to)
        return skip_value(c, type);
    json_t *own = own_text(c, from, key, n);
    const bool ok = own && keep_pair(c, to, json_string_value(own), type);
    json_decref(own);
    return ok;
}

/* Reads all pairs of a key and a value into `to`; NULL: skips them. */
static bool read_pairs(Cursor *c, Head *h, json_t *to)
{
    for (uint64_t i = 0; i < h->pairs; i++)
        if (!read_pair(c, h, to))
            return false;
    return true;
}

json_t *gguf_metadata(const char *path, Fault *why)
{
    File f;
    Head head;
    if (!file_map(&f, path, why))
        return NULL;
    Cursor c = { .file = &f, .why = why };
    json_t *to = json_object();
    bool ok = to || no_memory(&c);
    ok = ok && read_head(&c, &head) && read_pairs(&c, &head, to);
    file_close(&f);
    if (ok)
        return to;
    json_decref(to);
    return NULL;
}

/* ---- tensors ---- */

/* All types that ggml has or had, by number, with the elements and bytes of a
 * block. A type without bytes cannot be read. */
static const struct {
    const char *name;
    StType type;
    int elements, bytes;
} tensor_types[] = {
#define BLOCKS(number, name, elements, bytes, floats)                         \
    [number] = { #name, St##name, elements, bytes },
#define NONE(number, name) [number] = { name, StOther, 1, 0 },
    [0] = { "F32", StF32, 1, 4 },
    [1] = { "F16", StF16, 1, 2 },
    [24] = { "I8", StOther, 1, 1 },
    [25] = { "I16", StOther, 1, 2 },
    [26] = { "I32", StI32, 1, 4 },
    [27] = { "I64", StI64, 1, 8 },
    [28] = { "F64", StF64, 1, 8 },
    [30] = { "BF16", StBF16, 1, 2 },
    BLOCK_TYPES(BLOCKS) NONE(4, "Q4_2") NONE(5, "Q4_3") NONE(9, "Q8_1")
        NONE(15, "Q8_K") NONE(16, "IQ2_XXS") NONE(17, "IQ2_XS")
            NONE(18, "IQ3_XXS") NONE(19, "IQ1_S") NONE(21, "IQ3_S")
                NONE(22, "IQ2_S") NONE(29, "IQ1_M") NONE(31, "Q4_0_4_4")
                    NONE(32, "Q4_0_4_8") NONE(33, "Q4_0_8_8") NONE(34, "TQ1_0")
                        NONE(35, "TQ2_0") NONE(36, "IQ4_NL_4_4")
                            NONE(37, "IQ4_NL_4_8") NONE(38, "IQ4_NL_8_8")
                                NONE(40, "NVFP4") NONE(41, "Q1_0")
                                    NONE(42, "Q2_0")
};
enum { TensorTypes = sizeof tensor_types / sizeof *tensor_types };

static bool bad_tensor(const Cursor *c, const Tensor *t, const char *what)
{
    return fault(c->why, ExitInput, "%s: tensor '%.80s': %s", c->file->path,
                 t->name, what);
}

static bool read_gguf_shape(Cursor *c, Tensor *t)
{
    uint64_t rank, size;
    if (!read_number(c, 4, &rank))
        return false;
    if (rank > MostDims)
        return bad_tensor(c, t, "more than 4 dimensions");
    t->rank = (int)rank;
    t->elements = 1;
    for (int i = t->rank - 1; i >= 0; i--) {
        if (!read_number(c, 8, &size))
            return false;
        if (size > INT64_MAX
            || __builtin_mul_overflow(t->elements, (int64_t)size, &t->elements))
            return bad_tensor(c, t, "its number of elements overflows");
        t->dim[i] = (int64_t)size;
    }
    return true;
}

static bool read_tensor_type(Cursor *c, const Tensor *t, uint64_t *type)
{
    if (!read_number(c, 4, type))
        return false;
    if (*type >= TensorTypes)
        return fault(c->why, ExitInput,
                     "%s: tensor '%.80s': ggml has no type %llu: the file is "
                     "damaged, or made by a later version of ggml",
                     c->file->path, t->name, (unsigned long long)*type);
    return tensor_types[*type].bytes > 0
        || fault(c->why, ExitInput,
                 "%s: tensor '%.80s': ggml's type %s cannot be read: convert "
                 "the file to another type, such as Q4_K or F16 "
                 "(llama-quantize)",
                 c->file->path, t->name, tensor_types[*type].name);
}

static bool read_storage(Cursor *c, Tensor *t)
{
    uint64_t type;
    if (!read_tensor_type(c, t, &type))
        return false;
    t->type = tensor_types[type].type;
    t->type_name = tensor_types[type].name;
    const int elements = tensor_types[type].elements;
    const int64_t width = t->rank > 0 ? t->dim[t->rank - 1] : 1;
    if (width % elements != 0)
        return fault(c->why, ExitInput,
                     "%s: tensor '%.80s': rows of %lld elements are no whole "
                     "blocks of %d, as type %s needs: make the file anew",
                     c->file->path, t->name, (long long)width, elements,
                     t->type_name);
    int64_t bytes;
    if (__builtin_mul_overflow(t->elements / elements,
                               (int64_t)tensor_types[type].bytes, &bytes))
        return bad_tensor(c, t, "its number of bytes overflows");
    t->bytes = (size_t)bytes;
    return true;
}

/* Reads a tensor's entry. *offset is relative to the start of the data. */
static bool read_entry(Cursor *c, Tensor *t, json_t *names, uint64_t *offset)
{
    const char *name;
    size_t n;
    const size_t from = c->at;
    if (!read_key(c, &name, &n))
        return false;
    json_t *own = own_text(c, from, name, n);
    if (!own)
        return false;
    if (json_array_append_new(names, own) != 0)
        return no_memory(c);
    t->name = json_string_value(own);
    return read_gguf_shape(c, t) && read_storage(c, t)
        && read_number(c, 8, offset);
}

static bool place_tensor(const Cursor *c, const Head *h, size_t data, Tensor *t,
                         uint64_t offset)
{
    const size_t room = c->file->size - data;
    if (offset % h->alignment != 0)
        return bad_tensor(c, t, "its data are not aligned");
    if (offset > room || t->bytes > room - (size_t)offset)
        return fault(c->why, ExitInput,
                     "%s: tensor '%.80s': has %zu bytes from byte %llu of the "
                     "data on, which have %zu: the file is cut short",
                     c->file->path, t->name, t->bytes,
                     (unsigned long long)offset, room);
    t->at = c->file->at + data + offset;
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const Tensor *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Checks that no two tensors share bytes or a name. */
static bool check_apart(const Cursor *c, Safetensors *s)
{
    qsort(s->tensor, (size_t)s->count, sizeof *s->tensor, by_offset);
    for (int i = 1; i < s->count; i++)
        if (s->tensor[i].at < s->tensor[i - 1].at + s->tensor[i - 1].bytes)
            return fault(c->why, ExitInput,
                         "%s: tensor '%.80s': shares bytes with '%.80s'",
                         c->file->path, s->tensor[i].name,
                         s->tensor[i - 1].name);
    safetensors_sort(s);
    for (int i = 1; i < s->count; i++)
        if (strcmp(s->tensor[i].name, s->tensor[i - 1].name) == 0)
            return bad_tensor(c, &s->tensor[i], "is there twice");
    return true;
}

static bool read_gguf_tensors(Cursor *c, const Head *h, Safetensors *s,
                              uint64_t *offset)
{
    for (; (uint64_t)s->count < h->tensors; s->count++)
        if (!read_entry(c, &s->tensor[s->count], s->header, &offset[s->count]))
            return false;
    const size_t data = (c->at + h->alignment - 1) & ~(h->alignment - 1);
    if (data > c->file->size && s->count > 0)
        return bad_gguf(c, c->file->size, "ends before its data");
    for (int i = 0; i < s->count; i++)
        if (!place_tensor(c, h, data, &s->tensor[i], offset[i]))
            return false;
    return check_apart(c, s);
}

static bool read_gguf_file(Safetensors *s, Fault *why)
{
    Cursor c = { .file = &s->file, .why = why };
    Head head;
    if (!read_head(&c, &head) || !read_pairs(&c, &head, NULL))
        return false;
    if (head.tensors > INT32_MAX)
        return bad_gguf(&c, 8, "too many tensors");
    uint64_t *offset = calloc((size_t)head.tensors + 1, sizeof *offset);
    s->tensor = calloc((size_t)head.tensors + 1, sizeof *s->tensor);
    s->header = json_array();
    const bool ok = offset && s->tensor && s->header
                      ? read_gguf_tensors(&c, &head, s, offset)
                      : no_memory(&c);
    free(offset);
    return ok;
}

Safetensors *gguf_open(const char *path, Fault *why)
{
    Safetensors *s = calloc(1, sizeof *s);
    if (!s) {
        fault(why, ExitResource, "%s: out of memory", path);
        return NULL;
    }
    if (!file_map(&s->file, path, why))
        s->file = (File){ 0 }; /* so that safetensors_close() closes no file */
    else if (read_gguf_file(s, why))
        return s;
    safetensors_close(s);
    return NULL;
}
