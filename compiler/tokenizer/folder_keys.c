/* folder_keys.c: looks up keys in the files next to a tokenizer: its config,
 * the special tokens map, and the row of its class. */
#include <unistd.h>

#include "tokenizer/folder.h"

const char *const role_keys[Roles] = {
    [RoleBegin] = "bos_token",     [RoleEnd] = "eos_token",
    [RoleUnknown] = "unk_token",   [RolePad] = "pad_token",
    [RoleMask] = "mask_token",     [RoleClass] = "cls_token",
    [RoleSeparator] = "sep_token",
};

const char *folder_file(const Folder *f, const char *name)
{
    const char *path = arena_printf(f->r->arena, "%s/%s", f->from->folder,
                                    name);
    return access(path, F_OK) == 0 ? path : NULL;
}

const json_t *json_value(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    return json_is_null(v) ? NULL : v;
}

const json_t *folder_key(const Folder *f, const char *key)
{
    const json_t *v = json_value(f->config, key);
    return v ? v : json_value(f->class, key);
}

Text token_text(const json_t *v)
{
    const json_t *content = json_object_get(v, "content");
    v = content ? content : v;
    return (Text){ json_string_value(v), json_string_length(v) };
}

Text folder_role(const Folder *f, Role role)
{
    const json_t *const from[] = { f->config, f->map, f->class };
    Text text = { 0 };
    for (int i = 0; i < 3 && !text.at; i++) {
        const json_t *v = json_object_get(from[i], role_keys[role]);
        if (v && json_is_null(v) && i == 0)
            break; /* null means "no token", so the map and the class are not
                    * tried */
        text = token_text(v);
    }
    return text;
}
