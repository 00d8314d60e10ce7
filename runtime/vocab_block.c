/* vocab_block.c: the tokens of a file become the block that the core looks
 * them up in (core.h).                                                      */
#include <stdlib.h>
#include <string.h>

#include "vocab_file.h"

static bool check_special(const TokenList *l, const char *what, int32_t id,
                          Fault *why)
{
    if (id >= -1 && id < l->n)
        return true;
    return fault(why, ExitInput,
                 "%s: the %s token has id %d, the file has "
                 "%lld tokens (ids from 0)",
                 l->file->path, what, id, (long long)l->n);
}

bool vocab_check_count(const TokenList *l, int64_t expected, Fault *why)
{
    const VocabTokens *t = &l->special;
    if (l->n == 0)
        return fault(why, ExitInput, "%s: has no tokens", l->file->path);
    if (expected >= 0 && l->n != expected)
        return fault(why, ExitInput, "%s: has %lld tokens, the spec says %lld",
                     l->file->path, (long long)l->n, (long long)expected);
    if (t->append_end && t->end < 0)
        return fault(why, ExitInput,
                     "%s: the end token is to be appended, and "
                     "none is defined",
                     l->file->path);
    return check_special(l, "start", t->start, why)
        && check_special(l, "end", t->end, why)
        && check_special(l, "pad", t->pad, why)
        && check_special(l, "unknown", t->unknown, why);
}

/* ---------------------------------------------------------------- order --- */

static int same_text(const Token *a, const Token *b)
{
    return a->n == b->n && memcmp(a->at, b->at, a->n) == 0;
}

/* Bytewise; equal texts by id, so that the first one is named first. */
static int by_text(const void *a, const void *b)
{
    const Token *x = a, *y = b;
    int order = memcmp(x->at, y->at, x->n < y->n ? x->n : y->n);
    if (order == 0 && x->n != y->n)
        order = x->n < y->n ? -1 : 1;
    return order ? order : x->id - y->id;
}

/* Of all tokens that are there twice the one whose second place comes first. */
static bool check_distinct(const TokenList *l, Fault *why)
{
    const Token *twice = NULL;
    for (int64_t i = 1; i < l->n; i++)
        if (same_text(&l->at[i - 1], &l->at[i])
            && (!twice || l->at[i].id < twice->id))
            twice = &l->at[i];
    if (!twice)
        return true;
    int n = (int)(twice->n < 80 ? twice->n : 80);
    if (l->kind == ATTN_MERGES)
        return fault(why, ExitInput,
                     "%s: pieces[%d]: '%.*s' is pieces[%d] "
                     "already",
                     l->file->path, twice->id, n, twice->at, twice[-1].id);
    return fault(why, ExitInput, "%s:%d:1: token '%.*s' is on line %d already",
                 l->file->path, twice->id + 1, n, twice->at, twice[-1].id + 1);
}

/* ---------------------------------------------------------------- block --- */

typedef struct { /* the parts of a block, to be written */
    uint32_t *offset, *sorted;
    float *score;
    int32_t *byte;
    unsigned char *piece;
    char *text;
} Parts;

static Parts parts_of(void *block)
{
    struct attn_vocab v;
    attn_vocab_open(&v, block);
    return (Parts){ (uint32_t *)v.offset,     (uint32_t *)v.sorted,
                    (float *)v.score,         (int32_t *)v.byte,
                    (unsigned char *)v.piece, (char *)v.text };
}

static void fill_merges(const TokenList *l, const Parts *p)
{
    for (int i = 0; i < 256; i++)
        p->byte[i] = -1;
    for (int64_t i = 0; i < l->n; i++) {
        const Token *t = &l->at[i];
        p->score[i] = t->score;
        p->piece[i] = t->piece;
        if (t->piece == ATTN_PIECE_BYTE)
            p->byte[attn_vocab_byte(t->at, (int64_t)t->n)] = t->id;
    }
}

static void fill(TokenList *l, const Parts *p)
{
    uint32_t at = 0;
    for (int64_t i = 0; i < l->n; i++) {
        p->offset[i] = at;
        memcpy(p->text + at, l->at[i].at, l->at[i].n);
        at += (uint32_t)l->at[i].n;
    }
    p->offset[l->n] = at;
    if (l->kind == ATTN_MERGES)
        fill_merges(l, p);
    qsort(l->at, (size_t)l->n, sizeof *l->at, by_text);
    for (int64_t i = 0; i < l->n; i++)
        p->sorted[i] = (uint32_t)l->at[i].id;
}

void *vocab_block(TokenList *l, int64_t *bytes, Fault *why)
{
    struct attn_vocab_header head = {
        .magic = { 'A', 'T', 'T', 'N', 'V', 'O', 'C', '2' },
        .size = (int32_t)l->n,
        .kind = (int32_t)l->kind,
        .start = l->special.start,
        .end = l->special.end,
        .pad = l->special.pad,
        .unknown = l->special.unknown,
        .append_end = l->special.append_end,
    };
    head.bytes = (int64_t)sizeof head + 4 * (2 * l->n + 1);
    if (l->kind == ATTN_MERGES)
        head.bytes += 5 * l->n + 4 * 256;
    for (int64_t i = 0; i < l->n; i++)
        head.bytes += (int64_t)l->at[i].n;
    char *block = malloc((size_t)head.bytes);
    if (!block) {
        fault(why, ExitResource, "%s: out of memory", l->file->path);
        return NULL;
    }
    memcpy(block, &head, sizeof head);
    Parts parts = parts_of(block);
    fill(l, &parts);
    const char *wrong = NULL;
    if (check_distinct(l, why)
        && (wrong = attn_vocab_check(block, head.bytes)) == NULL) {
        *bytes = head.bytes;
        return block;
    }
    if (wrong)
        fault(why, ExitInput, "%s: %s", l->file->path, wrong);
    free(block);
    return NULL;
}
