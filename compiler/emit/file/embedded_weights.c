/* embedded_weights.c: emits the weights for --embed: as a literal or, if that
 * would be too long, as a directive that includes the file model.weights. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

bool weights_embedded(const EmitOptions *o)
{
    return o->embed || o->embed_file;
}

/* Emits the weights as octal strings of 64 bytes. A union with floats aligns
 * them. */
static void put_literal(Gen *g, Emit *e)
{
    const size_t n = g->o->embed_bytes, piece = 64;
    char line[5 * 64 + 8];
    let(e, "bytes", "%zu", n);
    put(e, "#if defined __GNUC__ /* C11 guarantees only shorter literals */\n"
           "#pragma GCC diagnostic push\n"
           "#pragma GCC diagnostic ignored \"-Woverlength-strings\"\n"
           "#endif\n"
           "_Alignas(64) static const union {\n"
           "    char bytes[$bytes];\n"
           "    float f[1];\n"
           "} embedded = {\n");
    for (size_t at = 0; at < n; at += piece) {
        size_t k = 0;
        line[k++] = '"';
        for (size_t i = at; i < n && i < at + piece; i++)
            k += (size_t)snprintf(line + k, sizeof line - k, "\\%03o",
                                  g->o->embed[i]);
        line[k++] = '"';
        line[k++] = '\n';
        emit_raw(e, line, k);
    }
    put(e, "};\n"
           "#if defined __GNUC__\n"
           "#pragma GCC diagnostic pop\n"
           "#endif\n\n");
}

/* Emits .incbin, with which the assembler copies a file at disk speed in little
 * memory. Without the GNU assembler, emits #embed, for which clang 19 needs 1.1
 * GB for a file of 90 MB. The assembler checks the file's size, because C has
 * no constant for it; a file of another size was packed for another model. */
static void put_file(Gen *g, Emit *e)
{
    let(e, "file", "%s", g->o->embed_file);
    let(e, "bytes", "%zu", g->o->embed_bytes);
    let(e, "at", "%s_weights_begin", g->p->prefix);
    put(e, "/* The compiler includes $file, $bytes bytes, from the\n"
           " * working folder or a folder of -I. */\n"
           "#if defined __GNUC__ && !defined __TINYC__\n"
           "#ifdef __APPLE__\n"
           "#define EMBEDDED_SECTION \"__TEXT,__const\"\n"
           "#else\n"
           "#define EMBEDDED_SECTION \".rodata\"\n"
           "#endif\n"
           "__asm__(\".pushsection \" EMBEDDED_SECTION \"\\n\"\n"
           "        \".balign 64\\n\"\n"
           "        \"$at:\\n\"\n"
           "        \".incbin \\\"$file\\\"\\n\"\n"
           "        \".if . - $at - $bytes\\n\"\n"
           "        \".error \\\"$file is not the file that was written with "
           "this one\\\"\\n\"\n"
           "        \".endif\\n\"\n"
           "        \".popsection\\n\");\n"
           "extern const char embedded[] __asm__(\"$at\");\n"
           "#elif defined __has_embed\n"
           "_Alignas(64) static const unsigned char embedded[] = {\n"
           "#embed \"$file\"\n"
           "};\n"
           "#else\n"
           "#error \"this compiler can't take $file in: clang and gcc can\"\n"
           "#endif\n\n");
}

void emit_embedded(Gen *g, Emit *e)
{
    const EmitOptions *o = g->o;
    if (o->embed)
        put_literal(g, e);
    else if (o->embed_file)
        put_file(g, e);
    let(e, "at", "%s",
        o->embed        ? "embedded.bytes"
        : o->embed_file ? "embedded"
                        : "NULL");
    let(e, "size", "%zu", o->embed_bytes);
    let(e, "weights", "%s_embedded", g->p->prefix);
    put(e, "/* Returns the embedded model.weights file, or NULL. */\n"
           "const void *$weights(int64_t *bytes)\n"
           "{\n"
           "    if (bytes)\n"
           "        *bytes = $size;\n"
           "    return $at;\n"
           "}\n\n");
}
