/* lengths.c: how long the sentences of a batch are. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static _Noreturn void bad_lengths(const char *text)
{
    fail(ExitUsage, "-p '%s': a length as 128, a range as 8..128, or lengths "
         "as 8,16,32", quote(text));
}

/* A whole number of 1 or more; *text goes behind it. */
static int32_t length_at(const char *all, const char **text)
{
    char *end;
    if (**text < '0' || **text > '9')
        bad_lengths(all);
    const long long n = strtoll(*text, &end, 10);
    if (n < 1 || n > INT32_MAX)
        fail(ExitUsage, "-p '%s': lengths are 1 to 2147483647", quote(all));
    *text = end;
    return (int32_t)n;
}

uint32_t bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

int32_t *bench_lengths(Arena *a, const char *text, int64_t otherwise,
                       int64_t *batch)
{
    VEC(int32_t) list = { 0 };
    const char *at = text;
    int32_t most = 0;
    uint64_t state = 7;
    if (!text)
        vec_push(a, &list, (int32_t)otherwise);
    else
        vec_push(a, &list, length_at(text, &at));
    if (text && strncmp(at, "..", 2) == 0) {
        at += 2;
        most = length_at(text, &at);
        if (most < list.at[0])
            bad_lengths(text);
    }
    while (text && !most && *at == ',') {
        at++;
        vec_push(a, &list, length_at(text, &at));
    }
    if (text && *at)
        bad_lengths(text);
    if (*batch == 0)
        *batch = list.n;
    int32_t *rows = arena_alloc(a, (size_t)*batch * sizeof *rows);
    for (int64_t i = 0; i < *batch; i++)
        rows[i] = list.at[i % list.n]
                + (most ? (int32_t)(bench_random(&state)
                                    % ((uint32_t)(most - list.at[0]) + 1))
                        : 0);
    return rows;
}
