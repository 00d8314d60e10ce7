/* state.h: the state of an import, shared by the files of this directory. */
#ifndef ATTNC_IMPORT_STATE_H
#define ATTNC_IMPORT_STATE_H

#include "import/config.h"
#include "import/import.h"
#include "import/merge.h"
#include "import/rules.h"
#include "tokenizer/tokenizer.h"

typedef struct { /* a name in expressions: a key, or defined by `let` */
    const char *name;
    KeyRule rule;     /* the rule, if it is a key */
    Config *file;     /* file that has the key; NULL: `let` */
    const Expr *expr; /* expression, if it is a `let` */
    enum { BindingNew, BindingBusy, BindingDone } state;
    Datum value;
} Binding;

typedef struct {
    const char *name;
    Config *file;
} JsonFile;

typedef struct Import {
    Arena *a;
    const ImportOptions *o;
    const char *family;
    Rules own;                  /* the user's rules; `top` is NULL if there are
                                 * none */
    const Yaml *common, *rules; /* common.yaml; the family's rules with
                                 * overlays */
    Config *config;
    VEC(JsonFile) files;
    VEC(Binding) binding;
    Index names; /* index of `binding` by name */
    const char *task;
    const char *path; /* path of the weights */
    Safetensors *weights;
    TensorUse *use;    /* by tensor of `weights`; NULL before tensors_fit() */
    Datum gguf;        /* metadata of a .gguf file; not a map if the input is a
                        * folder */
    Safetensors *view; /* tensors of the .gguf file, under their names in the
                        * rules */
    Safetensors *joined[4]; /* what `weights` was made of by join_weights():
                             * each file and what it joined */
    int n_joined;
    Safetensors *tied; /* what `weights` was before untie_weights(), or NULL */
    struct Import *other; /* [o->n_others] */
    const char *made; /* path of weights that the import writes; NULL: none */
    const char *pair[5]; /* for pair_texts_get() */
    bool pair_read;
    Vocabulary *tokenizer; /* the folder's, for vocabulary_token(); NULL: not
                            * read yet */
    int64_t layer; /* value of `i` in expressions; -1: outside of `layer` */
    bool of_layer; /* true if an expression has used `i` */
    Scope scope;
    int code; /* exit code: ExitDone until a step fails */
} Import;

/* bindings.c: makes keys, `let` and tables available as names in
 * expressions. */
void bind_scope(Import *m);
bool bind_rules(Import *m); /* binds config, files, let; evaluates all keys */
Datum import_value(Import *m, const Yaml *scalar, size_t start);
bool import_truth(Import *m, const Yaml *scalar);
/* Replaces each {x}, except {i} and {e}, with the value of x. Returns NULL
 * after an error. */
const char *import_filled(Import *m, const Yaml *at, const char *text);

/* metadata.c: return the architecture of a .gguf file, and a value by its key.
 * A key that starts with "general." or "tokenizer." is looked up unchanged; to
 * others, such as "embedding_length", the architecture is prefixed. Both return
 * NULL if the value is absent or the input is not a .gguf file. */
const char *gguf_architecture(const Import *m);
const Datum *gguf_value(Import *m, const char *key);

/* import_gguf.c: reads a .gguf file instead of a folder. */
bool gguf_read(Import *m);
bool gguf_family(Import *m, Rules *to);
/* Converts metadata to keys of config.json, and tensor names to those in the
 * rules. */
bool gguf_keys(Import *m);
/* Return a weight's name in the file, and its name in the rules. They differ
 * only for .gguf files. */
const char *gguf_stored(Import *m, const char *name);
const char *gguf_called(Import *m, const char *name);

/* chat_file.c: returns the chat template of the folder and sets its position;
 * NULL: the folder has none. c: tokenizer_config.json. template_token() returns
 * the text of a token there, NULL: none. */
const char *template_text(Import *m, const Config *c, Pos *pos);
const char *template_token(const Config *c, const char *key);

/* pair_texts.c: Scope.pair */
const char *pair_texts_get(Scope *s, const char *name, bool generates);

/* token_ids.c: Scope.token */
int64_t vocabulary_token(Scope *s, const char *text);

/* alike.c: */
/* Finds the rules of the family --as=FAMILY. Returns false after an error. */
bool alike_find(Import *m, Rules *to);
/* Returns the task of the known class that has the same head as a class of
 * another model type, such as ForCausalLM; NULL: none. */
const Yaml *alike_class(const Yaml *known, const char *name);

/* judge.c: rejects models that the rules do not support, and unknown keys. */
bool judge_refusals(Import *m);
bool judge_keys(Import *m);
/* Returns a key from the other files or else from config.json, because older
 * folders keep the keys of generation_config.json there; NULL: none. */
const ConfigKey *generation_key(const Import *m, const char *key);

/* resolve.c: return trees of the rules with all expressions evaluated. */
Yaml *resolve_spec(Import *m);
Yaml *resolve_names(Import *m);
/* import_layers.c: evaluates the rules for each layer. Adds fields with the
 * same value in all layers to the top level of the spec, and others as rows of
 * `layers`. */
void resolve_layers(Import *m, Yaml *spec);
/* Returns a copy of a tree with its expressions evaluated; NULL if it is
 * none. */
Yaml *resolve_tree(Import *m, const Yaml *rule);
/* Return new nodes of a tree. */
Yaml *scalar_new(Arena *a, const char *text, bool quoted);
Yaml *map_new(Arena *a);
void map_set(Arena *a, Yaml *map, const char *key, Yaml *value);
/* Removes a key from a map and returns its value; NULL if it is absent. */
Yaml *map_take(Yaml *map, const char *key);

/* chat_template.c: adds `chat` to a decoder's spec if the folder has such a
 * template. Returns false after an error. */
bool import_chat(Import *m, Yaml *spec);

/* spec_text.c: the input from which a spec's text is written */
typedef struct {
    Import *m;
    Yaml *spec, *names; /* the spec's tree; its weight map (NULL: none) */
    const Yaml *comments;
    const char *weights; /* path of the weights, relative to the spec */
    const char *title;
    Yaml *unused; /* patterns of unused tensors; NULL: none */
    VEC(TextOrigin)
    origins; /* positions in config.json that the values came from */
} SpecTree;
const char *spec_tree_text(SpecTree *t);
/* Returns true if a spec can have the text: YAML has no bytes that are not
 * UTF-8, for example. */
bool spec_tree_takes(Arena *a, const char *text);
/* Removes fields that have their default values from the tree. */
void spec_tree_shorten(SpecTree *t);

/* tensors.c: opens the weights of the folder. */
bool tensors_open(Import *m);
/* Opens the weights of any folder and sets *path to their path. Returns NULL
 * after an error. */
Safetensors *tensors_of(Import *m, const char *folder, const char **path);
/* untie.c: reads tied tables as two if an adapter replaces one of them. */
bool untie_weights(Import *m);
/* merged.c: joins a second weights file if the rules name one. The name of its
 * folder becomes the prefix of its tensors. */
bool join_weights(Import *m, Imported *to);
/* Computes weights from several files and writes them, if the options request
 * it. */
bool merge_weights(Import *m);
/* same_model.c: returns false after an error if the keys of another folder have
 * other values. */
bool same_model(Import *m, const Import *other);
/* Returns false after an error if the model is a file of llama.cpp. */
bool can_merge(const Import *m);
/* Removes the rows of `names` for which neither the file nor the model has a
 * tensor: rules name the weights of all kinds of layers, and a model may lack a
 * kind. */
void names_drop_idle(Import *m, SpecTree *t);
/* Checks that the file has every tensor that the spec needs, and that all other
 * tensors are known. The latter become `unused` in the spec. */
bool tensors_fit(Import *m, SpecTree *t, Imported *to);

/* vocabulary.c: converts the tokenizer of the folder and adds it to the
 * spec. */
/* Leaves end and pad tokens out of the spec that the vocabulary does not have,
 * as transformers ignores them, and warns. */
void vocabulary_drop_far(Import *m, Yaml *spec);
void vocabularies_read(Import *m, Yaml *spec, Imported *to);

#endif
