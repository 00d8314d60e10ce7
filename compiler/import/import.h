/* import.h: converts a Hugging Face checkpoint folder to a spec. Each family is
 * described by a data file in models/import, which is embedded in attnc; the
 * code is the same for all families.
 *
 * In:  config.json and the files next to it, the tensors' names and shapes.
 * Out: the text of a spec, which has been read back and compared with the
 *      tensors; or a message that names the file, the key or the tensor. */
#ifndef ATTNC_IMPORT_H
#define ATTNC_IMPORT_H

#include "base/base.h"

typedef struct {
    const char *folder;  /* the checkpoint folder, or a .gguf of llama.cpp */
    const char *spec;    /* path to which the spec will be written, or "-" */
    const char *name;    /* name of the model */
    const char *as;      /* family whose rules read a model type without rules,
                          * or NULL */
    const char *vectors; /* which of several outputs: "sparse", "colbert", or
                          * NULL: that of the folder's class */
    const char *rules; /* rule file to use instead of models/import, or NULL */
    /* The import can also write new weights, to `merged` next to the spec: the
     * adapter `lora` merged into the model, or the mean of the model and the
     * checkpoints in the folders `others`. NULL, 0: none. */
    const char *lora, *merged;
    const char *joined; /* path of one file in which several weights files are
                         * joined, or NULL */
    const char *index;  /* or path of an index of these files, which the caller
                         * gives to the readers, or NULL */
    const char *const *others;
    int n_others;
    const char *const *ignored; /* names of unknown keys that the user allows */
    int n_ignored;
} ImportOptions;

typedef struct { /* a vocabulary, and the path of its file next to the spec */
    const char *path;
    const void *block;
    int64_t bytes;
} ImportedVocab;

typedef struct {
    Arena *arena;      /* owns everything below */
    const char *title; /* name of the family */
    const char *alike; /* what the model type may compute differently from the
                        * family that stands for it; NULL: it has rules */
    const char *text;  /* text of the spec */
    size_t n;
    const char *weights;    /* path of the weights: a file, or an index */
    const char *made;       /* path of the weights that the import wrote; NULL:
                             * none */
    const char *index;      /* text of the index; NULL: none */
    int tensors, unused;    /* number of tensors in the file, and of tensors
                             * that are known but not used */
    int64_t parameters;     /* elements of the used tensors */
    ImportedVocab vocab[2]; /* one for each side, or one for both */
    int vocabs;
    bool by_token; /* true: the result has a row per token; false: per text */
} Imported;

/* Imports a checkpoint. Reports errors on stderr and returns an exit code. The
 * caller must call import_close() even after a failure. */
int import_folder(Imported *to, const ImportOptions *o);
void import_close(Imported *i);
/* From now on, the readers of this process find the spec and its vocabularies
 * at their paths (file_give()). */
bool import_give(const Imported *i, const ImportOptions *o, Fault *why);

/* in_memory.c: */
/* Returns a valid name for the model at a path: the path's last part or, in a
 * cache of Hugging Face, the repository's name. */
const char *import_name(Arena *a, const char *path);
/* If `path` is a checkpoint folder or a .gguf file, imports it once and returns
 * the path of its spec, which only this process can read (file_give()). Returns
 * any other path as it is. Ends attnc if the import fails. */
const char *import_in_memory(Arena *a, const char *path);

/* families.c: lists the known families as text, as JSON, or as the page
 * docs/import.md. */
typedef enum { FamiliesText, FamiliesJson, FamiliesMarkdown } FamiliesFormat;
/* Prints the list; returns an exit code. */
int import_families(FILE *out, FamiliesFormat format);

/* check_python.c: attnc import --check=PYTHON. */
typedef struct {
    const char *python, *folder; /* Python program; checkpoint folder */
    const char *spec, *merged;   /* imported spec; weights (NULL: those of the
                                  * folder) */
    const char *as; /* family whose rules stand for those of the model type;
                     * NULL: it has rules */
    bool allow_nan;
} PythonCheck;
/* Returns the path of the Python program `name`. Ends attnc with ExitBackend if
 * there is none. */
const char *python_find(Arena *a, const char *name);
/* Compares the results for three inputs. Returns an exit code; if the results
 * differ, prints a message and returns ExitNegative. */
int python_check(const PythonCheck *c);

#endif
