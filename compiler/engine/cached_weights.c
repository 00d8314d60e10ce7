/* cached_weights.c: caches large packed weights between runs. The cache key
 * identifies the weights file and covers everything that affects packing. The
 * data is followed by one hash per block; all threads check the hashes. */
#define _DEFAULT_SOURCE /* nice() */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/cached_weights.h"

enum {
    Format = 1,      /* version; increment if packing changes */
    Worth = 1 << 25, /* minimum bytes: packing less is as fast as loading from
                      * the cache */
    BlockBytes = 1 << 22,
    HeadBytes = 1 << 16 /* bytes at the start of the weights file that are
                         * hashed: the tensors' names are there */
};

/* ---- blocks ---- */
typedef struct { /* packed weights, followed by one hash per block */
    const char *at;
    int64_t bytes, blocks;
    uint64_t *hash;        /* hashes to compute; NULL: compare with those after
                            * the data */
    _Atomic int64_t wrong; /* number of blocks whose hash differs */
} Blocks;

static int64_t blocks_of(int64_t bytes)
{
    return (bytes + BlockBytes - 1) / BlockBytes;
}

static int64_t kept_bytes(int64_t bytes)
{
    return bytes + blocks_of(bytes) * (int64_t)sizeof(uint64_t);
}

/* Computes or checks the hash of a block, which covers the block's index
 * too. */
static void hash_block(void *blocks, int64_t i, int64_t n)
{
    Blocks *b = blocks;
    const int64_t at = i * BlockBytes, rest = b->bytes - at;
    uint64_t kept;
    (void)n;
    const uint64_t hash = attn_hash(b->at + at,
                                    rest < BlockBytes ? rest : BlockBytes,
                                    (uint64_t)i);
    if (b->hash) {
        b->hash[i] = hash;
        return;
    }
    memcpy(&kept, b->at + b->bytes + i * (int64_t)sizeof kept, sizeof kept);
    b->wrong += kept != hash;
}

/* Returns true if all block hashes match. */
static bool are_whole(const void *at, int64_t bytes)
{
    Blocks b = { .at = at, .bytes = bytes, .blocks = blocks_of(bytes) };
    struct attn_pool *pool = attn_pool_open(attn_cores());
    if (pool) {
        const struct attn_parallel *with = attn_pool_parallel(pool);
        with->run(with->pool, b.blocks, hash_block, &b);
        attn_pool_close(pool);
        return b.wrong == 0;
    }
    for (int64_t i = 0; i < b.blocks; i++)
        hash_block(&b, i, b.blocks);
    return b.wrong == 0;
}

/* ---- key ---- */
static void add_number(Buffer *b, const char *name, long long x)
{
    buffer_printf(b, " %s=%lld", name, x);
}

/* Adds to the key how an item is read from the file. The plan's hash covers the
 * rest of the item. */
static void add_item(Buffer *b, const PackItem *item)
{
    const FileTensor *f = &item->from;
    if (item->table)
        return;
    buffer_printf(b, "\n%s fill=%a", f->name ? f->name : "", f->fill);
    add_number(b, "transposed", f->transposed);
    add_number(b, "columns", f->by_columns);
    add_number(b, "groups", f->groups);
    add_number(b, "first", f->first);
    add_number(b, "take", f->take);
    add_number(b, "stride", f->stride);
    add_number(b, "taps", f->taps);
    if (f->changed)
        buffer_printf(b, " scale=%a add=%a", (double)f->scale, (double)f->add);
}

static void add_file(Buffer *b, const File *f)
{
    const FileIdentity *id = &f->identity;
    add_number(b, "\ndevice", (long long)id->device);
    add_number(b, "inode", (long long)id->inode);
    add_number(b, "modified", id->modified);
    add_number(b, "changed", id->changed);
    add_number(b, "bytes", (long long)f->size);
    add_number(b, "head",
               (long long)attn_hash(f->at,
                                    f->size < HeadBytes ? (int64_t)f->size
                                                        : HeadBytes,
                                    0));
}

static CacheKey key_of(const Engine *e)
{
    const PackList *p = &e->plan->pack;
    Buffer b = { .arena = e->arena };
    buffer_printf(&b, "attnc " ATTNC_VERSION " weights");
    add_number(&b, "format", Format);
    add_number(&b, "plan", (long long)p->hash);
    add_number(&b, "bytes", p->bytes);
    for (int i = 0; safetensors_file_at(e->file, i); i++)
        add_file(&b, safetensors_file_at(e->file, i));
    for (int64_t i = 0; i < p->count; i++)
        add_item(&b, &p->item[i]);
    return cache_key(&(CachePiece){ b.at, b.n }, 1);
}

/* ---- kept ---- */
void *weights_memory(Engine *e)
{
    return aligned_memory(e->arena, kept_bytes(e->plan->pack.bytes));
}

static bool is_worthwhile(const Engine *e)
{
    const int64_t bytes = e->plan->pack.bytes;
    return e->keeps && bytes >= Worth && cache_takes((size_t)kept_bytes(bytes));
}

static void close_entry(void *entry)
{
    cache_close(entry);
}

bool weights_cached(Engine *e)
{
    const int64_t bytes = e->plan->pack.bytes;
    if (!is_worthwhile(e))
        return false;
    e->cache_key_of_weights = key_of(e);
    if (!cache_get(&e->kept, e->arena, CacheWeights, e->cache_key_of_weights,
                   CacheSize))
        return false;
    if ((int64_t)e->kept.bytes == kept_bytes(bytes)
        && are_whole(e->kept.at, bytes)) {
        CacheEntry *owned = arena_alloc(e->arena, sizeof *owned);
        *owned = e->kept;
        arena_owns(e->arena, owned, close_entry);
        e->packed = (void *)owned->at; /* the mapping is read-only: packed
                                        * weights are never written to */
        return true;
    }
    if (e->options.verbose)
        note_once("%s: kept weights that are damaged: they are packed again",
                  quote(e->kept.path));
    cache_close(&e->kept);
    cache_remove(e->arena, CacheWeights, e->cache_key_of_weights);
    return false;
}

/* Returns true if all files are at least a second old. A younger file could
 * change again and keep its time stamp, because file systems store coarse
 * times. */
static bool is_old(const Safetensors *s)
{
    const int64_t second = 1000000000;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; safetensors_file_at(s, i); i++) {
        const FileIdentity *id = &safetensors_file_at(s, i)->identity;
        const int64_t last = id->changed > id->modified ? id->changed
                                                        : id->modified;
        if (now.tv_sec * second + now.tv_nsec - last < second)
            return false;
    }
    return true;
}

void weights_allow_cache(Engine *e, bool good)
{
    e->to_keep = good && e->packed && !e->kept.at && is_worthwhile(e)
              && is_old(e->file);
}

/* Detaches this child process from the terminal and from all pipes. */
static void let_go(void)
{
    const int none = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; fd < 3 && none >= 0; fd++)
        dup2(none, fd);
    if (none < 0
        || nice(19) < 0) /* failure is harmless: go on at normal priority */
        return;
}

static void write_kept(Engine *e)
{
    const int64_t bytes = e->plan->pack.bytes;
    Fault unused; /* a message would be useless: the parent may have ended */
    Blocks b = { .at = e->packed,
                 .bytes = bytes,
                 .blocks = blocks_of(bytes),
                 .hash = (uint64_t *)((char *)e->packed + bytes) };
    for (int64_t i = 0; i < b.blocks; i++)
        hash_block(&b, i, b.blocks);
    const CachePut put = {
        .kind = CacheWeights,
        .key = e->cache_key_of_weights,
        .what = arena_printf(e->arena, "%s, %s, %s", e->spec->name,
                             dtype_word[e->spec->dtype.default_dtype],
                             safetensors_path(e->file)),
        .at = e->packed,
        .bytes = (size_t)kept_bytes(bytes),
    };
    cache_put(e->arena, &put, &unused);
}

void weights_cache(Engine *e)
{
    if (!e->to_keep)
        return;
    e->to_keep = false;
    if (fork() == 0) {
        child_begins();
        messages_to(NULL, NULL);
        let_go();
        write_kept(e);
        _exit(ExitDone);
    }
}
