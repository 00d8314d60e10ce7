/* arena.c: memory that is freed all at once. Each compilation has one arena, so
 * no allocation needs an owner, and a tuner can compile thousands of variants
 * in one process without a leak. */
#include <stdalign.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/attempt.h"

/* With one chunk per allocation, AddressSanitizer detects overruns. */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define EACH_ALONE
#endif
#endif
#if defined EACH_ALONE
enum { ChunkBytes = 0 };
#else
enum { ChunkBytes = 1 << 16 };
#endif

typedef struct Chunk Chunk;
struct Chunk {
    Chunk *next, *before; /* `next` is the older chunk, `before` the newer
                           * one */
    size_t used, size;    /* used and total bytes of memory[] */
    alignas(max_align_t) char memory[];
};

typedef struct Owned Owned;
struct Owned { /* something beside memory that the arena frees */
    Owned *older;
    void (*close)(void *what);
    void *what;
};

struct Arena {
    Chunk *chunk;         /* the chunk being filled; it links to older ones */
    size_t bytes;         /* total of all allocations */
    Owned *owned;         /* the newest */
    Arena **list;         /* list of the attempt that made it; NULL: none */
    Arena *next, *before; /* in that list */
};

static void *zeroed(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p)
        fail(ExitResource, "out of memory (%zu bytes wanted)", bytes);
    return p;
}

static void put_in(Arena **list, Arena *a)
{
    a->list = list;
    a->next = *list;
    *list = a;
    if (a->next)
        a->next->before = a;
}

static void take_out(Arena *a)
{
    if (a->next)
        a->next->before = a->before;
    if (a->before)
        a->before->next = a->next;
    else if (a->list)
        *a->list = a->next;
    a->list = NULL;
    a->next = a->before = NULL;
}

Arena *arena_new(void)
{
    Arena *a = zeroed(sizeof *a);

    if (current_attempt)
        put_in(&current_attempt->made, a);
    return a;
}

void arenas_end(Arena **list, bool failed, Arena **outer)
{
    while (*list) {
        Arena *a = *list;
        take_out(a);
        if (failed)
            arena_free(a);
        else if (outer)
            put_in(outer, a);
    }
}

/* ---- what an arena owns ---- */
void arena_owns(Arena *a, void *what, void (*close)(void *what))
{
    Owned *o = malloc(sizeof *o);

    if (!o) {
        close(what);
        fail(ExitResource, "out of memory (%zu bytes wanted)", sizeof *o);
    }
    *o = (Owned){ .older = a->owned, .close = close, .what = what };
    a->owned = o;
}

/* Closes the newest. */
static void close_one(Owned **newest)
{
    Owned *o = *newest;
    *newest = o->older;
    o->close(o->what);
    free(o);
}

void arena_closes(Arena *a, const void *what)
{
    for (Owned **o = &a->owned; *o; o = &(*o)->older)
        if ((*o)->what == what) {
            close_one(o);
            return;
        }
}

static void close_all(Arena *a)
{
    while (a->owned)
        close_one(&a->owned);
}

/* ---- memory ---- */
static void free_chunks(Chunk *c)
{
    for (Chunk *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

static void free_owned(void *arena)
{
    arena_free(arena);
}

void arena_owns_arena(Arena *a, Arena *b)
{
    arena_owns(a, b, free_owned);
}

void arena_free(Arena *a)
{
    if (!a)
        return;
    take_out(a);
    close_all(a);
    free_chunks(a->chunk);
    free(a);
}

/* Empties the arena, but keeps the current chunk for the next compilation. */
void arena_reset(Arena *a)
{
    Chunk *c = a->chunk;

    close_all(a);
    if (c && c->size > ChunkBytes) {
        free_chunks(c);
        a->chunk = NULL;
    } else if (c) {
        free_chunks(c->next);
        c->next = NULL;
        memset(c->memory, 0, c->used);
        c->used = 0;
    }
}

static size_t aligned(size_t at)
{
    const size_t align = alignof(max_align_t);

    return (at + align - 1) / align * align;
}

static void link_chunk(Chunk *c)
{
    if (c->next)
        c->next->before = c;
    if (c->before)
        c->before->next = c;
}

/* Adds a chunk. An allocation larger than ChunkBytes gets its own chunk, linked
 * after the current one. */
static Chunk *add_chunk(Arena *a, size_t bytes)
{
    const bool own = bytes > ChunkBytes;
    size_t size = own ? bytes : ChunkBytes;
    Chunk *c = zeroed(sizeof *c + size);

    c->size = size;
    c->before = own ? a->chunk : NULL;
    c->next = c->before ? c->before->next : a->chunk;
    link_chunk(c);
    if (!c->before)
        a->chunk = c;
    return c;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    if (bytes > SIZE_MAX / 2)
        fail(ExitResource, "out of memory (%zu bytes wanted)", bytes);

    Chunk *c = a->chunk;
    size_t at = c ? aligned(c->used) : 0;
    if (!c || at > c->size || c->size - at < bytes) {
        c = add_chunk(a, bytes);
        at = 0;
    }
    c->used = at + bytes;
    a->bytes += bytes;
    return c->memory + at;
}

size_t arena_bytes(const Arena *a)
{
    return a->bytes;
}

/* Grows an allocation of `old` bytes: in place if nothing follows it, by
 * realloc() if it has its own chunk, otherwise by copying. */
static void *enlarged(Arena *a, char *at, size_t old, size_t bytes)
{
    Chunk *c = a->chunk;

    if (old > ChunkBytes) {
        c = realloc(at - offsetof(Chunk, memory), sizeof *c + bytes);
        if (!c)
            fail(ExitResource, "out of memory (%zu bytes wanted)", bytes);
        c->used = c->size = bytes;
        link_chunk(c);
        if (!c->before)
            a->chunk = c;
    } else if (old && at + old == c->memory + c->used
               && c->size - c->used >= bytes - old) {
        c->used += bytes - old;
    } else {
        void *grown = arena_alloc(a, bytes);
        return old ? memcpy(grown, at, old) : grown;
    }
    a->bytes += bytes - old;
    return old > ChunkBytes ? c->memory : at;
}

char *arena_strndup(Arena *a, const char *s, size_t n)
{
    char *copy = arena_alloc(a, n + 1);
    if (n) /* s may be NULL */
        memcpy(copy, s, n);
    return copy;
}

char *arena_strdup(Arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
{
    va_list again;

    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        die("bad format: %s", fmt);
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

char *arena_printf(Arena *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

char *arena_grouped(Arena *a, int64_t n)
{
    if (n > -1000 && n < 1000)
        return arena_printf(a, "%d", (int)n);
    return arena_printf(a, "%s,%03d", arena_grouped(a, n / 1000),
                        abs((int)(n % 1000)));
}

void vec_grow(Arena *a, void **at, int n, int *cap, size_t size)
{
    if (n < *cap)
        return;
    if (n > INT32_MAX / 2)
        fail(ExitResource, "an array of more than %d entries is needed", n);
    int more = n ? 2 * n : 8;
    *at = enlarged(a, *at, (size_t)*cap * size, (size_t)more * size);
    *cap = more;
}
