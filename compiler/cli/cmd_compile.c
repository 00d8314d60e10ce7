/* cmd_compile.c: attnc compile: writes model.c, model.h and model.weights, or
 * what a C compiler makes of them.                                          */
#include <string.h>

#include "emit/emit.h"
#include "cli/cli.h"

typedef enum { EmitC, EmitObj, EmitSo, EmitExe, EmitKinds } EmitKind;
static const char *const kind_names[] = { "c", "obj", "so", "exe" };
static const char *const suffixes[] = { ".c", ".o", ".so", "" };

typedef struct {
    const Options *o;
    Engine e;
    bool wanted[EmitKinds];
    int kinds;        /* how many of them */
    const char *stem; /* of all files: "out/model" */
    const char *text;
    size_t n; /* the C file */
} Compile;

/* --------------------------------------------------------------- names --- */
static void read_kinds(Compile *c, const char *list)
{
    for (;;) {
        size_t n = strcspn(list, ",");
        int k = option_choice("--emit", arena_strndup(c->o->arena, list, n),
                              kind_names, EmitKinds);
        c->kinds += !c->wanted[k];
        c->wanted[k] = true;
        if (!list[n])
            return;
        list += n + 1;
    }
}

static bool ends_in(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n > m && strcmp(s + n - m, suffix) == 0;
}

/* -o without the suffix of a kind that is wanted; else the spec's own name,
 * in the working folder.                                                    */
static void find_stem(Compile *c)
{
    Arena *a = c->o->arena;
    const char *slash = strrchr(c->o->spec, '/');
    const char *path = c->o->output ? c->o->output
                     : slash        ? slash + 1
                                    : c->o->spec;
    size_t n = strlen(path);
    for (int k = 0; k < EmitExe; k++)
        if (c->wanted[k] && c->o->output && ends_in(path, suffixes[k]))
            n = strlen(path) - strlen(suffixes[k]);
    if (!c->o->output && strrchr(path, '.'))
        n = (size_t)(strrchr(path, '.') - path);
    c->stem = arena_strndup(a, path, n);
}

/* Where one kind goes: exactly -o when it is the only one. */
static const char *path_of(const Compile *c, EmitKind k)
{
    bool only = c->kinds == 1 && c->o->output;
    return only ? c->o->output
                : arena_printf(c->o->arena, "%s%s", c->stem, suffixes[k]);
}

/* ------------------------------------------------------------- contents --- */
static bool has_weights(const Compile *c)
{
    return c->o->weights || c->e.spec->weights;
}

/* --embed: the bytes that model.weights would have. */
static void embed_weights(Compile *c, EmitOptions *emit)
{
    Engine *e = &c->e;
    int64_t n = weights_image(NULL, &e->plan->pack, e->packed, e->source.block,
                              e->source.bytes, e->target_vocab.block,
                              e->target_vocab.bytes);
    unsigned char *image = aligned_memory(e->arena, n);
    weights_image(image, &e->plan->pack, e->packed, e->source.block,
                  e->source.bytes, e->target_vocab.block,
                  e->target_vocab.bytes);
    emit->embed = image;
    emit->embed_bytes = (size_t)n;
}

static int make_text(Compile *c)
{
    Engine *e = &c->e;
    EngineOptions options = engine_options(c->o);
    options.backend = "clang"; /* or --cc: whose records are used */
    int code = engine_plan(e, &options);
    if (!code && has_weights(c))
        code = engine_weights(e);
    if (!code)
        code = engine_vocab(e);
    if (code)
        return code;
    EmitOptions emit = {
        .mode = EmitAot,
        .main = true,
        .command = canonical_command(e->arena, c->o, &e->target),
    };
    if (c->o->embed && !has_weights(c)) {
        error_at(e->spec->top, "--embed: the spec names no weights; give "
                               "them with --weights");
        return ExitUsage;
    }
    if (c->o->embed)
        embed_weights(c, &emit);
    c->text = emit_model(e->arena, e->plan, &emit, &c->n);
    return ExitDone;
}

/* --------------------------------------------------------------- files --- */
static bool write_weights(Compile *c, Fault *why)
{
    Engine *e = &c->e;
    if (!has_weights(c) || c->o->embed)
        return true;
    return weights_save(arena_printf(e->arena, "%s.weights", c->stem),
                        &e->plan->pack, e->packed, e->source.block,
                        e->source.bytes, e->target_vocab.block,
                        e->target_vocab.bytes, why);
}

static bool write_header(Compile *c, Fault *why)
{
    size_t n;
    const char *text = emit_header(c->e.arena, c->e.plan, &n);
    return write_file(arena_printf(c->e.arena, "%s.h", c->stem), text, n, why);
}

static bool run_compilers(Compile *c, Fault *why)
{
    static const CcKind made_by[] = {
        [EmitObj] = CcObject,
        [EmitSo] = CcShared,
        [EmitExe] = CcProgram,
    };
    CcOptions cc = { .level = c->o->level ? c->o->level : "2",
                     .march = c->e.target.march,
                     .features = c->e.target.features,
                     .print = c->o->print_commands };
    if (c->kinds == c->wanted[EmitC])
        return true;
    cc.compiler = cc_find(c->e.arena, c->o->cc, why);
    bool ok = cc.compiler != NULL;
    for (int k = EmitObj; ok && k < EmitKinds; k++)
        if (c->wanted[k])
            ok = cc_compile(c->e.arena, &cc, made_by[k],
                            (CText){ c->text, c->n }, path_of(c, (EmitKind)k),
                            why);
    return ok;
}

static bool write_c(Compile *c, Fault *why)
{
    const char *path = c->wanted[EmitC]
                         ? path_of(c, EmitC)
                         : arena_printf(c->e.arena, "%s.c", c->stem);
    return (!c->wanted[EmitC] && !c->o->save_temps)
        || write_file(path, c->text, c->n, why);
}

/* All files or none; but --save-temps keeps the C that did not compile. */
static bool write_all(Compile *c, Fault *why)
{
    bool program_only = c->kinds == c->wanted[EmitExe];
    if (c->o->print_commands)
        return run_compilers(c, why);
    if (c->o->save_temps && !write_c(c, why))
        return false;
    outputs_hold();
    bool ok = write_c(c, why) && run_compilers(c, why)
           && (program_only || write_header(c, why)) && write_weights(c, why);
    return outputs_release(ok, why);
}

int cmd_compile(const Options *o)
{
    Compile c = { .o = o };
    Fault why;
    read_kinds(&c, o->emit ? o->emit : "c");
    bool to_stdout = is_stdout(o->output);
    if (to_stdout && (!c.wanted[EmitC] || c.kinds > 1))
        fail(ExitUsage, "-o - is for C text alone");
    find_stem(&c);
    int code = make_text(&c);
    if (!code && !(to_stdout ? write_c(&c, &why) : write_all(&c, &why)))
        code = report_fault(&why);
    engine_close(&c.e);
    return code;
}
