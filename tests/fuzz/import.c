/* import.c: fuzzes the import of a checkpoint directory or a llama.cpp file.
 *
 * An input has the name of a directory of tests/families, whose
 * model.safetensors is used as it is, and then, each after a line of `%%`,
 * config.json, generation_config.json, modules.json, 1_Pooling/config.json,
 * tokenizer_config.json, tokenizer.json, and rules instead of attnc's own. An
 * input that begins with GGUF is a file; its tensors' data are zeros that
 * follow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "fuzz.h"

enum { Kept = 128, NameBytes = 32, Zeros = 1 << 17, LongestFile = 1 << 18 };

typedef struct {
    char name[NameBytes];
    uint8_t *at;
    size_t n;
} Weights;

/* Weights of families that an input named; n 0: the folder does not exist. */
static Weights kept[Kept];
static int n_kept;

static void read_weights(Weights *w)
{
    char path[128];
    snprintf(path, sizeof path, "tests/families/%s/model.safetensors", w->name);
    FILE *f = strchr(w->name, '/') ? NULL : fopen(path, "rb");
    if (!f)
        return;
    w->at = malloc(LongestFile);
    w->n = w->at ? fread(w->at, 1, LongestFile, f) : 0;
    fclose(f);
}

static const Weights *weights_of(const FuzzPart *name)
{
    Weights w = { .n = 0 };
    if (name->n == 0 || name->n >= NameBytes || memchr(name->at, 0, name->n))
        return NULL;
    memcpy(w.name, name->at, name->n);
    for (int i = 0; i < n_kept; i++)
        if (strcmp(kept[i].name, w.name) == 0)
            return &kept[i];
    read_weights(&w);
    if (w.n == 0 || n_kept == Kept)
        return NULL;
    kept[n_kept] = w;
    return &kept[n_kept++];
}

static const char *rules; /* of this input; NULL: attnc's own */

static int import(void *with)
{
    const ImportOptions o = { .folder = with,
                              .spec = "tests/fuzz/model.yaml",
                              .name = "model",
                              .rules = rules };
    Imported to;
    const int code = import_folder(&to, &o);
    if (code == ExitDone && (to.n == 0 || strlen(to.text) != to.n))
        fuzz_wrong("a spec of %zu bytes", to.n);
    import_close(&to);
    return code;
}

static void import_file(const uint8_t *data, size_t size)
{
    static char path[] = "tests/fuzz/model.gguf";
    uint8_t *file = calloc(size + Zeros, 1);
    memcpy(file, data, size);
    fuzz_file(path, file, size + Zeros);
    fuzz_run(import, path);
    free(file);
}

static const char *const name[] = { "",
                                    "tests/fuzz/config.json",
                                    "tests/fuzz/generation_config.json",
                                    "tests/fuzz/modules.json",
                                    "tests/fuzz/1_Pooling/config.json",
                                    "tests/fuzz/tokenizer_config.json",
                                    "tests/fuzz/tokenizer.json" };
enum { Names = sizeof name / sizeof *name };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char folder[] = "tests/fuzz";
    FuzzPart part[8];
    rules = NULL;
    fuzz_limits.layers = 4;
    fuzz_files_clear();
    if (size > 4 && memcmp(data, "GGUF", 4) == 0) {
        import_file(data, size);
        return 0;
    }
    const int n = fuzz_parts(part, data, size);
    const Weights *w = weights_of(&part[0]);
    if (!w)
        return 0;
    fuzz_file("tests/fuzz/model.safetensors", w->at, w->n);
    for (int i = 1; i < n && i < Names; i++)
        if (part[i].n)
            fuzz_file(name[i], part[i].at, part[i].n);
    if (n == 8 && part[7].n) {
        rules = "tests/fuzz/own.yaml";
        fuzz_file(rules, part[7].at, part[7].n);
    }
    fuzz_run(import, folder);
    return 0;
}

/* ---- mutator ---- */

/* Keys of several families; "": the existing key. */
static const char *const keys[] = { "",
                                    "",
                                    "",
                                    "",
                                    "model_type",
                                    "architectures",
                                    "num_hidden_layers",
                                    "hidden_size",
                                    "num_attention_heads",
                                    "num_key_value_heads",
                                    "head_dim",
                                    "intermediate_size",
                                    "vocab_size",
                                    "rope_theta",
                                    "rope_scaling",
                                    "rope_parameters",
                                    "sliding_window",
                                    "tie_word_embeddings",
                                    "hidden_act",
                                    "layer_types",
                                    "eos_token_id",
                                    "pooling_mode_mean_tokens",
                                    "text_config",
                                    "quantization_config" };
static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "1e-5",
    "1e400",
    "1e308",
    "0.5",
    "[]",
    "{}",
    "[1,2]",
    "1000000000",
    "[null]",
    "\"\"",
    "\"a\"",
    "2147483648",
    "\"gelu\"",
    "\"silu\"",
    "\"llama\"",
    "\"bert\"",
    "16",
    "\"gpt2\"",
    "\"dynamic\"",
    "\"yarn\"",
    "[\"a\", 1]",
    "{\"a\": {\"b\": [1]}}",
    "{\"rope_type\": \"llama3\", \"factor\": 8}",
    "{\"type\": \"linear\", \"factor\": 0}",
    "{\"rope_type\": \"longrope\", \"short_factor\": [1], \"long_factor\": 2}",
    "[\"full_attention\", \"sliding_attention\"]",
    "9223372036854775807"
};

/* Replaces the line data[from .. to - 1] by another member, or inserts one
 * before it. */
static size_t put_member(uint8_t *data, size_t size, size_t most, size_t from,
                         size_t to, FuzzDice *d)
{
    char line[256], key[96] = "a";
    const char *given = keys[fuzz_dice(d, sizeof keys / sizeof *keys)];
    const char *value = values[fuzz_dice(d, sizeof values / sizeof *values)];
    const uint8_t *first = memchr(data + from, '"', to - from);
    const uint8_t *last = first ? memchr(first + 1, '"',
                                         (size_t)(data + to - first - 1))
                                : NULL;
    const bool own = !*given && last && last - first < (int)sizeof key;
    if (own)
        memcpy(key, first + 1, (size_t)(last - first - 1));
    if (own)
        key[last - first - 1] = 0;
    const bool comma = memchr(data + from, ',', to - from) || !own;
    const size_t n = (size_t)snprintf(line, sizeof line, "  \"%s\": %s%s\n",
                                      *given ? given : key, value,
                                      comma ? "," : "");
    if (!own)
        to = from;
    if (size - (to - from) + n > most)
        return size;
    memmove(data + from + n, data + to, size - to);
    memcpy(data + from, line, n);
    return size - (to - from) + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 8);
    if (size < 16 || what == 0 || memcmp(data, "GGUF", 4) == 0)
        return LLVMFuzzerMutate(data, size, most);
    for (uint32_t i = 0, n = 1 + fuzz_dice(&d, 2); i < n && size > 2; i++) {
        size_t from = fuzz_dice(&d, (uint32_t)size), to = from;
        while (from > 0 && data[from - 1] != '\n')
            from--;
        while (to < size && data[to++] != '\n')
            continue;
        if (what == 1) {
            memmove(data + from, data + to, size - to);
            size -= to - from;
        } else if (what == 2) {
            size = fuzz_change(data, size, most, from, to - from);
        } else {
            size = put_member(data, size, most, from, to, &d);
        }
    }
    return size;
}
