/* hash.c: XXH64, the hash of Yann Collet's xxHash. It computes four independent
 * sums, each over every fourth word, and so runs at memory speed. */
#include "runtime/core.h"

#include <string.h>

static const uint64_t hash_prime[6] = { 0,
                                        0x9e3779b185ebca87ull,
                                        0xc2b2ae3d27d4eb4full,
                                        0x165667b19e3779f9ull,
                                        0x85ebca77c2b2ae63ull,
                                        0x27d4eb2f165667c5ull };

static uint64_t hash_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t hash_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Adds a word to a sum. The asm stops clang from vectorising the four sums:
 * 64-bit products are slower in vectors and would halve the speed. */
static uint64_t hash_step(uint64_t sum, uint64_t word)
{
    sum += word * hash_prime[2];
#if defined __clang__
    __asm__("" : "+r"(sum));
#endif
    return hash_rotate(sum, 31) * hash_prime[1];
}

/* Hashes all complete blocks of 32 bytes and merges the four sums. */
static uint64_t hash_sums(const char *at, int64_t bytes, uint64_t seed)
{
    uint64_t a = seed + hash_prime[1] + hash_prime[2];
    uint64_t b = seed + hash_prime[2];
    uint64_t c = seed;
    uint64_t d = seed - hash_prime[1];
    for (int64_t i = 0; i + 32 <= bytes; i += 32) {
        a = hash_step(a, hash_word(at + i));
        b = hash_step(b, hash_word(at + i + 8));
        c = hash_step(c, hash_word(at + i + 16));
        d = hash_step(d, hash_word(at + i + 24));
    }
    uint64_t sums[4] = { a, b, c, d };
    uint64_t h = hash_rotate(a, 1) + hash_rotate(b, 7) + hash_rotate(c, 12)
               + hash_rotate(d, 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ hash_step(0, sums[i])) * hash_prime[1] + hash_prime[4];
    return h;
}

/* Hashes the last 0 to 31 bytes. */
static uint64_t hash_rest(uint64_t h, const char *at, int64_t bytes)
{
    for (; bytes >= 8; bytes -= 8, at += 8) {
        h ^= hash_step(0, hash_word(at));
        h = hash_rotate(h, 27) * hash_prime[1] + hash_prime[4];
    }
    if (bytes >= 4) {
        uint32_t half;
        memcpy(&half, at, sizeof half);
        h ^= half * hash_prime[1];
        h = hash_rotate(h, 23) * hash_prime[2] + hash_prime[3];
        bytes -= 4;
        at += 4;
    }
    for (; bytes > 0; bytes--, at++) {
        h ^= (unsigned char)*at * hash_prime[5];
        h = hash_rotate(h, 11) * hash_prime[1];
    }
    return h;
}

ATTN_API uint64_t attn_hash(const void *block, int64_t bytes, uint64_t seed)
{
    const char *at = block;
    const int64_t whole = bytes / 32 * 32;
    uint64_t h = seed + hash_prime[5];
    if (whole > 0)
        h = hash_sums(at, whole, seed);
    h = hash_rest(h + (uint64_t)bytes, at + whole, bytes - whole);
    h = (h ^ h >> 33) * hash_prime[2];
    h = (h ^ h >> 29) * hash_prime[3];
    return h ^ h >> 32;
}
