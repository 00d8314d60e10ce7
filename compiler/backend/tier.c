/* tier.c: runs libtcc's code until a C compiler's object is ready, then the
 * object. Callers see a third model, whose entries call one of the two. Both
 * can execute the same call, because they have the same layout of packed
 * weights and cache pages, and each has its own arena during a call. Both
 * execute the first call of each kind after the object is loaded. If any bit
 * differs, the object is set aside for a bug report. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/tier_state.h"
#include "base/user_dir.h"
#include "emit/emit.h"

#define report(t, ...)               \
    do {                             \
        if ((t)->verbose)            \
            note_once(__VA_ARGS__);  \
    } while (0)

/* ---- taking ---- */
static bool same_layout(const struct attn_cache_layout *a,
                        const struct attn_cache_layout *b)
{
    return a->of == b->of && a->page_bytes == b->page_bytes
        && a->format == b->format && a->blocks == b->blocks && a->d_k == b->d_k
        && a->v_panels == b->v_panels && a->window == b->window
        && a->states == b->states;
}

/* Returns true if both models have the same spec, weights and caches. */
static bool same_model(const struct attn_model *a, const struct attn_model *b)
{
    bool same = a->kind == b->kind && a->spec_hash == b->spec_hash
             && a->weights_hash == b->weights_hash
             && a->weights_bytes == b->weights_bytes
             && a->output_columns == b->output_columns
             && a->output_pooled == b->output_pooled && a->caches == b->caches;
    for (int64_t c = 0; same && c < a->caches; c++)
        same = same_layout(&a->cache[c], &b->cache[c]);
    return same;
}

static void *bind(Tier *t, const struct attn_model *m)
{
    const uintptr_t at = (uintptr_t)arena_alloc(t->arena, (size_t)m->bound_bytes
                                                              + ATTN_ALIGN);
    void *bound = (void *)((at + ATTN_ALIGN - 1) / ATTN_ALIGN * ATTN_ALIGN);
    m->bind(bound, t->packed);
    return bound;
}

static void take_object(Tier *t)
{
    if (!objcache_find(t->arena, &t->second, t->key, t->symbol)) {
        report(t,
               "the object of %s is gone from the cache: libtcc's code runs on",
               t->compiler);
    } else if (!same_model(t->first.model, t->second.model)) {
        tier_record_refusal(t, "it is not of the same model");
    } else {
        t->bound[1] = bind(t, t->second.model);
        report(t, "%s is done after %.2f s%s", t->compiler,
               seconds_now() - t->begin, t->about);
    }
}

/* Records a refusal, and checks, without waiting, if the compiler has
 * finished. */
static void look(void *tier)
{
    Fault why;
    Tier *t = tier;
    t->waits = false; /* before reading what refuse() sets */
    const char *refused = atomic_exchange(&t->refused, NULL);
    if (refused)
        tier_record_refusal(t, refused);
    const BackgroundEnd end = background_poll(&t->background, t->arena, &t->key,
                                              &t->about, &why);
    if (t->background.fd >= 0 || !background_reap(&t->background))
        t->waits = true;
    if (end == BackgroundDone)
        take_object(t);
    if (end == BackgroundFailed)
        report(t, "%s made no object: %s; libtcc's code runs on", t->compiler,
               why.text);
}

/* Calls look() if there is something to do. A child of fork() shares the pipe,
 * whose message is for its owner. */
static void look_at(Tier *t)
{
    if (!t->waits || t->owner != getpid())
        return;
    if (t->guard)
        t->guard(look, t);
    else
        look(t);
}

/* Rejects the object. */
static void refuse(Tier *t, const char *reason)
{
    t->bound[1] = NULL;
    t->is_wrong = true;
    t->refused = reason;
    t->waits = true;
    look_at(t);
}

/* ---- calls ---- */
static void call(Tier *t, bool decodes, const struct attn_batch *b, void *arena)
{
    const int64_t calls = ++t->calls;
    const char *differs;
    look_at(t);
    const TierCall kind = !decodes               ? TierEncode
                        : b->rows > b->sequences ? TierPrefill
                                                 : TierStep;
    if (!t->bound[1]) {
        tier_run(t, 0, decodes, b, arena);
    } else if (t->checked[kind]) {
        if (!tier_run(t, 1, decodes, b, arena))
            tier_run(t, 0, decodes, b, arena);
    } else if (tier_agree(t, decodes, b, arena, &differs)) {
        static const char *const name[] = { "encode", "prefill", "step" };
        t->checked[kind] = true;
        report(t,
               "%s: the object of %s gives the same bits, and is taken over at "
               "call %lld",
               name[kind], t->compiler, (long long)calls);
    } else if (differs) {
        refuse(t, differs);
    }
}

static void encode(const void *bound, const struct attn_batch *b, void *arena)
{
    call(*(Tier *const *)bound, false, b, arena);
}

static void decode(const void *bound, const struct attn_batch *b, void *arena)
{
    call(*(Tier *const *)bound, true, b, arena);
}

void *tier_bind(Tier *t, const void *packed)
{
    t->packed = packed;
    t->bound[0] = bind(t, t->first.model);
    return &t->self;
}

/* ---- the key ---- */

/* properties of a file that change whenever its contents do */
typedef struct {
    uint64_t device, inode, size, seconds, nanoseconds;
} Identity;

static Identity identity(const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) != 0)
        return (Identity){ 0 };
    return (Identity){ (uint64_t)st.st_dev, (uint64_t)st.st_ino,
                       (uint64_t)st.st_size, (uint64_t)st.st_mtim.tv_sec,
                       (uint64_t)st.st_mtim.tv_nsec };
}

/* Returns a hash of everything that affects the compiler's input and output.
 * The hash leaves out the text and the compiler's --version, because either
 * costs milliseconds. If an unchanged wrapper script now starts another
 * compiler, the old object is still correct. */
static CacheKey note_key(const TierOptions *o, CText jit)
{
    const Identity files[] = { identity("/proc/self/exe"),
                               identity(o->compiler), identity(o->records) };
    return cache_key((CachePiece[]){ { files, sizeof files },
                                     { o->compiler, strlen(o->compiler) },
                                     { o->level, strlen(o->level) },
                                     { jit.at, jit.n } },
                     4);
}

/* Loads the object that an earlier run cached. Returns false if there is none
 * or, with t->is_wrong set, if it is rejected. */
static bool find_object(Tier *t, Backend *b)
{
    CacheEntry e;
    if (!cache_get(&e, t->arena, CacheNote, t->note, CacheVerified))
        return false;
    const char *line = arena_strndup(t->arena, e.at, e.bytes);
    const size_t digits = sizeof t->key.hex - 1;
    cache_close(&e);
    t->is_wrong = strcmp(line, tier_differs) == 0;
    if (t->is_wrong || strlen(line) < digits)
        return false;
    memcpy(t->key.hex, line, digits);
    t->about = line + digits;
    return objcache_find(t->arena, b, t->key, t->symbol);
}

/* ---- opening ---- */
static void start_tier(Tier *t, const TierOptions *o)
{
    Fault why;
    const BackgroundWork w = { .text = o->text,
                               .with = o->with,
                               .note = t->note };
    const char *folder = user_dir(t->arena);
    if (t->is_wrong)
        report(t, "the object of %s is not used: %s libtcc's code runs alone",
               t->compiler, tier_differs);
    else if (cache_limit() == 0 || !folder || !user_dir_make(t->arena, folder))
        report(t, "nothing is kept in a cache: libtcc's code runs alone");
    else if (!background_start(&t->background, &w, &why))
        report(t, "%s: libtcc's code runs alone", why.text);
    else
        report(t, "libtcc's code runs; %s compiles in the background",
               t->compiler);
}

bool tier_load(Backend *b, Arena *arena, const Plan *p, const TierOptions *o,
               Fault *why)
{
    size_t n;
    const char *text = emit_model(arena, p, &(EmitOptions){ .mode = EmitJit },
                                  &n);
    Tier *t = arena_alloc(arena, sizeof *t);
    *t = (Tier){ .arena = arena,
                 .begin = seconds_now(),
                 .verbose = o->verbose,
                 .compiler = base_name(o->compiler),
                 .symbol = arena_printf(arena, "%s_model", p->prefix),
                 .about = "",
                 .note = note_key(o, (CText){ text, n }),
                 .background = { .fd = -1 },
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .guard = o->guard,
                 .owner = getpid() };
    *b = (Backend){ 0 };
    if (find_object(t, b)) {
        report(t, "the object of %s was in the cache%s", t->compiler, t->about);
        if (o->perf)
            objcache_names(b);
        return true;
    }
    start_tier(t, o);
    if (!(o->perf ? jit_load_named : jit_load)(&t->first.jit, &t->first.model,
                                               text, t->symbol, &p->target,
                                               why)) {
        tier_close(t);
        return false;
    }
    t->self = t;
    t->waits = t->background.fd >= 0;
    t->verbose &= !t->guard; /* messages of later calls have no reader */
    t->model = *t->first.model;
    t->model.bind = NULL; /* callers use tier_bind() */
    t->model.bound_bytes = sizeof t->self;
    t->model.encode = t->first.model->encode ? encode : NULL;
    t->model.decode = t->first.model->decode ? decode : NULL;
    *b = (Backend){ .model = &t->model, .tier = t };
    return true;
}

void tier_close(Tier *t)
{
    if (!t)
        return;
    /* report what has happened since the last call; with a guard, record a
     * refusal that no call could */
    if (!t->guard || t->refused)
        look_at(t);
    if (t->background.fd >= 0)
        report(t, "%s goes on in the background, for the next run",
               t->compiler);
    if (t->guard && t->owner == getpid())
        background_stop(&t->background);
    else
        background_leave(&t->background);
    jit_unload(&t->first.jit);
    if (t->second.library)
        dlclose(t->second.library);
    tier_free_rooms(t);
}
