/* field_keys.c: rows of the table of fields by their keys, which are paths:
 * norm.place is below norm.                                                 */
#include <string.h>

#include "spec/fields.h"

int field_find(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (!strcmp(fields[i].key, key))
            return i;
    return -1;
}

int field_row(const char *key)
{
    int row = field_find(key);
    if (row < 0)
        die("no field is named %s", key);
    return row;
}

bool field_below(const char *key, const char *group)
{
    size_t n = strlen(group);
    return !strncmp(key, group, n) && (n == 0 || key[n] == '.');
}

bool field_group(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (field_below(fields[i].key, key))
            return true;
    return false;
}
