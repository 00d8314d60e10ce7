/* state.h: the state of an import, for the files of this directory. */
#ifndef ATTNC_IMPORT_STATE_H
#define ATTNC_IMPORT_STATE_H

#include "import/config.h"
#include "import/import.h"
#include "import/rules.h"

typedef struct { /* a name in expressions */
    const char *name;
    KeyRule rule;     /* for a key */
    Config *file;     /* for a key; NULL for let */
    const Expr *expr; /* for let */
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
    Rules own;                  /* top NULL: the user has none */
    const Yaml *common, *rules; /* `rules`: the family's, with overlays */
    Config *config;
    VEC(JsonFile) files;
    VEC(Binding) binding;
    Index names; /* index of `binding` by name */
    const char *task;
    const char *path; /* path of the weights */
    Safetensors *weights;
    Datum gguf;        /* metadata of a .gguf file; otherwise not a map */
    Safetensors *view; /* its tensors by the rules' names */
    /* The two files that `weights` joins, or NULL. */
    Safetensors *base, *beside;
    const char *made; /* path of weights to make; NULL: none */
    int64_t layer;    /* `i` in expressions; -1: outside `layer` */
    bool of_layer;    /* an expression has used `i` */
    Scope scope;
    int code; /* ExitDone, until something fails */
} Import;

/* bindings.c: keys, let and tables as names in expressions. */
void bind_scope(Import *m);
bool bind_rules(Import *m); /* config, files, let; evaluates all keys */
Datum import_value(Import *m, const Yaml *scalar, size_t start);
bool import_truth(Import *m, const Yaml *scalar);
/* Replaces each {x} except {i} and {e} by the value of x. Returns NULL after an
 * error. */
const char *import_filled(Import *m, const Yaml *at, const char *text);

/* metadata.c: the metadata of a .gguf file: its architecture, and values by
 * key. A key that starts with "general." or "tokenizer." is used as it is;
 * others, such as "embedding_length", belong to the architecture. Both return
 * NULL if the value is absent or the input is another kind of file. */
const char *gguf_architecture(const Import *m);
const Datum *gguf_value(Import *m, const char *key);

/* import_gguf.c: reads a .gguf file instead of a folder. */
bool gguf_read(Import *m);
bool gguf_family(Import *m, Rules *to);
/* Converts its metadata to keys of config.json, and its tensor names to the
 * rules'. */
bool gguf_keys(Import *m);
/* Return the file's name of a weight, and the rules' name; other kinds of files
 * use the rules' names. */
const char *gguf_stored(Import *m, const char *name);
const char *gguf_called(Import *m, const char *name);

/* judge.c: rejects what the rules do not support, and unknown keys. */
bool judge_refusals(Import *m);
bool judge_keys(Import *m);

/* resolve.c: the trees of the rules, with all expressions evaluated. */
Yaml *resolve_spec(Import *m);
Yaml *resolve_names(Import *m);
/* import_layers.c: adds the rules' fields of each layer to the spec's tree:
 * fields that are equal in all layers to the top level, others as rows of
 * `layers`. */
void resolve_layers(Import *m, Yaml *spec);
/* Returns a tree with its expressions evaluated; NULL for none. */
Yaml *resolve_tree(Import *m, const Yaml *rule);
/* Make nodes of a tree. */
Yaml *scalar_new(Arena *a, const char *text, bool quoted);
Yaml *map_new(Arena *a);
void map_set(Arena *a, Yaml *map, const char *key, Yaml *value);
/* Removes a key from a map and returns its item; NULL if absent. */
Yaml *map_take(Yaml *map, const char *key);

/* chat_template.c: adds `chat` to a decoder's spec if the folder has a known
 * template. Returns false after an error. */
bool import_chat(Import *m, Yaml *spec);

/* spec_text.c: the text of the spec. */
typedef struct {
    Import *m;
    Yaml *spec, *names; /* names NULL: none */
    const Yaml *comments;
    const char *weights; /* relative to the spec */
    const char *title;
    Yaml *unused;            /* patterns of tensors; NULL: none */
    VEC(TextOrigin) origins; /* positions of its values in config.json */
} SpecTree;
const char *spec_tree_text(SpecTree *t);
/* Removes fields that have their default values. */
void spec_tree_shorten(SpecTree *t);

/* tensors.c: the weights of the folder. */
bool tensors_open(Import *m);
/* Opens the weights of any folder; *path receives their path. Returns NULL
 * after an error. */
Safetensors *tensors_of(Import *m, const char *folder, const char **path);
/* merged.c: joins a second file of weights, if the rules name one; its folder
 * is the prefix of its tensor names. */
bool join_weights(Import *m);
/* Writes the weights made from several files, if any. */
bool merge_weights(Import *m);
/* Checks that the file has every tensor of the spec, and that all others are
 * known; these become the spec's `unused`. */
bool tensors_fit(Import *m, SpecTree *t, Imported *to);

/* vocabulary.c: converts the folder's tokenizer and names it in the spec. */
void vocabularies_read(Import *m, Yaml *spec, Imported *to);

#endif
