/* in_memory.c: imports a checkpoint that stands in the place of a spec. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "import/import.h"
#include "runtime/weights/gguf.h"

/* Returns the part of the path that names the model. A cache of Hugging Face
 * keeps a model in models--OWNER--NAME/snapshots/HASH. */
static const char *naming_part(Arena *a, const char *path)
{
    static const char mark[] = "/snapshots/", cache[] = "models--";
    path = without_slashes(a, path);
    const char *end = strstr(path, mark);
    if (!end || strchr(end + sizeof mark - 1, '/'))
        return *base_name(path) ? base_name(path) : path;
    const char *repository = base_name(
        arena_strndup(a, path, (size_t)(end - path)));
    if (strncmp(repository, cache, sizeof cache - 1) != 0)
        return base_name(path);
    const char *name = strstr(repository + sizeof cache - 1, "--");
    return name ? name + 2 : repository + sizeof cache - 1;
}

/* Every character except letters, digits and _ . - becomes _. */
const char *import_name(Arena *a, const char *path)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    char *name = arena_strdup(a, naming_part(a, path));
    char *end = ends_in(name, ".yaml") || ends_in(name, ".gguf")
                  ? strrchr(name, '.')
                  : NULL;
    if (end)
        *end = '\0';
    for (char *c = name; *c; c++)
        *c = strchr(kept, *c) ? *c : '_';
    return strcmp(name, ".") && strcmp(name, "..") && *name
             ? arena_strndup(a, name, strnlen(name, 128))
             : "model";
}

static bool is_checkpoint(Arena *a, const char *path)
{
    return !is_folder(path)
             ? is_gguf(path)
             : path_exists(arena_printf(a, "%s/config.json", path))
                   || path_exists(
                       arena_printf(a, "%s/adapter_config.json", path));
}

bool import_give(const Imported *i, const ImportOptions *o, Fault *why)
{
    bool good = file_give(o->spec, i->text, i->n, why);
    if (good && i->index)
        good = file_give(o->index, i->index, strlen(i->index), why);
    for (int k = 0; good && k < i->vocabs; k++)
        good = file_give(i->vocab[k].path, i->vocab[k].block,
                         (size_t)i->vocab[k].bytes, why);
    return good;
}

const char *import_in_memory(Arena *a, const char *path)
{
    if (!is_checkpoint(a, path))
        return path;
    const char *folder = without_slashes(a, path);
    const char *spec = is_folder(path)
                         ? arena_printf(a, "%s/imported.yaml", folder)
                         : arena_printf(a, "%s.imported.yaml", folder);
    const ImportOptions o = {
        .folder = folder,
        .spec = spec,
        .index = arena_printf(a, "%s/imported.safetensors.index.json", folder),
        .name = import_name(a, folder)
    };
    Imported i;
    Fault why;
    if (file_given(spec))
        return spec;
    int code = import_folder(&i, &o);
    if (!code && !import_give(&i, &o, &why))
        code = report_fault(&why);
    /* The reader of specs holds errors, whose places are in texts of i. */
    if (code)
        errors_release();
    import_close(&i);
    if (code)
        end_attempt(code);
    return spec;
}
