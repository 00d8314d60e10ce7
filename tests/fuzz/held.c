/* held.c: tracks the resources of a job of a fuzz target (held.h): memory,
 * maps, mapped files, threads. */
#define _GNU_SOURCE /* off_t, open_memstream */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/pool.h"
#include "runtime/rt.h"
#include "held.h"

typedef struct {
    void *at;
    size_t size;
    HeldKind kind;
} Held;

/* A hash table by address, empty when no job runs. */
static struct {
    Held *at;
    size_t room, used, bytes;
} held;
struct FuzzLimits fuzz_limits;
static bool inside; /* a job runs */

void __lsan_ignore_object(const void *at) __attribute__((weak));
WRAP(void *, malloc, size_t n);
WRAP(void *, calloc, size_t count, size_t n);
WRAP(void *, realloc, void *old, size_t n);
WRAP(void, free, void *at);
WRAP(void *, mmap, void *at, size_t n, int prot, int flags, int fd, off_t from);
WRAP(int, munmap, void *at, size_t n);
WRAP(FILE *, open_memstream, char **text, size_t *n);
WRAP(int, fclose, FILE *f);
WRAP(struct attn_pool *, attn_pool_open, int64_t parts);
WRAP(void, attn_pool_close, struct attn_pool *p);
void __real_file_close(File *f);

static Held *place_of(const void *at)
{
    const size_t most = held.room - 1;
    size_t i = ((uintptr_t)at >> 4) * 0x9e3779b97f4a7c15u >> 32 & most;
    while (held.at[i].kind != HeldNone && held.at[i].at != at)
        i = (i + 1) & most;
    return &held.at[i];
}

static void grow(void)
{
    Held *old = held.at;
    const size_t n = held.room;
    held.room = n ? 2 * n : 1024;
    held.used = 0;
    held.at = __real_calloc(held.room, sizeof *held.at);
    for (size_t i = 0; i < n; i++)
        if (old[i].kind > HeldGone) {
            *place_of(old[i].at) = old[i];
            held.used++;
        }
    __real_free(old);
}

void hold(HeldKind kind, void *at, size_t size)
{
    if (!inside || !at)
        return;
    if (2 * held.used >= held.room)
        grow();
    Held *h = place_of(at);
    held.used += h->kind == HeldNone;
    held.bytes += size;
    *h = (Held){ at, size, kind };
}

void let_go(const void *at)
{
    if (!inside || !at || !held.room)
        return;
    Held *h = place_of(at);
    if (h->kind > HeldGone) {
        held.bytes -= h->size;
        h->kind = HeldGone;
    }
}

static bool too_much(size_t n)
{
    const size_t most = (size_t)fuzz_limits.memory;
    return inside && most && (n > most || held.bytes > most - n);
}

static void give_back(const Held *h)
{
    switch (h->kind) {
    case HeldPool:  __real_attn_pool_close(h->at); break;
    case HeldFile:  __real_file_close(h->at); break;
    case HeldMap:   __real_munmap(h->at, h->size); break;
    case HeldBlock: __real_free(h->at); break;
    case HeldStream: /* its buffer is a local variable that no longer exists */
        if (__lsan_ignore_object)
            __lsan_ignore_object(h->at);
        break;
    default: break;
    }
}

/* Ends threads before freeing their memory, and files before their
 * descriptions. */
static void drop_all(void)
{
    for (HeldKind kind = HeldPool; kind < HeldKinds; kind++)
        for (size_t i = 0; i < held.room; i++)
            if (held.at[i].kind == kind) {
                const Held h = held.at[i];
                held.at[i].kind = HeldGone;
                give_back(&h);
            }
}

void held_begin(void)
{
    inside = true;
}

void held_end(bool drop)
{
    if (drop)
        drop_all();
    inside = false;
    if (held.at)
        memset(held.at, 0, held.room * sizeof *held.at);
    held.used = held.bytes = 0;
}

bool held_on(void)
{
    return inside;
}

/* ---- wraps ---- */
void *__wrap_malloc(size_t n)
{
    void *at = too_much(n) ? NULL : __real_malloc(n);
    hold(HeldBlock, at, n);
    return at;
}

void *__wrap_calloc(size_t count, size_t n)
{
    void *at = too_much(count * n) ? NULL : __real_calloc(count, n);
    hold(HeldBlock, at, count * n);
    return at;
}

void *__wrap_realloc(void *old, size_t n)
{
    if (too_much(n))
        return NULL;
    let_go(old);
    void *at = __real_realloc(old, n);
    hold(HeldBlock, at, n);
    return at;
}

void __wrap_free(void *at)
{
    let_go(at);
    __real_free(at);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    void *map = __real_mmap(at, n, prot, flags, fd, from);
    if (map != MAP_FAILED)
        hold(HeldMap, map, n);
    return map;
}

FILE *__wrap_open_memstream(char **text, size_t *n)
{
    FILE *f = __real_open_memstream(text, n);
    hold(HeldStream, f, 0);
    return f;
}

int __wrap_fclose(FILE *f)
{
    let_go(f);
    return __real_fclose(f);
}

int __wrap_munmap(void *at, size_t n)
{
    let_go(at);
    return __real_munmap(at, n);
}

struct attn_pool *__wrap_attn_pool_open(int64_t parts)
{
    struct attn_pool *p = __real_attn_pool_open(parts < 4 ? parts : 4);
    let_go(p); /* no longer a block: attn_pool_close frees it */
    hold(HeldPool, p, 0);
    return p;
}

void __wrap_attn_pool_close(struct attn_pool *p)
{
    let_go(p);
    __real_attn_pool_close(p);
}
