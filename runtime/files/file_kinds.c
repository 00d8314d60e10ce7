/* file_kinds.c: a table of the kinds of files that a user may name as an input
 * or an output. The first bytes of a file or the end of its name determine its
 * kind. */
#include "file_kinds.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define IMPORT "`attnc import $folder` makes a spec of the folder it is in"
#define FROM_CHECKPOINT                                                       \
    "attnc reads the checkpoint that it was made from, a folder with "        \
    "config.json and model.safetensors"
#define CONVERT "convert it by a program that reads it to .safetensors"
#define UNPICKLE                                                              \
    "it runs code when it is read: convert it once, as by python3 -c "        \
    "'import torch, safetensors.torch as s; s.save_file(torch.load("          \
    "\"$file\", weights_only=True), \"model.safetensors\")'"

/* clang-format off */
static const FileKind kinds[] = {
    { 0, 4, "GGUF", NULL, KEPT_WEIGHTS, "is a model of llama.cpp",
      { NULL, NULL, NULL } },
    { 0, 0, NULL, " config.json ", KEPT_CONFIG,
      "is the configuration of a checkpoint",
      { IMPORT, "its weights are in model.safetensors", IMPORT } },
    { 0, 0, NULL, " tokenizer.json vocab.json merges.txt vocab.txt .model "
                  ".tiktoken ", KEPT_VOCABULARY, "is a vocabulary",
      { "a spec names it by vocab.file", "weights are in a .safetensors file",
        IMPORT } },
    { 0, 0, NULL, " .safetensors ", KEPT_WEIGHTS, "has weights and no spec",
      { IMPORT "; a spec takes weights by --weights", NULL, IMPORT } },
    { 0, 6, "ATTNCW", NULL, KEPT_WEIGHTS,
      "has the packed weights of a compiled model",
      { "its spec is the .yaml file that it was compiled from",
        "the model's program takes it; --weights takes the .safetensors file "
        "that it was packed from", FROM_CHECKPOINT } },
    { 0, 0, NULL, " .onnx ", KEPT_WEIGHTS, "is an ONNX graph",
      { FROM_CHECKPOINT, FROM_CHECKPOINT, FROM_CHECKPOINT } },
    { 4, 4, "TFL3", " .tflite ", KEPT_WEIGHTS, "is a model of TensorFlow Lite",
      { FROM_CHECKPOINT, FROM_CHECKPOINT, FROM_CHECKPOINT } },
    { 0, 4, "\x89HDF", " .h5 .keras ", KEPT_WEIGHTS, "has weights of Keras",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 0, NULL, " .msgpack ", KEPT_WEIGHTS, "has weights of Flax",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 6, "\x93NUMPY", " .npy .npz ", KEPT_WEIGHTS, "has arrays of NumPy",
      { CONVERT, CONVERT, CONVERT } },
    { 0, 0, NULL, " .pt .pth .ckpt .pkl .bin ", KEPT_WEIGHTS,
      "is a Python pickle",
      { UNPICKLE ", then `attnc import` the folder", UNPICKLE,
        UNPICKLE ", then `attnc import` the folder" } },
    { 0, 4, "tjgg", " .ggml ", KEPT_WEIGHTS,
      "is of llama.cpp before .gguf files",
      { "make a .gguf file of it", "make a .gguf file of it",
        "make a .gguf file of it" } },
    { 0, 4, "PK\3\4", NULL, KEPT_WEIGHTS, "is an archive",
      { "unpack it", "unpack it", "unpack it" } },
    { 0, 2, "\x1f\x8b", " .gz .tgz .zip .tar .xz .zst .bz2 ",
      NULL, "is an archive", { "unpack it", "unpack it", "unpack it" } },
    { 0, 5, "<!doc", " .html ", NULL, "is a page of the web",
      { "download the file itself", "download the file itself",
        "download the file itself" } },
    { 0, 4, "\x7f" "ELF", NULL, NULL, "is a program or a library",
      { "the spec is the .yaml file that it was compiled from",
        "weights are in a .safetensors file", FROM_CHECKPOINT } },
    { 0, 0, NULL, " .c .h .py .js ", "source that attnc did not write",
      "is the source of a program",
      { "the spec is a .yaml file", "weights are in a .safetensors file",
        FROM_CHECKPOINT } },
    /* files that attnc reads itself, or rejects by their content */
    { 0, 0, NULL, " .yaml .yml ", KEPT_SPEC, NULL, { NULL } },
    { 0, 0, NULL, " .index.json ", KEPT_CONFIG, NULL, { NULL } },
    { 0, 0, NULL, " .vocab ", KEPT_VOCABULARY, NULL, { NULL } },
    { 0, 0, NULL, " .txt .json .csv .md .log ", NULL, NULL, { NULL } },
    { 0, 0, NULL, " .weights .gguf ", KEPT_WEIGHTS, NULL, { NULL } },
};
/* clang-format on */
enum { Kinds = sizeof kinds / sizeof *kinds };

/* True if the name ends in one of the endings. Ignores case. */
static bool name_ends(const char *path, const char *endings)
{
    const size_t length = strlen(path);

    for (const char *at = endings + 1; *at; at += strcspn(at, " ") + 1) {
        const size_t n = strcspn(at, " ");
        if (length >= n && !strncasecmp(path + length - n, at, n))
            return true;
    }
    return false;
}

const FileKind *kind_of(const char *path, const char *head, size_t n)
{
    for (int i = 0; i < Kinds; i++) {
        const FileKind *k = &kinds[i];
        if (k->n && (size_t)(k->at + k->n) <= n
            && !strncasecmp(head + k->at, k->bytes, (size_t)k->n))
            return k;
        if (k->endings && name_ends(path, k->endings))
            return k;
    }
    return NULL;
}
