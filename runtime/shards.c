/* shards.c: tensors in several files, by an index: {"weight_map": {"NAME":
 * "FILE", ...}}. Files stand beside the index; each has the tensors that the
 * index says and no other.                                                  */
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "shards.h"

enum { IndexLimit = 100000000 };

/* The file's path: names lead to no other folder, and to no other index. */
static bool shard_path(const char *index, const char *name, char **path,
                       Fault *why)
{
    const char *slash = strrchr(index, '/');
    size_t folder = slash ? (size_t)(slash + 1 - index) : 0;
    const size_t n = strlen(name);
    if (!n || strchr(name, '/') || !strcmp(name, "..") ||
        (n >= 5 && !strcmp(name + n - 5, ".json")))
        return fault(why, ExitInput, "%s: shard '%.80s': must be the name of "
                     "a safetensors file in the folder of the index", index,
                     name);
    *path = malloc(folder + n + 1);
    if (!*path)
        return fault(why, ExitResource, "%s: out of memory", index);
    memcpy(*path, index, folder);
    strcpy(*path + folder, name);
    return true;
}

static bool has_shard(const Shards *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->shard[i].name, name))
            return true;
    return false;
}

static bool add_shard(Shards *s, const char *index, const char *name,
                      Fault *why)
{
    Shard *to = &s->shard[s->count];
    Fault own;
    if (!shard_path(index, name, &to->path, why))
        return false;
    s->count++;
    to->name = name;
    to->file = safetensors_open(to->path, &own);
    return to->file || fault(why, own.code, "%s (a shard of %s)", own.text,
                             index);
}

/* Each tensor of a shard is where the index says. */
static bool check_shard(const char *index, const Shard *shard,
                        const json_t *map, Fault *why)
{
    for (int i = 0; i < safetensors_count(shard->file); i++) {
        const char *name = safetensors_at(shard->file, i)->name;
        const char *where = json_string_value(json_object_get(map, name));
        if (!where)
            return fault(why, ExitInput, "%s: tensor '%.80s': is in '%.80s', "
                         "the index does not have it", index, name,
                         shard->name);
        if (strcmp(where, shard->name))
            return fault(why, ExitInput, "%s: tensor '%.80s': is in '%.80s', "
                         "the index says '%.80s'", index, name, shard->name,
                         where);
    }
    return true;
}

static bool check_tensors(const char *index, const Shards *s,
                          const json_t *map, Fault *why)
{
    const char *name;
    json_t *where;
    for (int i = 0; i < s->count; i++)
        if (!check_shard(index, &s->shard[i], map, why))
            return false;
    json_object_foreach((json_t *)map, name, where)
        for (int i = 0; i < s->count; i++)
            if (!strcmp(s->shard[i].name, json_string_value(where)) &&
                !safetensors_find(s->shard[i].file, name))
                return fault(why, ExitInput, "%s: tensor '%.80s': is not in "
                             "'%.80s', where the index says", index, name,
                             s->shard[i].name);
    return true;
}

static bool open_shards(Shards *s, const char *index, Fault *why)
{
    json_t *map = json_object_get(s->index, "weight_map"), *where;
    const char *name;
    if (!json_is_object(map) || !json_object_size(map))
        return fault(why, ExitInput, "%s: 'weight_map' must map names of "
                     "tensors to files", index);
    s->shard = calloc(json_object_size(map), sizeof *s->shard);
    if (!s->shard)
        return fault(why, ExitResource, "%s: out of memory", index);
    json_object_foreach(map, name, where) {
        if (!json_is_string(where))
            return fault(why, ExitInput, "%s: tensor '%.80s': its shard must "
                         "be the name of a file", index, name);
        if (!has_shard(s, json_string_value(where)) &&
            !add_shard(s, index, json_string_value(where), why))
            return false;
    }
    return check_tensors(index, s, map, why);
}

bool shards_open(Shards *s, const char *index, Fault *why)
{
    File f;
    json_error_t e;
    *s = (Shards){ 0 };
    if (!file_read(&f, index, IndexLimit, why))
        return false;
    const bool read = json_read(&s->index, index, (const char *)f.at, f.size,
                                JSON_REJECT_DUPLICATES, &e, why);
    file_close(&f);
    if (!read)
        return false;
    if (!s->index)
        return fault(why, ExitInput, "%s:%d: %s", index, e.line, e.text);
    if (open_shards(s, index, why))
        return true;
    shards_close(s);
    return false;
}

void shards_close(Shards *s)
{
    for (int i = 0; i < s->count; i++) {
        safetensors_close(s->shard[i].file);
        free(s->shard[i].path);
    }
    free(s->shard);
    json_decref(s->index);
    *s = (Shards){ 0 };
}
