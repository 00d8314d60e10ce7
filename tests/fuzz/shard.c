/* shard.c: fuzzes the record of a shard (runtime/text/shard_record.h), and the
 * words after --shard: the input is the text of both. A record that was
 * accepted has blocks in order, and its complete lines are the same record. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "runtime/text/shard_record.h"

typedef struct {
    const char *text;
    size_t n;
} Input;

static void check(const struct attn_shard *r, const int64_t *ends, size_t n)
{
    if (r->which < 0 || r->which >= r->shards || (size_t)r->bytes > n)
        fuzz_wrong("shard %lld of %lld, %lld of %zu bytes", (long long)r->which,
                   (long long)r->shards, (long long)r->bytes, n);
    for (int64_t i = 1; i < r->blocks; i++)
        if (ends[i] < ends[i - 1])
            fuzz_wrong("block %lld ends before the one before", (long long)i);
}

static int read_record(void *with)
{
    const Input *t = with;
    Arena *a = arena_new();
    struct attn_shard r, again;
    char why[ATTN_WHY];
    int64_t *ends = arena_alloc(a, (t->n / 8 + 1) * sizeof *ends);
    int code = ExitDone;
    if (!attn_shard_read(&r, arena_strndup(a, t->text, t->n), (int64_t)t->n,
                         ends, why)) {
        code = ExitInput;
    } else {
        check(&r, ends, t->n);
        if (!attn_shard_read(&again, arena_strndup(a, t->text, (size_t)r.bytes),
                             r.bytes, NULL, why)
            || again.blocks != r.blocks || strcmp(again.options, r.options))
            fuzz_wrong("the complete lines are another record");
    }
    arena_free(a);
    return code;
}

static int read_place(void *with)
{
    const Input *t = with;
    Arena *a = arena_new();
    char why[ATTN_WHY];
    int64_t which, shards;
    const bool valid = attn_shard_place(arena_strndup(a, t->text, t->n), &which,
                                        &shards, why);
    if (valid && (which < 0 || which >= shards || shards > ATTN_SHARDS))
        fuzz_wrong("shard %lld of %lld", (long long)which, (long long)shards);
    arena_free(a);
    return valid ? ExitDone : ExitUsage;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Input t = { (const char *)data, size };
    fuzz_run(read_record, &t);
    fuzz_run(read_place, &t);
    return 0;
}
