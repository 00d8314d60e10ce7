/* emit_model.c: the emitted file, section by section. Reads top to bottom as
 * the file does.                                                            */
#include "emit_parts.h"

#include <ctype.h>
#include <string.h>

/* ---- the header comment ---- */

static void header_kernels(Gen *g, Emit *e)
{
    const int n = kernels_count(g->kernels);
    let(e, "mr", "%d", g->p->target.mr);
    let(e, "nr", "%d", g->p->target.nr);
    let(e, "from", "%s", g->p->target.tile_from);
    put(e, " *\n"
           " * Kernels (register tile $mr rows x $nr columns: $from):\n");
    for (int i = 0; i < n; i++) {
        let(e, "kernel", "%s", kernels_nth(g->kernels, i));
        put(e, " *   $kernel\n");
    }
}

static void header_comment(Gen *g, Emit *e)
{
    const Plan *p = g->p;
    const Spec *s = p->g->spec;
    const Entry last = has_entry(p, EntryDecode) ? EntryDecode : EntryEncode;
    let(e, "name", "%s", s->name);
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "hash", "%016llx", (unsigned long long)s->hash);
    let(e, "command", "%s", g->o->command ? g->o->command : "");
    let(e, "march", "%s", p->target.march);
    let(e, "parameters", "%lld", (long long)p->parameters);
    let(e, "bytes", "%lld", (long long)p->pack.bytes);
    let(e, "arena", "%lld",
        (long long)(4 * linear4_at(p->arena[last], 1, 1, 1) + 64));
    let(e, "flops", "%lld", (long long)plan_token_flops(p));
    put(e, "/* $name, made by attnc $version from spec $hash:\n"
           " *   $command\n"
           " * Compile: cc -O2 -std=c11 -march=$march -c\n"
           " *\n"
           " * $parameters parameters, $bytes bytes of packed weights,\n"
           " * $arena bytes of arena for one row, $flops FLOPs a token.\n");
    header_kernels(g, e);
    put(e, " */\n");
}

/* ---- the front of the file ---- */

static void target_guard(Gen *g, Emit *e)
{
    if (!g->p->target.guard)
        return;
    let(e, "guard", "%s", g->p->target.guard);
    let(e, "march", "%s", g->p->target.march);
    put(e, "#if $guard\n"
           "#error \"emitted for $march: compile with -march=$march, or emit "
           "again with --march\"\n"
           "#endif\n");
}

static void aot_front(Gen *g, Emit *e)
{
    target_guard(g, e);
    put(e, "#ifdef ATTNC_MAIN\n"
           "#define _POSIX_C_SOURCE 200809L\n"
           "#include <errno.h>\n"
           "#include <fcntl.h>\n"
           "#include <stdarg.h>\n"
           "#include <stdio.h>\n"
           "#include <stdlib.h>\n"
           "#include <sys/mman.h>\n"
           "#include <sys/stat.h>\n"
           "#include <unistd.h>\n"
           "#endif\n"
           "#include <math.h>\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "#include <string.h>\n"
           "\n"
           "#if defined __GNUC__\n"
           "#define ATTN_API static __attribute__((unused))\n"
           "#else\n"
           "#define ATTN_API static\n"
           "#endif\n"
           "\n");
}

/* The skeleton for libtcc includes nothing. */
static void jit_front(Emit *e)
{
    put(e, "typedef int int32_t;\n"
           "typedef unsigned int uint32_t;\n"
           "typedef long int64_t;\n"
           "typedef unsigned long uint64_t;\n"
           "\n");
}

static void dimension(Emit *e, const char *name, int64_t value)
{
    if (value <= 0 || value > INT32_MAX)
        return;
    let(e, "dim", "%s", name);
    let(e, "value", "%lld", (long long)value);
    put(e, "$dim = $value,\n");
}

static void dimensions(Emit *e, const Spec *s, const char *prefix, Arena *a)
{
    const struct { const char *name; int64_t value; } dims[] = {
        { "D_MODEL", s->d_model }, { "HEADS", s->h }, { "D_K", s->d_k },
        { "D_V", s->d_v }, { "D_FF", s->d_ff },
        { "ENCODER_LAYERS", s->N_encoder },
        { "DECODER_LAYERS", s->N_decoder },
        { "SOURCE_VOCAB", s->source.size }, { "TARGET_VOCAB", s->target.size },
        { "MAX_SOURCE", s->max_source }, { "MAX_TARGET", s->max_target }
    };
    put(e, "enum {\n");
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        dimension(e, arena_printf(a, "%s%s", prefix, dims[i].name),
                  dims[i].value);
    put(e, "};\n\n");
}

/* ---- all of it ---- */

static void append(Emit *e, const Emit *part)
{
    size_t n;
    const char *text = emit_text(part, &n);
    emit_raw(e, text, n);
}

static void append_kernels(Gen *g, Emit *e)
{
    Emit *k = emit_new(g->a);
    emit_kernels(g->kernels, k);
    append(e, k);
    put(e, "\n");
}

const char *emit_model(Arena *a, const Plan *p, const EmitOptions *o,
                       size_t *n)
{
    Gen g = { .a = a, .p = p, .o = o, .shapes = emit_new(a),
              .kernels = kernels_new(a, &p->target, o->mode == EmitJit) };
    Emit *e = emit_new(a), *types = emit_new(a), *entries = emit_new(a);
    emit_weight_structs(&g, types);
    emit_call_structs(&g, types);
    make_functions(&g);
    emit_entries(&g, entries);
    emit_bind(&g, entries);
    if (has_decoder(p))
        use_kernel(g.kernels, "log_sum_exp");

    if (o->mode == EmitAot) {
        header_comment(&g, e);
        aot_front(&g, e);
    } else {
        jit_front(e);
    }
    emit_core_types(&g, e);
    append_kernels(&g, e);
    append(e, types);
    append(e, g.shapes);
    for (int i = 0; i < g.functions.n; i++)
        emit_function(&g, e, &g.functions.at[i]);
    append(e, entries);
    if (o->mode == EmitAot)
        emit_core(&g, e);
    emit_api(&g, e);
    if (o->mode == EmitAot) {
        emit_embedded(&g, e);
        emit_main(&g, e);
    }
    return emit_text(e, n);
}

/* ---- model.h ---- */

static char *upper(Arena *a, const char *s)
{
    char *u = arena_strdup(a, s);
    for (char *c = u; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    return u;
}

const char *emit_header(Arena *a, const Plan *p, size_t *n)
{
    const EmitOptions o = { .mode = EmitAot };
    Gen g = { .a = a, .p = p, .o = &o };
    Emit *e = emit_new(a);
    let(e, "guard", "%s_H", upper(a, p->prefix));
    let(e, "name", "%s", p->g->spec->name);
    put(e, "/* $name: see the C file beside this one. */\n"
           "#ifndef $guard\n"
           "#define $guard\n"
           "\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n"
           "\n"
           "#ifdef __cplusplus\n"
           "extern \"C\" {\n"
           "#endif\n"
           "\n");
    emit_public_types(&g, e);
    dimensions(e, p->g->spec, arena_printf(a, "%s_", upper(a, p->prefix)), a);
    emit_prototypes(&g, e);
    put(e, "#ifdef __cplusplus\n"
           "}\n"
           "#endif\n"
           "#endif\n");
    return emit_text(e, n);
}
