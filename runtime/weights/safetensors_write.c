/* safetensors_write.c: writes tensors as a .safetensors file: the length of the
 * header, a JSON header padded with spaces to a multiple of 8, then the data in
 * order. The header begins with attnc's mark, which looks.c recognises. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rt.h"

/* Returns the size of a tensor with 4 bytes per element, or -1 on overflow. */
static int64_t bytes_of(const TensorOut *t)
{
    int64_t n = 4;
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 0 || __builtin_mul_overflow(n, t->dim[i], &n))
            return -1;
    return n;
}

static json_t *entry_of(const TensorOut *t, int64_t from, int64_t to)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->rank; i++)
        json_array_append_new(shape, json_integer(t->dim[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->is_int ? "I32" : "F32",
                     "shape", shape, "data_offsets", (json_int_t)from,
                     (json_int_t)to);
}

/* Returns the text of the header, which the caller frees; NULL if a size or a
 * name is invalid. */
static char *header_text(const TensorOut *t, int n)
{
    json_t *header = json_pack("{s:{s:s}}", "__metadata__", "attnc", "written");
    int64_t at = 0;
    bool valid = true;
    for (int i = 0; valid && i < n; i++) {
        int64_t end = 0, bytes = bytes_of(&t[i]);
        valid = bytes >= 0 && !__builtin_add_overflow(at, bytes, &end)
             && !json_object_get(header, t[i].name)
             && json_object_set_new(header, t[i].name, entry_of(&t[i], at, end))
                    == 0;
        at = end;
    }
    char *text = valid ? json_dumps(header, JSON_COMPACT) : NULL;
    json_decref(header);
    return text;
}

static bool write_header(Output *o, const char *text, Fault *why)
{
    size_t n = strlen(text), padded = (n + 7) / 8 * 8;
    unsigned char length[8]; /* stored little-endian */
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    return output_write(o, length, sizeof length, why)
        && output_write(o, text, n, why)
        && output_write(o, "       ", padded - n, why);
}

/* Writes a tensor in chunks, so that memory never holds all of it. */
static bool write_filled(Output *o, const TensorOut *t, Fault *why)
{
    float chunk[4096];
    const int64_t most = sizeof chunk / sizeof *chunk, all = bytes_of(t) / 4;
    for (int64_t first = 0; first < all; first += most) {
        const int64_t n = all - first < most ? all - first : most;
        if (!t->fill(t->with, first, n, chunk)
            || !output_write(o, chunk, (size_t)n * sizeof *chunk, why))
            return false;
    }
    return true;
}

static bool write_tensor(Output *o, const TensorOut *t, Fault *why)
{
    if (t->fill)
        return write_filled(o, t, why);
    return output_write(o, t->data, (size_t)bytes_of(t), why);
}

bool safetensors_write(const char *path, const TensorOut *t, int n, Fault *why)
{
    char *text = header_text(t, n);
    if (!text)
        return fault(why, ExitInput,
                     "%s: cannot write: a tensor's name is "
                     "there twice or not UTF-8, or a size overflows",
                     path);
    Output o;
    const bool open = output_open(&o, path, why);
    bool done = open && write_header(&o, text, why);
    free(text);
    for (int i = 0; done && i < n; i++)
        done = write_tensor(&o, &t[i], why);
    if (open && !done)
        output_cancel(&o);
    return done && output_commit(&o, why);
}
