/* core.c: the files of runtime/ that an emitted file has in it, pasted as they
 * are: the decoder, text, and the check of weights files. */
#include "emit/names.h"
#include "emit/sections.h"

#include <string.h>

/* The core's files, in the order that they need each other. A model that
 * generates nothing takes those alone that check a weights file.            */
static const struct {
    const char *name;
    bool always;
} core_files[] = {
    { "memory.c", true },         { "hash.c", true },      { "check.c", true },
    { "batch.c", true },          { "math.c", false },     { "cache.c", false },
    { "process.c", false },       { "sampling.c", false }, { "beam.c", false },
    { "search_memory.c", false }, { "search.c", false },   { "score.c", false },
    { "stream.c", false },        { "state.c", false },    { "vocab.c", true },
    { "merges.c", true },         { "tokens.c", true },    { "text.c", false },
    { "packed.c", true },
};
enum { CoreFiles = sizeof core_files / sizeof *core_files };

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

/* Does a heading of core.h, "---- vocab.c ---", name a file that is
 * always there?                                                             */
static bool always_there(const char *heading)
{
    const char *end = strchr(heading, '\n');
    for (int i = 0; i < CoreFiles; i++) {
        const char *at = strstr(heading, core_files[i].name);
        if (core_files[i].always && at && at < end && at[-1] == ' ')
            return true;
    }
    return false;
}

static const char *const core_headers[] = { "core.h", "check.h", "stream.h",
                                            "text.h" };
enum { CoreHeaders = sizeof core_headers / sizeof *core_headers };

/* A part of the core's headers. */
const char *core_text(const char *from)
{
    for (int i = 0; i < CoreHeaders; i++) {
        size_t n;
        const char *at = strstr(embedded_text(core_headers[i], &n), from);
        if (at)
            return at;
    }
    die("the core's headers have no %s", from);
}

void emit_core_types(Gen *g, Emit *e)
{
    (void)g;
    paste(e, core_text("enum {\n    ATTN_PAGE"), core_text("/* -----"));
}

/* From the line that begins with `from` to the "};" behind `last`. */
void emit_core_type(Emit *e, const char *from, const char *last)
{
    paste(e, core_text(from), strstr(core_text(last), "};\n") + 3);
    put(e, "\n");
}

/* The sections of a header, each what one file or a few declare. */
static void paste_sections(Gen *g, Emit *e, const char *header)
{
    size_t n;
    const char *section = strstr(embedded_text(header, &n), "/* -----");
    while (section) {
        const char *next = strstr(section + 1, "/* -----");
        const char *end = next ? next : strstr(section, "#endif");
        if (has_decoder(g->p) || always_there(section))
            paste(e, section, end);
        section = next;
    }
}

/* What the files below declare, then they themselves. */
void emit_core(Gen *g, Emit *e)
{
    for (int i = 0; i < CoreHeaders; i++)
        paste_sections(g, e, core_headers[i]);
    for (int i = 0; i < CoreFiles; i++)
        if (has_decoder(g->p) || core_files[i].always)
            paste_file(e, core_files[i].name);
}
