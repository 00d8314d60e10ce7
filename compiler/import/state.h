/* state.h: the state of an import, shared by the files of this directory. */
#ifndef ATTNC_IMPORT_STATE_H
#define ATTNC_IMPORT_STATE_H

#include "import/config.h"
#include "import/import.h"
#include "import/rules.h"

typedef struct { /* a name for expressions: a key, or defined by `let` */
    const char *name;
    KeyRule rule;     /* a key's rule */
    Config *file;     /* file that has the key; NULL for `let` */
    const Expr *expr; /* expression of a `let` */
    enum { BindingNew, BindingBusy, BindingDone } state;
    Datum value;
} Binding;

typedef struct {
    const char *name;
    Config *file;
} JsonFile;

typedef struct {
    Arena *a;
    const ImportOptions *o;
    const char *family;
    Rules own;                  /* rules that the user named; `top` is NULL if
                                 * there are none */
    const Yaml *common, *rules; /* common.yaml; the family's, with overlays */
    Config *config;
    VEC(JsonFile) files;
    VEC(Binding) binding;
    Index names; /* index of `binding` by name */
    const char *task;
    const char *path; /* path of the weights */
    Safetensors *weights;
    Datum gguf;        /* metadata of a .gguf file; not a map for other files */
    Safetensors *view; /* tensors of the .gguf file, by names in the rules */
    /* the two files whose tensors `weights` joins, or NULL */
    Safetensors *base, *beside;
    const char *made; /* path of the weights to be made; NULL: none */
    int64_t layer;    /* value of `i` in expressions; -1: outside of `layer` */
    bool of_layer;    /* true if an expression has used `i` */
    Scope scope;
    int code; /* exit code: ExitDone until a step fails */
} Import;

/* bindings.c: keys, let and tables as names in expressions. */
void bind_scope(Import *m);
bool bind_rules(Import *m); /* binds config, files, let; evaluates all keys */
Datum import_value(Import *m, const Yaml *scalar, size_t start);
bool import_truth(Import *m, const Yaml *scalar);
/* Replaces each {x} except {i} and {e} by the value of x. Returns NULL after an
 * error. */
const char *import_filled(Import *m, const Yaml *at, const char *text);

/* metadata.c: returns the architecture in the metadata of a .gguf file, or a
 * value by its key. A key that starts with "general." or "tokenizer." is used
 * as it is; others, such as "embedding_length", get the architecture as prefix.
 * Both functions return NULL if the value is absent or the input is not a .gguf
 * file. */
const char *gguf_architecture(const Import *m);
const Datum *gguf_value(Import *m, const char *key);

/* import_gguf.c: reads a .gguf file instead of a folder. */
bool gguf_read(Import *m);
bool gguf_family(Import *m, Rules *to);
/* Converts the metadata to keys of config.json, and the tensor names to those
 * in the rules. */
bool gguf_keys(Import *m);
/* Return the name of a weight in the file, and its name in the rules. Only in
 * .gguf files do they differ. */
const char *gguf_stored(Import *m, const char *name);
const char *gguf_called(Import *m, const char *name);

/* judge.c: rejects models that the rules do not support, and unknown keys. */
bool judge_refusals(Import *m);
bool judge_keys(Import *m);

/* resolve.c: the trees of the rules, with all expressions evaluated. */
Yaml *resolve_spec(Import *m);
Yaml *resolve_names(Import *m);
/* import_layers.c: evaluates the rules for each layer and adds the fields to
 * the spec's tree: those that are equal in all layers at the top level, others
 * as rows of `layers`. */
void resolve_layers(Import *m, Yaml *spec);
/* Returns a copy of a tree with its expressions evaluated; NULL if its value is
 * none. */
Yaml *resolve_tree(Import *m, const Yaml *rule);
/* Make nodes of a tree. */
Yaml *scalar_new(Arena *a, const char *text, bool quoted);
Yaml *map_new(Arena *a);
void map_set(Arena *a, Yaml *map, const char *key, Yaml *value);
/* Removes a key from a map and returns its value; NULL if it is absent. */
Yaml *map_take(Yaml *map, const char *key);

/* chat_template.c: adds `chat` to a decoder's spec if the folder has a known
 * template. Returns false after an error. */
bool import_chat(Import *m, Yaml *spec);

/* spec_text.c: what the text of a spec is made from */
typedef struct {
    Import *m;
    Yaml *spec, *names; /* the spec's tree; its weight map (NULL: none) */
    const Yaml *comments;
    const char *weights; /* path of the weights, relative to the spec */
    const char *title;
    Yaml *unused; /* patterns of unused tensors; NULL: none */
    VEC(TextOrigin)
    origins; /* the positions in config.json that values came
              * from */
} SpecTree;
const char *spec_tree_text(SpecTree *t);
/* Removes fields that have their default values. */
void spec_tree_shorten(SpecTree *t);

/* tensors.c: opens the weights of the folder. */
bool tensors_open(Import *m);
/* Opens the weights of any folder and sets *path to their path. Returns NULL
 * after an error. */
Safetensors *tensors_of(Import *m, const char *folder, const char **path);
/* merged.c: adds a second file of weights if the rules name one. The name of
 * its folder becomes the prefix of its tensor names. */
bool join_weights(Import *m);
/* Makes and writes weights from several files, if the options request it. */
bool merge_weights(Import *m);
/* Checks that the file has every tensor that the spec needs and that all others
 * are known. The others become `unused` of the spec. */
bool tensors_fit(Import *m, SpecTree *t, Imported *to);

/* vocabulary.c: converts the tokenizer of the folder and adds it to the
 * spec. */
void vocabularies_read(Import *m, Yaml *spec, Imported *to);

#endif
