/* load.c: which reader takes a file. */
#include <stdlib.h>

#include "tokenizer/block.h"

enum { VocabLimit = 256 << 20 }; /* bytes of a file */

void *vocab_load(const char *path, int64_t expected, const VocabTokens *special,
                 int64_t *bytes, Fault *why)
{
    File f;
    if (!file_read(&f, path, VocabLimit, why))
        return NULL;
    Tokenizer t = { .path = f.path, .special = *special };
    void *block = NULL, *json = NULL;
    bool ok = pieces_is_json(path) ? pieces_read(&t, &f, &json, why)
                                   : lines_read(&t, &f, why);
    if (ok && tokenizer_check(&t, expected, why))
        block = tokenizer_block(&t, bytes, why);
    free(t.token);
    pieces_free(json);
    file_close(&f);
    return block;
}

int64_t vocab_count(const char *path, Fault *why)
{
    File f;
    if (!file_read(&f, path, VocabLimit, why))
        return -1;
    Tokenizer t = { .path = f.path, .tokens = -1 };
    void *json = NULL;
    if (!pieces_is_json(path))
        t.tokens = lines_count(&f, why);
    else if (!pieces_read(&t, &f, &json, why))
        t.tokens = -1;
    free(t.token);
    pieces_free(json);
    file_close(&f);
    return t.tokens;
}
