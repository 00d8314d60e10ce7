/* packed.c: checks that a block of bytes is a complete weights file of this
 * model. A file that passes is safe to read at every offset in its header.
 * Messages give the value found, the value expected, and a remedy. */
#include "runtime/core.h"

#include <string.h>

struct packed { /* a file that is being checked */
    const struct attn_model *m;
    const char *file;
    int64_t bytes;
    struct attn_packed_header h; /* copy of the file's header, if the file is
                                    large enough */
    char *why; /* [ATTN_PACKED_TEXT] message; n bytes are used */
    int64_t n;
};

/* ---- words ---- */

/* Appends at most `most` bytes of a text. Unprintable bytes become '?'. */
static void packed_bytes(struct packed *p, const char *text, int64_t most)
{
    for (int64_t i = 0; i < most && text[i] != '\0'; i++) {
        if (p->n == ATTN_PACKED_TEXT - 1)
            break;
        p->why[p->n] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
        p->n++;
    }
    p->why[p->n] = '\0';
}

static void packed_write(struct packed *p, const char *text)
{
    packed_bytes(p, text, ATTN_PACKED_TEXT);
}

static void packed_number(struct packed *p, uint64_t x, unsigned base)
{
    char digits[21];
    int at = 20;
    digits[at] = '\0';
    do {
        at--;
        digits[at] = "0123456789abcdef"[x % base];
        x /= base;
    } while (x > 0);
    packed_write(p, digits + at);
}

/* Appends two byte counts, e.g. "cut short: it has 5 of 64 bytes". */
static void packed_counts(struct packed *p, const char *first, int64_t found,
                          const char *middle, int64_t expected)
{
    packed_write(p, first);
    packed_number(p, (uint64_t)found, 10);
    packed_write(p, middle);
    packed_number(p, (uint64_t)expected, 10);
    packed_write(p, " bytes; copy it again");
}

static void packed_hashes(struct packed *p, uint64_t found, uint64_t expected)
{
    packed_write(p, " (");
    packed_number(p, found, 16);
    packed_write(p, ", not ");
    packed_number(p, expected, 16);
    packed_write(p, ")");
}

static const char *packed_again(struct packed *p, const char *text)
{
    packed_write(p, text);
    packed_write(p, "; pack it again: ");
    packed_write(p, p->m->command);
    return p->why;
}

static const char *packed_damaged(struct packed *p, const char *text)
{
    packed_write(p, "damaged: ");
    packed_write(p, text);
    return packed_again(p, "; copy it again");
}

/* ---- checks ---- */

static const char packed_magic[] = "ATTNCW03"; /* digits: the version */

static const char *packed_foreign(struct packed *p)
{
    packed_write(p, "not a weights file of attnc: ");
    if (p->bytes < 8) {
        packed_write(p, "too short");
    } else if (memcmp(p->file, "ATTNST", 6) == 0) {
        packed_write(p, "a saved state");
    } else if (p->bytes > 8 && p->file[8] == '{') {
        packed_write(p, "a .safetensors file, which attnc compile packs");
    } else {
        packed_write(p, "its first bytes are '");
        packed_bytes(p, p->file, 8);
        packed_write(p, "', not '");
        packed_write(p, packed_magic);
        packed_write(p, "'");
    }
    return packed_again(p, "");
}

/* Checks the format, the hash of the first page, and the length. */
static const char *packed_wrong_page(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    if (p->bytes < 8 || memcmp(p->file, packed_magic, 6) != 0)
        return packed_foreign(p);
    if (memcmp(p->file, packed_magic, 8) != 0) {
        packed_write(p, "made by another version of attnc: its format is ");
        packed_bytes(p, p->file, 8);
        packed_write(p, ", this program's is ");
        return packed_again(p, packed_magic);
    }
    if (p->bytes < ATTN_PACKED_PAGE) {
        packed_counts(p, "cut short: it has ", p->bytes, " of more than ",
                      ATTN_PACKED_PAGE);
        return p->why;
    }
    memcpy(&p->h, p->file, sizeof p->h);
    if (h->page != attn_packed_page(p->file))
        return packed_damaged(p, "its first page is not what was written");
    if (p->bytes == h->bytes)
        return NULL;
    packed_counts(p,
                  p->bytes < h->bytes ? "cut short: it has "
                                      : "damaged: it has ",
                  p->bytes, " of ", h->bytes);
    return p->why;
}

static int packed_same_dtype(const struct packed *p)
{
    return strncmp(p->h.dtype, p->m->dtype, sizeof p->h.dtype) == 0;
}

/* Checks that the weights have the layout of the model. The name of the model
 * may differ. */
static const char *packed_wrong_layout(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    const struct attn_model *m = p->m;
    if (h->hash == m->weights_hash && packed_same_dtype(p)
        && h->weights_bytes == m->weights_bytes)
        return NULL;
    if (strncmp(h->name, m->name, sizeof h->name) != 0) {
        packed_write(p, "made for the model '");
        packed_bytes(p, h->name, (int64_t)sizeof h->name);
        packed_write(p, "', this is '");
        packed_write(p, m->name);
        return packed_again(p, "'");
    }
    if (!packed_same_dtype(p)) {
        packed_write(p, "its weights are ");
        packed_bytes(p, h->dtype, (int64_t)sizeof h->dtype);
        packed_write(p, ", this program's ");
        return packed_again(p, m->dtype);
    }
    packed_write(p, "made for another form of '");
    packed_write(p, m->name);
    packed_write(p, "'");
    packed_hashes(p, h->hash, m->weights_hash);
    return packed_again(p, "");
}

/* True if a part of the file follows the header page, is aligned to 64 bytes,
 * and ends within the file. */
static int packed_part_fits(int64_t at, int64_t part, int64_t bytes)
{
    if (at < ATTN_PACKED_PAGE || at % ATTN_ALIGN != 0)
        return 0;
    if (part < 0 || at > bytes || part > bytes - at)
        return 0;
    return 1;
}

static const char *packed_wrong_contents(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    const uint64_t found = attn_hash(p->file + ATTN_PACKED_PAGE,
                                     p->bytes - ATTN_PACKED_PAGE, 0);
    if (found == h->contents)
        return NULL;
    packed_write(p, "damaged: its contents are not what was packed");
    packed_hashes(p, found, h->contents);
    return packed_again(p, "; copy it again");
}

static const char *packed_wrong_block(struct packed *p, int64_t at,
                                      int64_t part, int64_t size)
{
    if (at == 0 && part == 0)
        return NULL;
    if (!packed_part_fits(at, part, p->bytes))
        return packed_damaged(p, "a vocabulary lies outside the file");
    const char *block = p->file + at;
    const char *wrong = attn_vocab_check(block, part);
    if (attn_vocab_unknown(wrong)) {
        packed_write(p, "made with another vocabulary than this program: ");
        return packed_again(p, wrong);
    }
    if (wrong)
        return packed_damaged(p, wrong);
    if (((const struct attn_vocab_header *)block)->size != size)
        return packed_damaged(p, "a vocabulary has not the model's number of "
                                 "tokens");
    return NULL;
}

ATTN_API uint64_t attn_packed_page(const void *file)
{
    const char *from = (const char *)file + 16; /* after magic and page */
    return attn_hash(from, ATTN_PACKED_PAGE - 16, 0);
}

ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes,
                                       int64_t hashed, char *why)
{
    struct packed p;
    const struct attn_packed_header *h = &p.h;
    memset(&p, 0, sizeof p);
    p.m = m;
    p.file = file;
    p.bytes = bytes;
    p.why = why;
    const char *wrong = packed_wrong_page(&p);
    if (!wrong)
        wrong = packed_wrong_layout(&p);
    if (!wrong && !packed_part_fits(h->weights_at, h->weights_bytes, bytes))
        wrong = packed_damaged(&p, "the weights lie outside the file");
    if (!wrong && hashed && h->contents != 0)
        wrong = packed_wrong_contents(&p);
#if ATTN_HAS_TEXT
    if (!wrong)
        wrong = packed_wrong_block(&p, h->source_vocab_at,
                                   h->source_vocab_bytes, m->source_vocab);
    if (!wrong)
        wrong = packed_wrong_block(&p, h->target_vocab_at,
                                   h->target_vocab_bytes, m->target_vocab);
#endif
    return wrong;
}

/* ---- open ---- */

static const char *packed_fill(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes, int64_t hashed)
{
    const void *packed = NULL;
    if (!bound || (uintptr_t)bound % 8 != 0)
        return "bound: memory at a multiple of 8 bytes is expected";
    if (file || m->weights_bytes > 0) {
        if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
            return "file: memory at a multiple of 64 bytes is expected";
        const char *wrong = attn_packed_check(m, file, bytes, hashed, bound);
        if (wrong)
            return wrong;
        packed = attn_packed_weights(file);
    }
    m->bind(bound, packed);
    return m->target(bound)
             ? NULL
             : "no code in this file runs on this processor: compile the spec "
               "again for it, see --march";
}

ATTN_API const char *attn_bind(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes)
{
    return packed_fill(m, bound, file, bytes, 1);
}

ATTN_API const char *attn_bind_lazily(const struct attn_model *m, void *bound,
                                      const void *file, int64_t bytes)
{
    return packed_fill(m, bound, file, bytes, 0);
}

/* Returns a part of a checked file, or NULL if the file has no such part. */
static const void *packed_part(const void *file, int64_t at, int64_t bytes)
{
    const struct attn_packed_header *h = file;
    if (bytes < 1 || !packed_part_fits(at, bytes, h->bytes))
        return NULL;
    return (const char *)file + at;
}

static int packed_head(const void *file)
{
    if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
        return 0;
    return memcmp(file, packed_magic, 8) == 0;
}

ATTN_API const void *attn_packed_weights(const void *file)
{
    const struct attn_packed_header *h = file;
    if (!packed_head(file))
        return NULL;
    return packed_part(file, h->weights_at, h->weights_bytes);
}

ATTN_API const void *attn_vocab(const struct attn_model *m, const void *file,
                                int64_t target)
{
    const struct attn_packed_header *h = file;
    const void *block = NULL;
    if (!packed_head(file))
        return NULL;
    if (target || m->kind == ATTN_DECODER) /* a decoder's source is its
                                              target */
        block = packed_part(file, h->target_vocab_at, h->target_vocab_bytes);
    else
        block = packed_part(file, h->source_vocab_at, h->source_vocab_bytes);
    if (attn_check_block(block) != 0)
        return NULL;
    return block;
}
