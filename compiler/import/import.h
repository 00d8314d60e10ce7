/* import.h: a folder with a checkpoint, as Hugging Face's tools write it, as a
 * spec. What is known of a family is data: a file of models/import a family,
 * which attnc carries inside; nothing here names one.
 *
 * In:  config.json and the files beside it, the tensors' names and shapes.
 * Out: the text of a spec, which has been read and compared with the tensors;
 *      or one message that names the file, the key or the tensor.            */
#ifndef ATTNC_IMPORT_H
#define ATTNC_IMPORT_H

#include "base/base.h"

typedef struct {
    const char *folder; /* or a file of llama.cpp, .gguf */
    const char *spec;   /* the path that the spec will have, or "-" */
    const char *name;   /* of the model */
    const char *rules;  /* a file, in the place of models/import's; or NULL */
    /* Weights that are made here: an adapter merged into them, or the mean of
     * these and of the checkpoints in other folders, go to the file `merged`,
     * beside the spec. NULL, 0: none.                                       */
    const char *lora, *merged;
    const char *joined; /* where weights of several files go; NULL: nowhere */
    const char *const *others;
    int n_others;
} ImportOptions;

typedef struct { /* a block, and where it stands beside the spec */
    const char *path;
    const void *block;
    int64_t bytes;
} ImportedVocab;

typedef struct {
    Arena *arena;      /* has all of this */
    const char *title; /* of the family */
    const char *text;  /* of the spec */
    size_t n;
    const char *weights;    /* the path of the file or index */
    const char *made;       /* of one that was made; NULL: none */
    int tensors, unused;    /* in it; of them known and not used */
    int64_t parameters;     /* of those that are used */
    ImportedVocab vocab[2]; /* of one side, or of both */
    int vocabs;
    bool by_token; /* a text gives a row for each token, none of its own */
} Imported;

/* An exit code; messages on stderr. import_close() also after a failure. */
int import_folder(Imported *to, const ImportOptions *o);
void import_close(Imported *i);

/* families.c: what is known, as text, JSON, or the page docs/import.md. */
typedef enum { FamiliesText, FamiliesJson, FamiliesMarkdown } FamiliesFormat;
/* An exit code. */
int import_families(FILE *out, FamiliesFormat format);

/* check_python.c: attnc import --check=PYTHON. */
typedef struct {
    const char *python, *folder; /* argv[0]; the checkpoint */
    const char *spec, *merged;   /* NULL: weights are the folder's */
    bool allow_nan;
} PythonCheck;
/* The Python of this name, to be started; ends with ExitBackend where there is
 * none.                                                                      */
const char *python_find(Arena *a, const char *name);
/* Compares three inputs; ExitNegative after a message where they differ. */
int python_check(const PythonCheck *c);

#endif
