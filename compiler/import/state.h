/* state.h: an import as it goes on, for the files of this room.             */
#ifndef ATTNC_IMPORT_STATE_H
#define ATTNC_IMPORT_STATE_H

#include "import/config.h"
#include "import/import.h"
#include "import/rules.h"

typedef struct { /* a name of expressions */
    const char *name;
    KeyRule rule;     /* of a key */
    Config *file;     /* of a key; NULL: of let */
    const Expr *expr; /* of let */
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
    Rules own;                  /* the user's; top NULL: none */
    const Yaml *common, *rules; /* of the family, and what lies over it */
    Config *config;
    VEC(JsonFile) files;
    VEC(Binding) binding;
    Index names; /* of binding */
    const char *task;
    const char *path; /* of the weights */
    Safetensors *weights;
    Datum gguf;        /* metadata of a file of llama.cpp; else no map */
    Safetensors *view; /* its tensors as the rules call them */
    /* Files whose tensors `weights` has, where there are several. */
    Safetensors *base, *beside;
    const char *made; /* the path of weights that are made; NULL: none */
    int64_t layer;    /* `i` of expressions; -1: no layer is asked for */
    bool of_layer;    /* an expression has asked for `i` */
    Scope scope;
    int code; /* ExitDone, until something fails */
} Import;

/* bindings.c: keys, let and tables as names of expressions. */
void bind_scope(Import *m);
bool bind_rules(Import *m); /* config, files, let; evaluates all keys */
Datum import_value(Import *m, const Yaml *scalar, size_t start);
bool import_truth(Import *m, const Yaml *scalar);
/* Text with the value of x in the place of {x}, but {i}. NULL after an error.
 */
const char *import_filled(Import *m, const Yaml *at, const char *text);

/* metadata.c: of a file of llama.cpp its architecture (NULL: it has none), and
 * by a key: "embedding_length" of the architecture, "tokenizer.ggml.x" whole;
 * NULL: it has none, or this is no such file.                               */
const char *gguf_architecture(const Import *m);
const Datum *gguf_value(Import *m, const char *key);

/* import_gguf.c: reads the file in the place of a folder. */
bool gguf_read(Import *m);
bool gguf_family(Import *m, Rules *to);
/* Its metadata as keys of config.json, its tensors by the rules' names. */
bool gguf_keys(Import *m);
/* What the file calls a weight of this name, and the other way; itself where
 * this is no such file.                                                     */
const char *gguf_stored(Import *m, const char *name);
const char *gguf_called(Import *m, const char *name);

/* judge.c: what the rules refuse, and keys that they do not know. */
bool judge_refusals(Import *m);
bool judge_keys(Import *m);

/* resolve.c: the rules' trees with values in the place of expressions. */
Yaml *resolve_spec(Import *m);
Yaml *resolve_names(Import *m);
/* import_layers.c: adds what the rules say of each layer to a spec's tree: what
 * all layers have alike beside its other fields, the rest as rows of `layers`.
 */
void resolve_layers(Import *m, Yaml *spec);
/* A tree with values in the place of expressions; NULL: none. */
Yaml *resolve_tree(Import *m, const Yaml *rule);
/* A tree's parts. */
Yaml *scalar_new(Arena *a, const char *text, bool quoted);
Yaml *map_new(Arena *a);
void map_set(Arena *a, Yaml *map, const char *key, Yaml *value);
/* Takes a key out of a map and returns its item; NULL: the map has none. */
Yaml *map_take(Yaml *map, const char *key);

/* chat_template.c: adds `chat` to a decoder's spec, where the folder has a
 * template that is known; false after an error. */
bool import_chat(Import *m, Yaml *spec);

/* spec_text.c: the text of the spec. */
typedef struct {
    Import *m;
    Yaml *spec, *names; /* names NULL: none */
    const Yaml *comments;
    const char *weights; /* relative to the spec */
    const char *title;
    Yaml *unused;            /* patterns of tensors, a list; NULL: none */
    VEC(TextOrigin) origins; /* of its text: values as config.json has them */
} SpecTree;
const char *spec_tree_text(SpecTree *t);
/* Takes out what the spec has as its default. */
void spec_tree_shorten(SpecTree *t);

/* tensors.c: the weights of the folder. */
bool tensors_open(Import *m);
/* Of any folder, their path in *path; NULL after an error. */
Safetensors *tensors_of(Import *m, const char *folder, const char **path);
/* merged.c: the tensors of a file that the rules name beside the weights become
 * some of them, named by its folder.                                        */
bool join_weights(Import *m);
/* Writes weights that are made of several files, where there are such. */
bool merge_weights(Import *m);
/* Every tensor that the spec needs is there, every other one known: these
 * become the tree's `unused`.                                               */
bool tensors_fit(Import *m, SpecTree *t, Imported *to);

/* vocabulary.c: the folder's tokenizer; names it in the tree. */
void vocabularies_read(Import *m, Yaml *spec, Imported *to);

#endif
