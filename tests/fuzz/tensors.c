/* tensors.c: fuzzes a file of tensors, or an index and its shards; then reads
 * every element of every tensor and quantises matrices. An input that begins
 * with `{` is an index, followed by the shards a, b and c; one that begins with
 * GGUF has metadata, too. */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/weights/gguf.h"
#include "fuzz.h"

/* Converts numbers at the tensor's ends as the packer does. */
static void read_tensor(const Safetensors *s, const Tensor *t)
{
    float x[4];
    const int64_t n = t->elements < 4 ? t->elements : 4;
    if (safetensors_find(s, t->name) != t)
        fuzz_wrong("tensor '%s' is not found by its name", t->name);
    if (t->type == StOther)
        return;
    tensor_floats(t, t->elements - n, n, x);
    tensor_floats(t, 0, n, x);
    if (tensor_not_finite(t) > t->elements)
        fuzz_wrong("more numbers are not finite than there are");
}

/* Quantises a matrix: any bytes of a file give integers, with valid scales if
 * all numbers are finite. */
static void quantize_tensor(const Safetensors *s, const Tensor *t)
{
    enum { Most = 1 << 12 };
    static int8_t w[Most];
    static float scale[Most];
    PackItem item = { .name = t->name,
                      .from.name = t->name,
                      .layout = PackPanels };
    if (t->type == StOther || t->rank != 2 || t->elements < 1
        || t->elements > Most)
        return;
    item.rows = t->dim[0];
    item.k = t->dim[1];
    for (int d = DtypeInt8; d < Dtypes; d++) {
        item.dtype = (Dtype)d;
        weights_integers(&item, s, 0, w, scale);
        for (int64_t i = 0; i < t->elements; i++)
            if (w[i] < -127)
                fuzz_wrong("an integer that is not in -127 .. 127");
        for (int64_t i = 0; i < item.rows && !tensor_not_finite(t); i++)
            if (!(scale[i] >= 0 && scale[i] <= FLT_MAX))
                fuzz_wrong("a scale that is none");
    }
}

static int read_all(void *with)
{
    Fault why;
    Safetensors *s = safetensors_open(with, &why);
    if (!s)
        return why.code;
    for (int i = 0; i < safetensors_count(s); i++) {
        read_tensor(s, safetensors_at(s, i));
        quantize_tensor(s, safetensors_at(s, i));
    }
    safetensors_close(s);
    return ExitDone;
}

static int read_metadata(void *with)
{
    Fault why;
    json_t *m = gguf_metadata(with, &why);
    json_decref(m);
    return m ? ExitDone : why.code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const shard[] = { "", "a", "b", "c" };
    static char index[] = "i.json", file[] = "t";
    FuzzPart part[8];
    const bool is_index = size && *data == '{';
    fuzz_files_clear();
    if (is_index) {
        const int n = fuzz_parts(part, data, size);
        for (int i = 1; i < n && i < 4; i++)
            fuzz_file(shard[i], part[i].at, part[i].n);
        fuzz_file(index, part[0].at, part[0].n);
    } else {
        fuzz_file(file, data, size);
    }
    fuzz_run(read_all, is_index ? index : file);
    if (size > 4 && memcmp(data, "GGUF", 4) == 0)
        fuzz_run(read_metadata, file);
    return 0;
}

/* ---- mutator ---- */
enum { Length = 8 }; /* bytes of the header's length */

static void set_length(uint8_t *data, uint64_t n)
{
    for (int i = 0; i < Length; i++)
        data[i] = (uint8_t)(n >> 8 * i);
}

/* Replaces a value of the header by another number or a word of the format. */
static size_t change_value(uint8_t *data, size_t from, size_t end, size_t most,
                           FuzzDice *d)
{
    /* clang-format off */
    static const char *const words[] = {
        "\"F32\"", "\"F16\"", "\"BF16\"", "\"F64\"", "\"I32\"", "\"I64\"",
        "\"F4\"", "\"U8\"", "\"shape\"", "\"dtype\"", "\"data_offsets\"", "[]",
        "[1,1]", "[0,0]", "\"__metadata__\"", "{}", "\"a\"", "\"b\"", "null",
        "1e9", "-1", "\"i.json\"", "\"weight_map\"", "true"
    };
    /* clang-format on */
    char text[32];
    size_t at = from + fuzz_dice(d, (uint32_t)(end - from));
    while (at < end && !(data[at] >= '0' && data[at] <= '9') && data[at] != '"')
        at++;
    size_t to = at + 1;
    while (to < end && data[at] == '"' && data[to] != '"')
        to++;
    while (to < end && (data[to] >= '0' && data[to] <= '9'))
        to++;
    to += to < end && data[to] == '"';
    snprintf(text, sizeof text, "%lld", (long long)fuzz_number(d) % 300);
    const char *word = fuzz_dice(d, 2)
                         ? text
                         : words[fuzz_dice(d, sizeof words / sizeof *words)];
    const size_t n = strlen(word);
    if (to > end || end - (to - at) + n > most)
        return end;
    memmove(data + at + n, data + to, end - to);
    memcpy(data + at, word, n);
    return end - (to - at) + n;
}

/* Makes the data as long as the last number of the header requires. */
static size_t fit_data(uint8_t *data, size_t header, size_t size, size_t most)
{
    size_t at = header, end;
    while (at > Length && !(data[at - 1] >= '0' && data[at - 1] <= '9'))
        at--;
    while (at > Length && data[at - 1] >= '0' && data[at - 1] <= '9')
        at--;
    end = header + (at < header ? strtoul((char *)data + at, NULL, 10) : 0);
    if (end > most)
        return size;
    if (end > size)
        memset(data + size, 0x3c, end - size);
    return end;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 6);
    const bool is_gguf = size > 4 && memcmp(data, "GGUF", 4) == 0;
    if (is_gguf && what > 2)
        return fuzz_change(data, size, most, 0, size);
    if (size < Length + 2 || what == 0 || is_gguf)
        return LLVMFuzzerMutate(data, size, most);
    const bool is_index = *data == '{';
    const size_t from = is_index ? 0 : Length;
    uint64_t n = size;
    if (!is_index) {
        memcpy(&n, data, Length);
        n = n > size - Length ? size : n + Length;
    }
    if (what == 1 || n == from)
        return fuzz_change(data, size, most, n, size - n);
    if (what < 4) { /* words of the text, then the text after them */
        static uint8_t text[1 << 16];
        const size_t behind = size - n;
        if (most > sizeof text)
            most = sizeof text;
        if (size > most)
            return size;
        memcpy(text, data, n);
        const size_t now = change_value(text, from, n, most - behind, &d);
        memmove(data + now, data + n, behind);
        memcpy(data, text, now);
        size = now + behind;
        n = now;
    } else {
        const size_t now = fuzz_change(data, size, most, from, n - from);
        n += now - size;
        size = now;
    }
    if (is_index)
        return size;
    set_length(data, n - Length);
    return fuzz_dice(&d, 2) ? fit_data(data, n, size, most) : size;
}
