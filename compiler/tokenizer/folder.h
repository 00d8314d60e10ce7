/* folder.h: the tokenizer's files of a checkpoint's folder. */
#ifndef ATTNC_TOKENIZER_FOLDER_H
#define ATTNC_TOKENIZER_FOLDER_H

#include "tokenizer/reader.h"

/* Tokens that have a role, by the keys of tokenizer_config.json. */
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
    const json_t *class;  /* the row of its tokenizer_class */
    int32_t role[Roles];  /* ids; -1: none */
    int32_t language;
    bool by_class; /* not of tokenizer.json */
} Folder;

/* ---- folder_keys.c ---- */

/* A member; NULL: there is none, or null. */
const json_t *json_value(const json_t *o, const char *key);
/* Its path in the arena; NULL: there is no such file. */
const char *folder_file(const Folder *f, const char *name);
/* A key of tokenizer_config.json, else of the row of the class. */
const json_t *folder_key(const Folder *f, const char *key);
/* "[CLS]" or {"content": "[CLS]", ..}; .at NULL: neither. */
Text token_text(const json_t *v);
/* The token of a role; .at NULL: none is named. */
Text folder_role(const Folder *f, Role role);
extern const char *const role_keys[Roles]; /* "bos_token" .. */

/* ---- class.c ---- */

/* The tokenizer by its class and the files that its row names. */
bool class_read(Folder *f, bool *found);
/* Its languages' tokens, those that are not there yet. */
bool class_languages(Folder *f);
/* "cls $A sep": rows around a text, roles by name. */
bool class_template(Folder *f);

#endif
