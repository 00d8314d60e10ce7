/* tier_compare.c: makes one call with both tiers from the same state: the pages
 * that it writes are saved before and restored between the two. */
#include <stdlib.h>
#include <string.h>

#include "backend/tier_state.h"

const char tier_differs[] = "its bits differ from those of libtcc's code;";

/* ---- running ---- */
static int64_t arena_need(const struct attn_model *m,
                          const struct attn_batch *b)
{
    return m->arena_bytes(attn_max(b->rows, b->key_rows), b->sequences,
                          b->parallel ? b->parallel->parts : 1);
}

/* Returns room for an arena of so many bytes; NULL: there is no memory. */
static TierRoom *take_room(Tier *t, int64_t need)
{
    pthread_mutex_lock(&t->lock);
    TierRoom *r = t->rooms;
    if (r)
        t->rooms = r->next;
    pthread_mutex_unlock(&t->lock);
    if (r && r->bytes >= need)
        return r;
    free(r);
    const size_t arena = (size_t)(need + ATTN_ALIGN - 1) / ATTN_ALIGN
                       * ATTN_ALIGN;
    r = aligned_alloc(ATTN_ALIGN, ATTN_ALIGN + arena);
    if (r)
        r->bytes = need;
    return r;
}

static void give_room(Tier *t, TierRoom *r)
{
    pthread_mutex_lock(&t->lock);
    r->next = t->rooms;
    t->rooms = r;
    pthread_mutex_unlock(&t->lock);
}

void tier_free_rooms(Tier *t)
{
    for (TierRoom *next; t->rooms; t->rooms = next) {
        next = t->rooms->next;
        free(t->rooms);
    }
    pthread_mutex_destroy(&t->lock);
}

/* The caller's arena has the size that the first tier needs. */
static bool run_second(Tier *t, void *bound, bool decodes,
                       const struct attn_batch *b, void *arena)
{
    const struct attn_model *m = t->second.model;
    const int64_t need = arena_need(m, b);
    TierRoom *r = NULL;
    if (need > arena_need(t->first.model, b)) {
        r = take_room(t, need);
        if (!r)
            return false;
        arena = (char *)r + ATTN_ALIGN;
    }
    (decodes ? m->decode : m->encode)(bound, b, arena);
    if (r)
        give_room(t, r);
    return true;
}

bool tier_run(Tier *t, int which, bool decodes, const struct attn_batch *b,
              void *arena)
{
    const struct attn_model *m = t->first.model;
    void *bound = t->bound[which];
    if (which) /* another thread may have rejected it */
        return bound && run_second(t, bound, decodes, b, arena);
    (decodes ? m->decode : m->encode)(bound, b, arena);
    return true;
}

/* ---- results ---- */
typedef struct { /* memory written by a call */
    char *at;
    size_t bytes;
} Piece;
typedef VEC(Piece) Pieces;

static void add_pages(Tier *t, Arena *a, Pieces *to, const struct attn_batch *b,
                      int c)
{
    const int64_t bytes = t->first.model->cache[c].page_bytes;
    for (int64_t s = 0; s < b->sequences; s++) {
        const int64_t past = t->first.model->cache[c].of == ATTN_SELF
                               ? b->past[s]
                               : 0;
        const int64_t end = past + b->start[s + 1] - b->start[s];
        for (int64_t q = past / ATTN_PAGE; q * ATTN_PAGE < end; q++) {
            const int32_t page = b->pages[c][s * b->table[c] + q];
            vec_push(a, to,
                     ((Piece){ (char *)b->pool[c] + page * bytes,
                               (size_t)bytes }));
        }
    }
}

static Pieces written(Tier *t, Arena *a, bool decodes,
                      const struct attn_batch *b)
{
    const struct attn_model *m = t->first.model;
    Pieces to = { 0 };
    int64_t rows = decodes          ? b->selected
                 : m->output_pooled ? b->sequences
                                    : b->rows;
    for (int c = 0; c < m->caches; c++)
        if (m->cache[c].page_bytes
            && m->cache[c].of == (decodes ? ATTN_SELF : ATTN_CROSS))
            add_pages(t, a, &to, b, c);
    if (!decodes && m->kind == ATTN_ENCODER_DECODER)
        rows = 0;
    if (rows > 0)
        vec_push(a, &to,
                 ((Piece){ (char *)b->output, (size_t)(rows * m->output_columns)
                                                  * sizeof(float) }));
    return to;
}

/* Copies the pieces to consecutive places in `memory` or, if `back` is set,
 * from there back to their places. */
static void copy(const Pieces *p, char *memory, bool back)
{
    for (int i = 0; i < p->n; i++) {
        char *at = p->at[i].at;
        memcpy(back ? at : memory, back ? memory : at, p->at[i].bytes);
        memory += p->at[i].bytes;
    }
}

static bool same(const Pieces *p, const char *memory)
{
    for (int i = 0; i < p->n; i++) {
        if (memcmp(p->at[i].at, memory, p->at[i].bytes) != 0)
            return false;
        memory += p->at[i].bytes;
    }
    return true;
}

/* Compares the log-sum-exp of the first row of logits, which beam search
 * uses. */
static bool same_sum(const Tier *t, const struct attn_batch *b)
{
    const struct attn_model *m[] = { t->first.model, t->second.model };
    float sum[2];
    for (int i = 0; i < 2; i++)
        sum[i] = m[i]->log_sum_exp(NULL, b->output, m[i]->output_columns);
    return memcmp(&sum[0], &sum[1], sizeof sum[0]) == 0;
}

bool tier_agree(Tier *t, bool decodes, const struct attn_batch *b, void *arena,
                const char **differs)
{
    *differs = NULL;
    Arena *a = arena_new();
    const Pieces p = written(t, a, decodes, b);
    size_t bytes = 0;
    for (int i = 0; i < p.n; i++)
        bytes += p.at[i].bytes;
    char *before = malloc(bytes + 1), *first = malloc(bytes + 1);
    bool agree = false;
    if (before && first) {
        copy(&p, before, false);
        tier_run(t, 0, decodes, b, arena);
        copy(&p, first, false);
        copy(&p, before, true);
        const bool ran = tier_run(t, 1, decodes, b, arena);
        agree = ran && same(&p, first)
             && (!decodes || b->selected == 0 || same_sum(t, b));
        copy(&p, first, true);
        if (ran && !agree)
            *differs = decodes ? "a decode has other bits"
                               : "an encode has other bits";
    } else {
        tier_run(t, 0, decodes, b, arena);
    }
    free(before);
    free(first);
    arena_free(a);
    return agree;
}

/* ---- refused ---- */

/* Copies the object to a file that is never removed; returns its name, or "no
 * file". */
static const char *keep_copy(Tier *t)
{
    CacheEntry e;
    Fault why;
    const char *to = arena_printf(t->arena, "%s/attnc-differs-%s.so",
                                  temp_root(), t->key.hex);
    if (!cache_get(&e, t->arena, CacheObject, t->key, CacheVerified))
        return "no file";
    const bool ok = write_file(to, e.at, e.bytes, &why);
    cache_close(&e);
    return ok ? to : "no file";
}

void tier_record_refusal(Tier *t, const char *reason)
{
    Fault unused;
    const CachePut put = { .kind = CacheNote,
                           .key = t->note,
                           .what = "object whose bits differ",
                           .at = tier_differs,
                           .bytes = strlen(tier_differs) };
    warning_at((Pos){ 0 },
               "the object of %s does not compute what libtcc's code does "
               "(%s): it is not used; it is kept in %s: please report it",
               t->compiler, reason, keep_copy(t));
    cache_remove(t->arena, CacheObject, t->key);
    cache_put(t->arena, &put, &unused);
}
