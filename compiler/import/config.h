/* config.h: a JSON file of the checkpoint folder, as keys with paths and
 * positions. */
#ifndef ATTNC_IMPORT_CONFIG_H
#define ATTNC_IMPORT_CONFIG_H

#include "import/value.h"

typedef struct {
    const char *path; /* path of the key, "rope_parameters.rope_theta" */
    Pos pos;
    Datum value;
    bool used; /* a rule knows this key */
} ConfigKey;

typedef struct {
    Source src; /* the file; its name is NULL if the folder has no such file */
    Datum top;  /* the complete value: a map, or in some files a list */
    VEC(ConfigKey) key;
} Config;

/* Reads a JSON file. If it does not exist, to->src.name is NULL. Returns false
 * after reporting an error and setting *code. `reals` reads every number as a
 * float, because 10^30 (model_max_length) does not fit an integer. */
bool config_read(Arena *a, const char *path, bool reals, Config *to, int *code);
ConfigKey *config_find(Config *c, const char *path); /* returns NULL if the key
                                                      * is absent */
/* Renames a key and the keys inside it. If the new path exists too, both values
 * must be equal. Returns false after reporting an error. */
bool config_move(Arena *a, Config *c, const char *from, const char *to);
/* Moves the keys of the map `section` to the top level. */
void config_raise(Arena *a, Config *c, const char *section);
/* Marks the keys that match a pattern, and the keys inside them, as known. A *
 * matches any text. */
void config_know(Config *c, const char *pattern);
/* Reports the keys that no rule knows, and returns their number. `known` lists
 * the keys that rules name, from which hints are chosen. */
int config_unknown(const Config *c, const char *family,
                   const char *const *known, int n);

#endif
