/* part_roots.c: the parts of an emitted file and their roots, from the rows of
 * parts.h. */
#include "emit/gen/sections.h"

#include <string.h>

static const struct {
    const char *name, *roots, *brings;
} parts[] = {
#define PART(id, name, roots, brings) { name, roots, brings },
#include "emit/parts.h"
};

bool is_root(FilePart part, const char *name)
{
    const char *words = parts[part].roots;
    const size_t n = strlen(name);
    for (; *words; words += strspn(words, " ")) {
        const size_t word = strcspn(words, " ");
        if (word == n && !memcmp(words, name, n))
            return true;
        words += word;
    }
    return false;
}

bool is_left_out(const EmitOptions *o, FilePart part)
{
    return o->left_out >> part & 1;
}

bool has_root(const EmitOptions *o, const char *name)
{
    bool root = false;
    for (int i = 0; i < FileParts; i++)
        if (is_root((FilePart)i, name)) {
            root = true;
            if (!is_left_out(o, (FilePart)i))
                return true;
        }
    return !root;
}

PartText part_text(FilePart part)
{
    return (PartText){ parts[part].name, parts[part].brings };
}
