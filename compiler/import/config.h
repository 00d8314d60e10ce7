/* config.h: a JSON file of the folder, as keys with their paths and places. */
#ifndef ATTNC_IMPORT_CONFIG_H
#define ATTNC_IMPORT_CONFIG_H

#include "import/value.h"

typedef struct {
    const char *path; /* "rope_parameters.rope_theta" */
    Pos pos;
    Datum value;
    bool used; /* some rule knows it */
} ConfigKey;

typedef struct {
    Source src; /* name NULL: the folder has no such file */
    Datum top;  /* whole: a map, or a list of another file */
    VEC(ConfigKey) key;
} Config;

/* A file that is not there leaves to->src.name NULL. False after an error,
 * which has been reported, whose exit code is in *code. reals: every number is
 * read as one with a fraction, since 10^30 is no int (model_max_length). */
bool config_read(Arena *a, const char *path, bool reals, Config *to, int *code);
ConfigKey *config_find(Config *c, const char *path); /* NULL: absent */
/* Gives a key, and those inside it, another path; where that one is there too,
 * the two must be alike. False after an error has been reported.            */
bool config_move(Arena *a, Config *c, const char *from, const char *to);
/* What is in the map of this name stands at the top from now on. */
void config_raise(Arena *a, Config *c, const char *section);
/* Marks a key, and those inside it, as known. A * stands for any text. */
void config_know(Config *c, const char *pattern);
/* Reports keys that no rule knows; how many. `known`: all that rules name. */
int config_unknown(const Config *c, const char *family,
                   const char *const *known, int n);

#endif
