/* core.c: the files of runtime/ that an emitted file has in it, pasted as they
 * are: the decoder, text, and the check of weights files. */
#include "emit/embedded.h"
#include "emit/names.h"
#include "emit/sections.h"

#include <string.h>

/* The core's files, in the order that they need each other. A model that
 * generates nothing takes those alone that check a weights file.            */
static const struct {
    CorePart part;
    bool always;
    const char *name;
} core[] = {
    { CoreBatch, true, "batch.h" },
    { CoreTypes, true, "compiled_model.h" },
    { CoreTypes, false, "generate.h" },
    { CoreOpened, true, "handle.h" },
    { CoreHeaders, true, "memory.h" },
    { CoreHeaders, true, "check.h" },
    { CoreHeaders, false, "search.h" },
    { CoreHeaders, false, "stream.h" },
    { CoreHeaders, false, "score.h" },
    { CoreHeaders, true, "text.h" },
    { CoreHeaders, false, "decode.h" },
    { CoreHeaders, true, "packed.h" },
    { CoreSources, true, "memory.c" },
    { CoreSources, true, "hash.c" },
    { CoreSources, true, "check.c" },
    { CoreSources, true, "batch.c" },
    { CoreSources, false, "math.c" },
    { CoreSources, false, "cache.c" },
    { CoreSources, false, "process.c" },
    { CoreSources, false, "sampling.c" },
    { CoreSources, false, "beam.c" },
    { CoreSources, false, "search_memory.c" },
    { CoreSources, false, "search.c" },
    { CoreSources, false, "stream.c" },
    { CoreSources, false, "state.c" },
    { CoreSources, false, "score.c" },
    { CoreSources, true, "vocab.c" },
    { CoreSources, true, "aligned.c" },
    { CoreSources, true, "encoding.c" },
    { CoreSources, true, "trie.c" },
    { CoreSources, true, "mapping.c" },
    { CoreSources, true, "normal.c" },
    { CoreSources, true, "replace.c" },
    { CoreSources, true, "charmap.c" },
    { CoreSources, true, "sentencepiece.c" },
    { CoreSources, true, "wordpiece.c" },
    { CoreSources, true, "unigram.c" },
    { CoreSources, true, "merges.c" },
    { CoreSources, true, "ranks.c" },
    { CoreSources, true, "added.c" },
    { CoreSources, true, "split.c" },
    { CoreSources, true, "steps.c" },
    { CoreSources, true, "tokens.c" },
    { CoreSources, true, "vocab_check.c" },
    { CoreSources, false, "held.c" },
    { CoreSources, false, "decode.c" },
    { CoreSources, false, "text.c" },
    { CoreSources, true, "packed.c" },
    { CoreThreads, true, "pool.h" },
    { CoreThreads, true, "cores.c" },
    { CoreThreads, true, "pool.c" },
};

/* Text without its #include lines, which are at the top of the file already,
 * and without the second of two empty lines that they leave.                */
void paste(Emit *e, const char *text, const char *end)
{
    size_t have;
    const char *before = emit_text(e, &have);
    bool empty = have > 1 && !memcmp(before + have - 2, "\n\n", 2);
    while (text < end) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)(line ? line + 1 - text : end - text);
        const bool blank = *text == '\n';
        if (strncmp(text, "#include", 8) && !(blank && empty)) {
            emit_raw(e, text, n);
            empty = blank;
        }
        text += n;
    }
}

void paste_file(Emit *e, const char *name)
{
    size_t n;
    const char *text = embedded_text(name, &n);
    paste(e, text, text + n);
    put(e, "\n");
}

void emit_core(Gen *g, Emit *e, CorePart part)
{
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (core[i].part == part && (core[i].always || has_decoder(g->p)))
            paste_file(e, core[i].name);
}
