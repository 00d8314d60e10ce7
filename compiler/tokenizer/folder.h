/* folder.h: the tokenizer files of a checkpoint folder. */
#ifndef ATTNC_TOKENIZER_FOLDER_H
#define ATTNC_TOKENIZER_FOLDER_H

#include "tokenizer/reader.h"

/* Roles of tokens; role_keys[] has their keys in tokenizer_config.json. */
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
    const json_t *config; /* content of tokenizer_config.json, or NULL */
    const json_t *map;    /* content of special_tokens_map.json */
    const json_t *class;  /* row of its tokenizer_class; NULL: unknown */
    int32_t role[Roles];  /* id of each role's token; -1: none */
    int32_t language;
    bool by_class; /* true if there is no tokenizer.json */
} Folder;

/* ---- folder_keys.c ---- */

/* Returns a member of an object; NULL if the member is absent or null. */
const json_t *json_value(const json_t *o, const char *key);
/* Returns the path of a file in the folder, allocated in the arena, or NULL if
 * the file does not exist. */
const char *folder_file(const Folder *f, const char *name);
/* Returns the value of a key in tokenizer_config.json or, if absent there, in
 * the row of the class. */
const json_t *folder_key(const Folder *f, const char *key);
/* Returns the text of a token written as "[CLS]" or as {"content": "[CLS]"};
 * .at is NULL for other values. */
Text token_text(const json_t *v);
/* Returns the text of a role's token; .at is NULL if no file names it. */
Text folder_role(const Folder *f, Role role);
extern const char *const role_keys[Roles]; /* e.g. "bos_token" */

/* ---- class.c ---- */

/* Reads the files that the row of the class names. Sets *found to true if they
 * exist. */
bool class_read(Folder *f, bool *found);
/* Adds the tokens of the class's languages that are still missing. */
bool class_languages(Folder *f);
/* Sets the template from the class's row, e.g. "cls $A sep". */
bool class_template(Folder *f);

#endif
