/* foreign.c: what a file of another program is, by its first bytes, else by the
 * end of its name, and the remedy for each thing that it may be taken for.  */
#define _POSIX_C_SOURCE 200809L
#include "foreign.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMPORT "`attnc import $folder` makes a spec of the folder it is in"
#define FROM_CHECKPOINT                                                       \
    "attnc reads the checkpoint that it was made from, a folder with "        \
    "config.json and model.safetensors"
#define CONVERT "convert it by a program that reads it to .safetensors"
#define UNPICKLE                                                              \
    "it runs code when it is read: convert it once, as by python3 -c "        \
    "'import torch, safetensors.torch as s; s.save_file(torch.load("          \
    "\"$file\", weights_only=True), \"model.safetensors\")'"

typedef struct {
    int at, n; /* of the first bytes; n 0: known by its name alone */
    const char *bytes;
    const char *endings; /* between blanks; NULL: known by its bytes alone */
    const char *is;
    const char *remedy[AskedKinds]; /* NULL: it is what is asked for */
} Kind;

/* clang-format off */
static const Kind kinds[] = {
    { 0, 4, "GGUF", NULL, "is a model of llama.cpp",
      { "`attnc import $file` makes a spec of it", NULL, NULL } },
    { 0, 0, NULL, " config.json ", "is the configuration of a checkpoint",
      { IMPORT, "its weights are in model.safetensors", IMPORT } },
    { 0, 0, NULL, " tokenizer.json vocab.json merges.txt vocab.txt .model "
                  ".tiktoken ", "is a vocabulary",
      { "a spec names it by vocab.file", "weights are in a .safetensors file",
        IMPORT } },
    { 0, 0, NULL, " .safetensors ", "has weights and no spec",
      { IMPORT "; a spec takes weights by --weights", NULL, IMPORT } },
    { 0, 6, "ATTNCW", NULL, "has the packed weights of a compiled model",
      { "its spec is the .yaml file that it was compiled from",
        "the model's program takes it; --weights takes the .safetensors file "
        "that it was packed from", FROM_CHECKPOINT } },
    { 0, 0, NULL, " .onnx ", "is an ONNX graph",
      { FROM_CHECKPOINT, FROM_CHECKPOINT, FROM_CHECKPOINT } },
    { 4, 4, "TFL3", " .tflite ", "is a model of TensorFlow Lite",
      { FROM_CHECKPOINT, FROM_CHECKPOINT, FROM_CHECKPOINT } },
    { 0, 4, "\x89HDF", " .h5 .keras ", "has weights of Keras",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 0, NULL, " .msgpack ", "has weights of Flax",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 6, "\x93NUMPY", " .npy .npz ", "has arrays of NumPy",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 4, "PK\3\4", " .pt .pth .ckpt .pkl .bin ", "is a Python pickle",
      { UNPICKLE ", then `attnc import` the folder", UNPICKLE,
        UNPICKLE ", then `attnc import` the folder" } },
    { 0, 4, "tjgg", " .ggml ", "is of llama.cpp before .gguf files",
      { "make a .gguf file of it", "make a .gguf file of it",
        "make a .gguf file of it" } },
    { 0, 2, "\x1f\x8b", " .gz .tgz .zip .tar .xz .zst .bz2 ",
      "is an archive", { "unpack it", "unpack it", "unpack it" } },
    { 0, 5, "<!doc", " .html ", "is a page of the web",
      { "download the file itself", "download the file itself",
        "download the file itself" } },
    { 0, 4, "\x7f" "ELF", NULL, "is a program or a library",
      { "the spec is the .yaml file that it was compiled from",
        "weights are in a .safetensors file", FROM_CHECKPOINT } },
    { 0, 0, NULL, " .c .h .py .js ", "is the source of a program",
      { "the spec is a .yaml file", "weights are in a .safetensors file",
        FROM_CHECKPOINT } },
};
/* clang-format on */
enum { Kinds = sizeof kinds / sizeof *kinds };

/* ---------------------------------------------------------------- text --- */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void folder_of(const char *path, char out[256])
{
    const int n = (int)(base_name(path) - path);

    snprintf(out, 256, "%.*s", n > 1 ? n - 1 : 1, n > 0 ? path : ".");
}

static void append(char out[512], const char *text, size_t n)
{
    const size_t have = strlen(out);

    snprintf(out + have, 512 - have, "%.*s", (int)n, text);
}

/* A remedy with the names of the file and of its folder. */
static void expand(const char *remedy, const char *path, char out[512])
{
    char folder[256];

    folder_of(path, folder);
    *out = '\0';
    while (*remedy) {
        const size_t n = strcspn(remedy, "$");
        append(out, remedy, n);
        remedy += n;
        if (!strncmp(remedy, "$file", 5)) {
            append(out, path, strlen(path));
            remedy += 5;
        } else if (!strncmp(remedy, "$folder", 7)) {
            append(out, folder, strlen(folder));
            remedy += 7;
        }
    }
}

/* Does the name end in one of these, in letters of either size? */
static bool name_ends(const char *path, const char *endings)
{
    const char *name = base_name(path);
    const size_t length = strlen(name);

    for (const char *at = endings + 1; *at; at += strcspn(at, " ") + 1) {
        const size_t n = strcspn(at, " ");
        if (length >= n && !strncasecmp(name + length - n, at, n))
            return true;
    }
    return false;
}

/* ---------------------------------------------------------------- files --- */
static const Kind *kind_of(const char *path, const char *head, size_t n)
{
    for (int i = 0; i < Kinds; i++) {
        const Kind *k = &kinds[i];
        if (k->n && (size_t)(k->at + k->n) <= n
            && !strncasecmp(head + k->at, k->bytes, (size_t)k->n))
            return k;
        if (k->endings && name_ends(path, k->endings))
            return k;
    }
    return NULL;
}

static size_t read_head(const char *path, char head[64])
{
    FILE *file = fopen(path, "rb");
    const size_t n = file ? fread(head, 1, 64, file) : 0;

    if (file)
        fclose(file);
    return n;
}

/* May it be the name of a model of a hub, as `model` or `owner/model`? */
static bool is_hub_name(const char *path)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = strspn(path, signs);

    if (*path == '.' || n == 0 || name_ends(path, " .yaml .yml .json .gguf "))
        return false;
    if (path[n] == '/')
        n += 1 + strspn(path + n + 1, signs);
    return !path[n];
}

static bool missing_file(const char *path, Asked asked, Fault *why)
{
    char yaml[4096];

    if (strstr(path, "://"))
        return !fault(
            why, ExitIO,
            "%s: attnc downloads nothing: get the folder of the model "
            "first, as by `hf download OWNER/MODEL --local-dir "
            "MODEL`, then `attnc import MODEL`",
            path);
    snprintf(yaml, sizeof yaml, "%s.yaml", path);
    if (asked == AskedSpec && access(yaml, F_OK) == 0)
        return !fault(why, ExitIO,
                      "%s: there is no such file: did you mean %s?", path,
                      yaml);
    if (asked == AskedWeights || !is_hub_name(path))
        return false;
    return !fault(why, ExitIO,
                  "%s: there is no such file or folder. Where it is a model of "
                  "a hub, get its folder first, as by `hf download %s "
                  "--local-dir %s`, then `attnc import %s`",
                  path, path, base_name(path), base_name(path));
}

bool foreign_file(const char *path, Asked asked, Fault *why)
{
    struct stat st;
    char text[512], head[64];

    if (stat(path, &st) != 0)
        return missing_file(path, asked, why);
    if (S_ISDIR(st.st_mode)) {
        snprintf(text, sizeof text, "%s/config.json", path);
        if (asked != AskedSpec || access(text, F_OK) != 0)
            return false;
        return !fault(why, ExitInput,
                      "%s: is the folder of a checkpoint: `attnc import %s` "
                      "makes a spec of it",
                      path, path);
    }
    if (!S_ISREG(st.st_mode) || st.st_size == 0)
        return false;
    const size_t n = read_head(path, head);
    if (!file_is_itself(path, (const unsigned char *)head, n, why))
        return true;
    const Kind *k = kind_of(path, head, n);
    if (!k || !k->remedy[asked])
        return false;
    expand(k->remedy[asked], path, text);
    return !fault(why, ExitInput, "%s: %s: %s", path, k->is, text);
}
