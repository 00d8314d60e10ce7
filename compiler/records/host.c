/* host.c: describes the machine, target and compiler for which a record is
 * valid, as texts that can be compared. */
#include "records/records.h"

#include <stdlib.h>
#include <string.h>

#include "machine/machine.h"

/* Returns a copy of the name for use in a record: at most 200 bytes of
 * printable ASCII. */
static const char *printable(Arena *a, const char *name)
{
    char *text = arena_printf(a, "%.200s", name);
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return text;
}

static const char *size_text(Arena *a, size_t bytes)
{
    const bool whole = bytes >> 20 && bytes % (1 << 20) == 0;
    return arena_printf(a, "%zu%c", bytes >> (whole ? 20 : 10),
                        whole ? 'M' : 'K');
}

static const char *caches_text(Arena *a, const Machine *m)
{
    const char *text = size_text(a, m->cache[LevelL1]);
    for (int l = LevelL2; l < LevelMemory; l++)
        text = arena_printf(a, "%s %s", text, size_text(a, m->cache[l]));
    return text;
}

static const char *isa_text(Arena *a, const Target *t)
{
    Target own;
    Fault unused;
    if (!target_find(&own, t->march, 0, NULL, &unused))
        die("no target %s", t->march);
    return own.width == t->width ? t->march
                                 : arena_printf(a, "%s/%d", t->march, t->width);
}

Host host_here(Arena *a, const Target *t, int threads, const char *compiler)
{
    Machine m;
    machine_find(&m);
    return (Host){ .cpu = printable(a, m.cpu),
                   .caches = caches_text(a, &m),
                   .isa = isa_text(a, t),
                   .threads = threads,
                   .compiler = printable(a, compiler) };
}

HostParts host_parts(Arena *a, const Host *h)
{
    const char *slash = strchr(h->isa, '/'), *level = NULL;
    for (const char *at = h->compiler; (at = strstr(at, " -O")); at++)
        level = at;
    const size_t march = slash ? (size_t)(slash - h->isa) : strlen(h->isa);
    const size_t version = level ? (size_t)(level - h->compiler)
                                 : strlen(h->compiler);
    const long width = slash ? strtol(slash + 1, NULL, 10) : 0;
    return (HostParts){ .march = arena_strndup(a, h->isa, march),
                        .width = width < 0 || width > 64 ? -1 : (int)width,
                        .version = arena_strndup(a, h->compiler, version),
                        .level = level ? level + 3 : NULL,
                        .jit = !strcmp(h->compiler, "libtcc") };
}

bool host_same_machine(const Host *a, const Host *b)
{
    return !strcmp(a->cpu, b->cpu) && !strcmp(a->caches, b->caches);
}

bool host_same_isa(const Host *a, const Host *b)
{
    return !strcmp(a->isa, b->isa);
}

bool host_same_compiler(const Host *a, const Host *b)
{
    return !strcmp(a->compiler, b->compiler);
}

bool host_same(const Host *a, const Host *b)
{
    return a->threads == b->threads && host_same_machine(a, b)
        && host_same_isa(a, b) && host_same_compiler(a, b);
}

const char *host_text(Arena *a, const Host *h)
{
    return arena_printf(a, "%s (%s), %s, %d thread%s, %s", h->cpu, h->caches,
                        h->isa, h->threads, h->threads == 1 ? "" : "s",
                        h->compiler);
}
