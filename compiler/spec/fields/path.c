/* path.c: returns the positions at which fields were written, and resolves
 * paths relative to the file that contains them. */
#include <string.h>

#include "spec/fields/fields.h"

const char *last_key(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

char *spec_path(Arena *a, Pos written, const char *path)
{
    const char *from = written.src ? written.src->name : "";
    const char *folder = *path == '/' ? "" : folder_of(a, from);
    bool option = !*folder && (*path == '-' || *path == '@');

    return arena_printf(a, "%s%s%s", option ? "./" : "", folder, path);
}

bool spec_has(const Spec *s, const char *key)
{
    return s->field_pos[field_row(key)].src != NULL;
}

/* Returns the position of the field. If it has none, returns that of another
 * field in the same group, or else the top of the spec. */
Pos spec_pos(const Spec *s, const char *key)
{
    int row = field_find(key);
    const char *dot = strrchr(key, '.');

    if (row >= 0 && s->field_pos[row].src)
        return s->field_pos[row];
    for (int i = 0; dot && i < n_fields; i++)
        if (s->field_pos[i].src
            && !strncmp(fields[i].key, key, (size_t)(dot - key) + 1))
            return s->field_pos[i];
    return s->top;
}

bool field_group(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (field_below(fields[i].key, key))
            return true;
    return false;
}

int field_of_name(const char *path)
{
    for (int i = 0; i < n_fields; i++)
        if ((fields[i].type == FieldNames || fields[i].type == FieldDtypes
             || fields[i].type == FieldLayers)
            && field_below(path, fields[i].key))
            return i;
    return -1;
}

/* Returns the key under which a side's value was written. In the table, the key
 * for both sides precedes the keys of the two sides. */
const char *side_key(const Spec *s, const char *key, Side side)
{
    int row = field_row(key), own = row + 1 + (int)side;
    bool one = same_place(s->field_pos[row], s->field_pos[own]);

    return fields[one ? row : own].key;
}

bool set_for_both(const Spec *s, const char *key, Side side)
{
    int row = field_row(key);

    return side == SideDecoder && s->side[SideEncoder].h > 0
        && same_place(s->field_pos[row + 1], s->field_pos[row + 2]);
}
