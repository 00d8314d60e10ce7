/* plain_file.c: emits the sections of the file of `attnc compile --plain`: the
 * same graph as plain C, for reading, teaching and small processors. The file
 * has constants, loops and one function per kind of layer, but no tiles,
 * vectors or pages. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

/* skipped, because plain C would have to split merged products again */
const char *const plain_skip[2] = { "merge-qkv" };

static void put_comment_of_file(Plain *p, Emit *e)
{
    const EmitOptions *o = p->g.o;
    const bool outside = p->g.p->block.n && !o->embed;
    let(e, "name", "%s", p->g.p->g->spec->name);
    let(e, "version", "%s", ATTNC_VERSION);
    let(e, "command", "%s", harmless(p->g.a, o->command));
    let(e, "weights", outside ? " model.weights" : "");
    let(e, "n", "%s", arena_grouped(p->g.a, p->g.p->parameters));
    put(e,
        "/* $name, a Transformer in plain C, made by attnc $version by\n"
        " *     $command\n"
        " *\n"
        " * Its results equal those of attnc's fast C bit for bit. It computes one\n"
        " * sequence at a time. Section numbers refer to Attention Is All You Need\n"
        " * [Vaswani et al. 2017]. $n parameters. Needs a C99 compiler:\n"
        " *\n"
        " *     cc -O2 -std=c99 -c model.c\n");
    if (!o->freestanding)
        put(e, " *     cc -O2 -std=c99 -DATTNC_MAIN model.c -lm -o model\n"
               " *     ./model$weights < lines\n");
    put(e, " */\n");
}

static void put_plain_front(Plain *p, Emit *e)
{
    put(e, "#include <math.h>\n"
           "#include <stddef.h>\n"
           "#include <stdint.h>\n");
    if (!p->g.o->freestanding)
        put(e, "#include <stdio.h>\n"
               "#include <stdlib.h>\n"
               "#include <string.h>\n");
    put(e, "\n");
    emit_float_rules(p->g.kernels, e);
}

/* Emits constants. decode() processes one row at a time, unless the rows of a
 * prefix can see later rows. */
static void put_sizes(Plain *p, Emit *e)
{
    emit_dimensions(&p->g, e, "");
    if (p->decode_rows == 1)
        return;
    let(e, "rows", "%lld", (long long)p->decode_rows);
    put(e, "enum { ROWS = $rows }; /* most tokens of a call of decode */\n\n");
}

const char *emit_plain(Arena *a, const Plan *plan, const EmitOptions *o,
                       size_t *n)
{
    Plain p = { .g = { .a = a,
                       .p = plan,
                       .o = o,
                       .plain = true,
                       .shapes = emit_new(a),
                       .helpers = emit_new(a),
                       .kernels = kernels_plain(a) },
                .functions = emit_new(a) };
    Emit *e = emit_new(a), *weights = emit_new(a), *model = emit_new(a);
    p.made = arena_alloc(a, (size_t)plan->g->nodes.n * sizeof *p.made);
    p.decode_rows = plain_prefix(&p, EntryDecode)
                      ? plan->g->spec->side[SideDecoder].max_len
                      : 1;
    plain_find_kept(&p);
    plain_name_values(&p);
    emit_plain_weights(&p, weights);
    emit_plain_entries(&p, model);

    put_comment_of_file(&p, e);
    put_plain_front(&p, e);
    put_sizes(&p, e);
    emit_add(e, weights);
    emit_plain_state(&p, e);
    section_heading(e, "arithmetic");
    emit_kernels(p.g.kernels, e);
    emit_add(e, p.functions);
    section_heading(e, "the model");
    emit_add(e, model);
    emit_plain_program(&p, e);
    return emit_text(e, n);
}
