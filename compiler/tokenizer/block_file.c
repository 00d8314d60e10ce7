/* block_file.c: reads and writes a file that contains only a block. */
#include <stdlib.h>
#include <string.h>

#include "tokenizer/block.h"

bool vocabulary_write(const char *path, const void *block, int64_t bytes,
                      Fault *why)
{
    return write_file(path, block, (size_t)bytes, why);
}

bool block_is(const File *f)
{
    return f->size >= 8 && memcmp(f->at, "ATTNVOC", 7) == 0;
}

void *block_read(const File *f, int64_t expected, int64_t *bytes, Fault *why)
{
    const struct attn_vocab_header *h;
    if (memcmp(f->at, "ATTNVOC3", 8) != 0) {
        fault(why, ExitInput,
              "%s: a vocabulary of another version of attnc (%.8s): import "
              "the model again",
              f->path, (const char *)f->at);
        return NULL;
    }
    char *block = malloc(f->size);
    if (!block) {
        fault(why, ExitResource, "%s: out of memory", f->path);
        return NULL;
    }
    memcpy(block, f->at, f->size);
    *bytes = (int64_t)f->size;
    const char *wrong = attn_vocab_check(block, *bytes);
    h = (const void *)block;
    if (wrong)
        fault(why, ExitInput, "%s: %s: import the model again", f->path, wrong);
    else if (expected >= 0 && h->size != expected)
        fault(why, ExitInput, "%s: has %d tokens, the spec says %lld", f->path,
              h->size, (long long)expected);
    else
        return block;
    free(block);
    return NULL;
}
