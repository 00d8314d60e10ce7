/* shards.c: reads tensors from several files, which an index lists:
 * {"weight_map": {"NAME": "FILE", ...}}. The files must be in the folder of the
 * index or below it, and each must contain exactly the tensors that the index
 * lists for it. The names of a file below are listed with its folder in front:
 * tensor t of "2_Dense/model.safetensors" is "2_Dense.t". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf.h"
#include "runtime/base/json.h"
#include "safetensors.h"

enum { IndexLimit = 100000000 };

static bool leads_out(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += part != name;
        if (!*part || *part == '/'
            || (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/')))
            return true;
    }
    return false;
}

/* Sets *path to the path of a shard, which the caller frees. Rejects names that
 * lead out of the folder or to an index. */
static bool shard_path(const char *index, const char *name, char **path,
                       Fault *why)
{
    const char *slash = strrchr(index, '/');
    size_t folder = slash ? (size_t)(slash + 1 - index) : 0;
    const size_t n = strlen(name);
    if (leads_out(name) || (n >= 5 && !strcmp(name + n - 5, ".json")))
        return fault(why, ExitInput,
                     "%s: shard '%.80s': must be the name of "
                     "a safetensors file in the folder of the index",
                     index, name);
    *path = malloc(folder + n + 1);
    if (!*path)
        return fault(why, ExitResource, "%s: out of memory", index);
    memcpy(*path, index, folder);
    strcpy(*path + folder, name);
    return true;
}

static bool has_shard(const Safetensors *s, const char *name)
{
    for (int i = 0; i < s->shards; i++)
        if (!strcmp(s->shard[i].name, name))
            return true;
    return false;
}

/* Puts the folder of a shard in front of the names of its tensors. */
static bool name_tensors(const char *index, Shard *shard, Fault *why)
{
    Safetensors *s = shard->file;
    const char *slash = strrchr(shard->name, '/');
    const size_t folder = slash ? (size_t)(slash - shard->name) : 0;
    size_t n = 0;
    for (int i = 0; i < s->count; i++)
        n += folder + strlen(s->tensor[i].name) + 2;
    if (!folder)
        return true;
    char *to = shard->names = malloc(n + 1);
    if (!to)
        return fault(why, ExitResource, "%s: out of memory", index);
    for (int i = 0; i < s->count; i++) {
        const char *name = s->tensor[i].name;
        s->tensor[i].name = to;
        to += snprintf(to, folder + strlen(name) + 2, "%.*s.%s", (int)folder,
                       shard->name, name)
            + 1;
    }
    return true; /* the order is the same */
}

static bool add_shard(Safetensors *s, const char *name, Fault *why)
{
    Shard *to = &s->shard[s->shards];
    Fault own;
    if (!shard_path(s->file.path, name, &to->path, why))
        return false;
    s->shards++;
    to->name = name;
    to->file = safetensors_file(to->path, &own);
    if (!to->file)
        return fault(why, own.code, "%s (a shard of %s)", own.text,
                     s->file.path);
    return name_tensors(s->file.path, to, why);
}

/* Checks that the index lists each tensor of the shard, and lists it for this
 * shard. */
static bool check_shard(const char *index, const Shard *shard,
                        const json_t *map, Fault *why)
{
    for (int i = 0; i < safetensors_count(shard->file); i++) {
        const char *name = safetensors_at(shard->file, i)->name;
        const char *where = json_string_value(json_object_get(map, name));
        if (!where)
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': is in '%.80s', "
                         "the index does not have it",
                         index, name, shard->name);
        if (strcmp(where, shard->name))
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': is in '%.80s', "
                         "the index says '%.80s'",
                         index, name, shard->name, where);
    }
    return true;
}

static bool check_tensors(const Safetensors *s, const json_t *map, Fault *why)
{
    const char *index = s->file.path, *name;
    json_t *where;
    for (int i = 0; i < s->shards; i++)
        if (!check_shard(index, &s->shard[i], map, why))
            return false;
    json_object_foreach((json_t *)map, name, where)
    {
        const char *file = json_string_value(where);
        const Shard *shard = s->shard;
        while (strcmp(shard->name, file)) /* open_shards() opened it */
            shard++;
        if (!safetensors_find(shard->file, name))
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': is not in "
                         "'%.80s', where the index says",
                         index, name, file);
    }
    return true;
}

static bool open_shards(Safetensors *s, Fault *why)
{
    json_t *map = json_object_get(s->header, "weight_map"), *where;
    const char *index = s->file.path, *name;
    if (!json_is_object(map) || !json_object_size(map))
        return fault(why, ExitInput,
                     "%s: 'weight_map' must map names of "
                     "tensors to files",
                     index);
    s->shard = calloc(json_object_size(map), sizeof *s->shard);
    if (!s->shard)
        return fault(why, ExitResource, "%s: out of memory", index);
    json_object_foreach(map, name, where)
    {
        if (!json_is_string(where))
            return fault(why, ExitInput,
                         "%s: tensor '%.80s': its shard must "
                         "be the name of a file",
                         index, name);
        if (!has_shard(s, json_string_value(where))
            && !add_shard(s, json_string_value(where), why))
            return false;
    }
    return check_tensors(s, map, why);
}

static bool read_index(Safetensors *s, Fault *why)
{
    const char *index = s->file.path;
    File f;
    json_error_t e;
    if (!file_read(&f, index, IndexLimit, why))
        return false;
    const JsonText json = { index, (const char *)f.at, f.size, false, false };
    const bool read = json_read(&s->header, &json, &e, why);
    file_close(&f);
    if (read && !s->header)
        return fault(why, ExitInput, "%s:%d: %s", index, e.line, e.text);
    return read;
}

/* Lists the tensors of all shards as if they were in one file. */
static bool join_shards(Safetensors *s, Fault *why)
{
    size_t n = 0;
    for (int i = 0; i < s->shards; i++)
        n += (size_t)s->shard[i].file->count;
    s->tensor = calloc(n + 1, sizeof *s->tensor);
    if (!s->tensor)
        return fault(why, ExitResource, "%s: out of memory", s->file.path);
    for (int i = 0; i < s->shards; i++) {
        const Safetensors *from = s->shard[i].file;
        for (int k = 0; k < from->count; k++)
            s->tensor[s->count++] = from->tensor[k];
    }
    safetensors_sort(s);
    return true;
}

static Safetensors *open_index(const char *path, Fault *why)
{
    Safetensors *s = calloc(1, sizeof *s);
    if (!s) {
        fault(why, ExitResource, "%s: out of memory", path);
        return NULL;
    }
    s->file.path = path;
    if (read_index(s, why) && open_shards(s, why) && join_shards(s, why))
        return s;
    safetensors_close(s);
    return NULL;
}

Safetensors *safetensors_open(const char *path, Fault *why)
{
    const size_t n = strlen(path);
    const bool is_index = n > 5 && !strcmp(path + n - 5, ".json");
    if (is_index)
        return open_index(path, why);
    return is_gguf(path) ? gguf_open(path, why) : safetensors_file(path, why);
}
