/* config.h: a JSON file of the checkpoint folder, as keys with paths and
 * positions. */
#ifndef ATTNC_IMPORT_CONFIG_H
#define ATTNC_IMPORT_CONFIG_H

#include "import/value.h"

typedef struct {
    const char *path; /* path of the key, e.g. "rope_parameters.rope_theta" */
    Pos pos;
    Datum value;
    bool used; /* true if a rule knows this key */
} ConfigKey;

typedef struct {
    Source src; /* the file; its name is NULL if the folder has no such file */
    Datum top;  /* value of the file: a map or, in some files, a list */
    VEC(ConfigKey) key;
} Config;

/* Reads a JSON file. If it does not exist, sets to->src.name to NULL. Returns
 * false after reporting an error, with the exit code in *code. `reals` reads
 * every number as a float, because 10^30 (model_max_length) exceeds int64_t. */
bool config_read(Arena *a, const char *path, bool reals, Config *to, int *code);
ConfigKey *config_find(Config *c, const char *path); /* returns NULL if the key
                                                      * is absent */
/* Renames a key and the keys inside it. If the new path exists too, both values
 * must be equal. Returns false after reporting an error. */
bool config_move(Arena *a, Config *c, const char *from, const char *to);
/* Moves the keys of the map `section` to the top level, where they replace
 * others, except architectures. Returns false after reporting that it is not a
 * map. */
bool config_raise(Arena *a, Config *c, const char *section);
/* Marks the keys that match a pattern, and all keys inside them, as known. *
 * matches any text. */
void config_know(Config *c, const char *pattern);
/* Returns true if a rule knows the key or one inside it. Each key of such a map
 * is checked separately. */
bool config_knows(const Config *c, const ConfigKey *k);
/* Reports the keys that no rule knows, and returns their number. Keys that are
 * off are only warned of, and not counted. Suggestions are chosen from the n
 * keys in `known`. */
int config_unknown(Arena *a, const Config *c, const char *family,
                   const char *const *known, int n);

#endif
