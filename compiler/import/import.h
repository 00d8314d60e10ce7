/* import.h: converts a checkpoint folder, as written by Hugging Face's tools,
 * to a spec. Families are described by data, one file of models/import for
 * each, embedded in attnc; the code here is the same for all.
 *
 * In:  config.json and the files next to it, the tensors' names and shapes.
 * Out: the text of a spec, which has been read back and compared with the
 *      tensors; or a message that names the file, the key or the tensor. */
#ifndef ATTNC_IMPORT_H
#define ATTNC_IMPORT_H

#include "base/base.h"

typedef struct {
    const char *folder; /* the checkpoint folder, or a .gguf of llama.cpp */
    const char *spec;   /* path that the spec will be written to, or "-" */
    const char *name;   /* name of the model */
    const char *rules;  /* rule file that replaces those of models/import, or
                         * NULL */
    /* The import can also make weights, which are written to `merged` next to
     * the spec: the adapter `lora` merged into the model, or the mean of the
     * model and the checkpoints in the folders `others`. NULL, 0: none. */
    const char *lora, *merged;
    const char *joined; /* path for one file that joins several files of
                         * weights, or NULL */
    const char *const *others;
    int n_others;
} ImportOptions;

typedef struct { /* a vocabulary, and the path of its file next to the spec */
    const char *path;
    const void *block;
    int64_t bytes;
} ImportedVocab;

typedef struct {
    Arena *arena;      /* owns everything below */
    const char *title; /* name of the family */
    const char *text;  /* text of the spec */
    size_t n;
    const char *weights;    /* path of the weights: a file, or an index */
    const char *made;       /* path of weights made by the import; NULL: none */
    int tensors, unused;    /* number of tensors in the file, and of those known
                             * but not used */
    int64_t parameters;     /* elements of the used tensors */
    ImportedVocab vocab[2]; /* one for each side, or one for both */
    int vocabs;
    bool by_token; /* the result has a row per token, not one per text */
} Imported;

/* Imports a checkpoint. Prints errors on stderr and returns an exit code. The
 * caller must call import_close() even after a failure. */
int import_folder(Imported *to, const ImportOptions *o);
void import_close(Imported *i);

/* families.c: lists the known families as text, as JSON, or as the page
 * docs/import.md. */
typedef enum { FamiliesText, FamiliesJson, FamiliesMarkdown } FamiliesFormat;
/* Prints the list; returns an exit code. */
int import_families(FILE *out, FamiliesFormat format);

/* check_python.c: attnc import --check=PYTHON. */
typedef struct {
    const char *python, *folder; /* Python to start; folder of the checkpoint */
    const char *spec, *merged; /* imported spec; weights, NULL: the folder's */
    bool allow_nan;
} PythonCheck;
/* Returns the path of the Python with this name; ends attnc with ExitBackend if
 * there is none. */
const char *python_find(Arena *a, const char *name);
/* Compares the results of three inputs. Returns an exit code: if they differ,
 * ExitNegative after a message. */
int python_check(const PythonCheck *c);

#endif
