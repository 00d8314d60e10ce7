/* folder.h: the tokenizer files of a checkpoint folder. */
#ifndef ATTNC_TOKENIZER_FOLDER_H
#define ATTNC_TOKENIZER_FOLDER_H

#include "tokenizer/reader.h"

/* Roles of tokens, from the keys of tokenizer_config.json. */
typedef enum {
    RoleBegin,
    RoleEnd,
    RoleUnknown,
    RolePad,
    RoleMask,
    RoleClass,
    RoleSeparator,
    Roles
} Role;

typedef struct {
    Reader *r;
    const VocabularyFrom *from;
    const json_t *config; /* tokenizer_config.json; NULL: there is none */
    const json_t *map;    /* special_tokens_map.json */
    const json_t *class;  /* row of its tokenizer_class; NULL: unknown */
    int32_t role[Roles];  /* ids; -1: none */
    int32_t language;
    bool by_class; /* there is no tokenizer.json */
} Folder;

/* ---- folder_keys.c ---- */

/* Returns a member of an object; NULL if it is absent or null. */
const json_t *json_value(const json_t *o, const char *key);
/* Returns the path of a file in the arena; NULL: it does not exist. */
const char *folder_file(const Folder *f, const char *name);
/* Returns a key of tokenizer_config.json, else of the class's row. */
const json_t *folder_key(const Folder *f, const char *key);
/* Returns the text of "[CLS]" or {"content": "[CLS]"}; .at NULL: neither. */
Text token_text(const json_t *v);
/* Returns the token of a role; .at NULL: none is named. */
Text folder_role(const Folder *f, Role role);
extern const char *const role_keys[Roles]; /* such as "bos_token" */

/* ---- class.c ---- */

/* Reads the files that the class's row names; found: there is one. */
bool class_read(Folder *f, bool *found);
/* Adds the tokens of its languages that are still missing. */
bool class_languages(Folder *f);
/* Sets the template from the class's row, such as "cls $A sep". */
bool class_template(Folder *f);

#endif
