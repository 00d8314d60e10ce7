/* cmd_compile.c: attnc compile. Writes model.c, model.h and model.weights, or
 * the output of a C compiler for them. */
#include <errno.h>
#include <string.h>

#include "base/progress.h"
#include "base/strings.h"
#include "emit/emit.h"
#include "cli/command/compile.h"

static const char *const suffixes[] = { ".c", ".o", ".so", "" };

typedef struct {
    const Options *o;
    Engine e;
    const char *stem; /* path of all files without their endings: "out/model" */
    const char *text;
    size_t n; /* length of `text` in bytes */
    EmitOptions emit;
    TargetPlans levels;
    const char *include; /* directory with embedded weights; NULL: none */
} Compile;

/* ---- names ---- */
static bool is_wanted(const Compile *c, int kind)
{
    return c->o->kinds >> kind & 1;
}

static bool is_only(const Compile *c, int kind)
{
    return c->o->kinds == 1 << kind;
}

/* Sets the stem. With -o, it is the path, without the ending of a requested
 * kind of file. Otherwise it is the spec's file name without directory and
 * ending or, for a spec from stdin or of a folder, the model's name. */
static void find_stem(Compile *c)
{
    const char *spec = c->o->model.spec, *given = c->o->output;
    const char *path = given ? given : base_name(spec);
    if (!given && (c->o->model.text.text || is_folder(spec))) {
        c->stem = c->e.spec->name;
        return;
    }
    size_t n = strlen(path);
    for (int k = 0; k < EmitExe; k++)
        if (is_wanted(c, k) && given && ends_in(path, suffixes[k]))
            n = strlen(path) - strlen(suffixes[k]);
    if (!given && strrchr(path, '.'))
        n = (size_t)(strrchr(path, '.') - path);
    c->stem = arena_strndup(c->e.arena, path, n);
}

/* Returns the output path of a kind of file. If no other kind is requested, it
 * is exactly -o. */
static const char *path_of(const Compile *c, int k)
{
    return is_only(c, k) && c->o->output
             ? c->o->output
             : arena_printf(c->e.arena, "%s%s", c->stem, suffixes[k]);
}

/* Returns a setting without the directories in its path, because emitted files
 * must not contain paths of this machine. */
static const char *setting_name(Arena *a, const char *set)
{
    const char *value = strchr(set, '=');
    return value ? arena_printf(a, "%.*s=%s", (int)(value - set), set,
                                base_name(value + 1))
                 : set;
}

static bool names_weights(const Compile *c)
{
    return c->o->model.weights || c->e.spec->weights;
}

/* Returns a canonical command line with the options that affect the text. */
static const char *canonical_command(const Compile *c)
{
    Arena *a = c->e.arena;
    const Options *o = c->o;
    const Target *t = &c->e.target;
    const char *line = arena_printf(a, "attnc compile %s %s%s",
                                    base_name(o->model.spec),
                                    o->plain ? "--plain" : "--march=",
                                    o->plain ? ""
                                             : levels_text(a, &c->levels, t));
    if (o->code.width)
        line = arena_printf(a, "%s --width=%d", line, t->width);
    if (o->code.tile)
        line = arena_printf(a, "%s --tile=%dx%d", line, t->mr, t->nr);
    for (int i = 0; i < o->model.sets.n; i++)
        line = arena_printf(a, "%s --set %s", line,
                            quote(setting_name(a, o->model.sets.at[i])));
    for (int i = 0; i < o->model.skip.n; i++)
        line = arena_printf(a, "%s --skip=%s", line,
                            quote(o->model.skip.at[i]));
    if (o->code.threads > 0)
        line = arena_printf(a, "%s --threads=%lld", line,
                            (long long)o->code.threads);
    if (o->model.seed >= 0 && !names_weights(c))
        line = arena_printf(a, "%s --seed=%lld", line,
                            (long long)o->model.seed);
    if (o->freestanding)
        line = arena_printf(a, "%s --freestanding", line);
    if (o->max_input > 0)
        line = arena_printf(a, "%s --max-input=%lld", line,
                            (long long)o->max_input);
    if (o->max_output > 0)
        line = arena_printf(a, "%s --max-output=%lld", line,
                            (long long)o->max_output);
    if (o->parts)
        line = arena_printf(a, "%s --parts=%s", line, parts_given(a, o));
    if (o->beside)
        line = arena_printf(a, "%s --runtime=beside", line);
    return o->embed ? arena_printf(a, "%s --embed", line) : line;
}

/* ---- contents ---- */

/* True if the weights come from a file or are random; false if the caller
 * provides them. */
static bool has_weights(const Compile *c)
{
    return names_weights(c) || c->o->model.seed >= 0;
}

static PackedModel packed_model(const Engine *e)
{
    return (PackedModel){
        .list = &e->plan->pack,
        .packed = e->packed,
        .source_vocab = e->source.block,
        .source_bytes = e->source.bytes,
        .target_vocab = e->target_vocab.block,
        .target_bytes = e->target_vocab.bytes,
        .random = e->file ? 0 : e->options.seed + 1,
    };
}

/* maximum bytes of weights that --embed writes as C literals; larger weights
 * are a file that the C file includes */
enum { MostLiteral = 16 << 20 };

static const char *weights_path(const Compile *c)
{
    return arena_printf(c->e.arena, "%s.weights", c->stem);
}

/* True if the name needs no quoting in C, assembly language and a shell. */
static bool is_plain_name(const char *name)
{
    return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+")];
}

static int embed_file(Compile *c, int64_t bytes)
{
    const char *name = base_name(weights_path(c));
    const int megabytes = (int)(bytes / 1000000);
    if (is_stream(c->o->output)) {
        error_at((Pos){ 0 },
                 "--embed: %d MB of weights are too large for C text: -o "
                 "model.c writes model.weights next to it, which the "
                 "compiler includes; --emit=obj writes one object",
                 megabytes);
        return ExitUsage;
    }
    if (!is_plain_name(name)) {
        error_at((Pos){ 0 },
                 "--embed: %d MB of weights come from the file %s, whose "
                 "name assemblers can't read: use only letters, digits and _ "
                 ". - + in -o",
                 megabytes, quote(name));
        return ExitUsage;
    }
    c->emit.embed_file = name;
    c->emit.embed_bytes = (size_t)bytes;
    return ExitDone;
}

/* Allocates and fills plain C's struct of weights. Returns its size in
 * bytes. */
static int64_t plain_weights(const Compile *c, unsigned char **bytes)
{
    const Engine *e = &c->e;
    const int64_t n = plain_image(NULL, e->arena, e->plan, e->packed);
    *bytes = arena_alloc(e->arena, (size_t)n);
    plain_image(*bytes, e->arena, e->plan, e->packed);
    return n;
}

static int embed_weights(Compile *c)
{
    Engine *e = &c->e;
    unsigned char *bytes;
    if (c->o->plain) {
        c->emit.embed_bytes = (size_t)plain_weights(c, &bytes);
        c->emit.embed = bytes;
        return ExitDone;
    }
    const PackedModel packed = packed_model(e);
    const int64_t n = weights_image(NULL, &packed);
    if (n > MostLiteral)
        return embed_file(c, n);
    unsigned char *image = aligned_memory(e->arena, n);
    weights_image(image, &packed);
    c->emit.embed = image;
    c->emit.embed_bytes = (size_t)n;
    return ExitDone;
}

/* Checks that the value of --max-input or --max-output does not exceed the
 * model's limit. */
static bool length_fits(const Compile *c, const char *option, int64_t given,
                        int64_t most)
{
    if (given <= most)
        return true;
    if (most > 0)
        error_at(c->e.spec->top, "%s=%lld: the model takes 1 to %lld (max_len)",
                 option, (long long)given, (long long)most);
    else
        error_at(c->e.spec->top, "%s: the model generates no answers", option);
    return false;
}

static bool lengths_fit(const Compile *c)
{
    const Options *o = c->o;
    return length_fits(c, "--max-input", o->max_input, longest_input(c->e.plan))
        && length_fits(c, "--max-output", o->max_output,
                       longest_output(c->e.plan));
}

/* Rejects options that the parts of the file, or --freestanding, exclude. */
static void look_at_parts(const Options *o)
{
    if (parts_left_out(o) >> FileThreads & 1 && o->code.threads > 0)
        fail(ExitUsage, "--threads needs the part threads: add it to --parts, "
                        "or leave out --threads");
    if (parts_left_out(o) >> FileSearch & 1 && o->max_output > 0)
        fail(ExitUsage, "--max-output sizes the memory of a search: add the "
                        "part search to --parts, or leave out --max-output");
    if (parts_left_out(o) >> FileMain & 1 && o->kinds >> EmitExe & 1)
        fail(ExitUsage, "--emit=exe needs the part main: add it to --parts, "
                        "or leave out --emit=exe");
    if (o->freestanding && o->kinds >> EmitExe & 1)
        fail(ExitUsage, "--freestanding: the C file has no program, so "
                        "--emit=exe can't make one");
    if (!o->freestanding && !o->plain && !(parts_left_out(o) >> FileHandle & 1)
        && (o->max_input > 0 || o->max_output > 0))
        fail(ExitUsage, "--max-input and --max-output size the memory of "
                        "--freestanding or --parts without handle: leave "
                        "them out");
}

/* Rejects ranks if the file has no code that divides a call, and their sums if
 * there are no ranks. */
static bool ranks_fit(const Compile *c)
{
    const Options *o = c->o;
    if (c->e.spec->fix.sum_ranks && c->e.spec->fix.ranks < 1) {
        error_at(spec_pos(c->e.spec, "fix.sum_ranks"),
                 "--sum-ranks needs ranks: add --ranks=N");
        return false;
    }
    const bool divides = !o->freestanding && !o->plain
                      && !(parts_left_out(o) >> FileThreads & 1);
    if (divides || c->e.spec->fix.ranks <= 1)
        return true;
    error_at(spec_pos(c->e.spec, "fix.ranks"),
             "ranks need the code that divides a call: leave out "
             "--freestanding and --plain, or add the part threads to --parts");
    return false;
}

/* Rejects a value of --march that only C can be written for, unless C is the
 * only output. */
static void look_at_march(const Options *o)
{
    const char *march = o->code.march;
    if (target_is_c(march) && o->kinds != 1 << EmitC)
        fail(ExitUsage,
             "--march=%s is only for --emit=c: compile the C file with a "
             "compiler for that machine",
             march);
}

/* Returns the engine's options. With --plain they do not depend on this
 * machine, so that the text is the same everywhere. */
static EngineOptions options_of(const Options *o)
{
    EngineOptions options = engine_options(CmdCompile, &o->model, &o->code);
    options.backend = "clang"; /* the default of --cc; selects the tuning
                                * records of this compiler */
    if (!o->plain)
        return options;
    options.march = "generic";
    options.tuned = false;
    options.passes.skip = plain_skip;
    options.passes.nskip = 1;
    return options;
}

/* True if a weights file is written. With --embed, there is one only if the C
 * file, which includes it, is an output. */
static bool keeps_weights(const Compile *c)
{
    const bool text = is_wanted(c, EmitC) || c->o->save_temps;
    return has_weights(c) && !is_stream(c->o->output)
        && (!c->o->embed || (c->emit.embed_file && text));
}

static bool has_header(const Compile *c)
{
    return !is_only(c, EmitExe) && !c->o->plain && !is_stream(c->o->output);
}

static const char *header_path(const Compile *c)
{
    return arena_printf(c->e.arena, "%s.h", c->stem);
}

/* Checks, before the weights are packed, that all files may be written. */
static bool may_write(Compile *c, Fault *why)
{
    bool ok = true;
    if (c->o->print_commands || is_stream(c->o->output))
        return true;
    for (int k = 0; ok && k < EmitKinds; k++)
        if (is_wanted(c, k) || (k == EmitC && c->o->save_temps))
            ok = guard_write(path_of(c, k), UseInput, why);
    if (ok && has_header(c))
        ok = guard_write(header_path(c), UseInput, why);
    ok = ok
      && runtime_guard(c->o, c->e.arena, path_of(c, EmitC), header_path(c),
                       why);
    return ok && keeps_weights(c) ? guard_write(weights_path(c), UseInput, why)
                                  : ok;
}

static int plan_targets(Compile *c)
{
    EngineOptions options = options_of(c->o);
    if (c->levels.list.n)
        options.march = level_last(&c->levels);
    int code = engine_plan(&c->e, &options);
    if (!code && c->levels.list.n)
        code = levels_plan(&c->levels, &c->e);
    return code || ranks_fit(c) ? code : ExitUsage;
}

static int make_text(Compile *c)
{
    Engine *e = &c->e;
    Fault why;
    int code = plan_targets(c);
    if (!code)
        find_stem(c);
    if (!code && !may_write(c, &why))
        code = report_fault(&why);
    if (!code && has_weights(c))
        code = engine_weights(e);
    if (!code)
        code = engine_vocab(e);
    if (code)
        return code;
    if (!lengths_fit(c))
        return ExitUsage;
    if (!plain_fits(c->o, e->plan))
        return ExitInput;
    c->emit = (EmitOptions){
        .mode = EmitAot,
        .freestanding = c->o->freestanding,
        .beside = c->o->beside,
        .left_out = parts_left_out(c->o),
        .levels = c->levels.plan,
        .nlevels = c->levels.list.n ? c->levels.list.n - 1 : 0,
        .max_input = c->o->max_input,
        .max_output = c->o->max_output,
        .vocab = { e->source.block, e->target_vocab.block },
        .command = canonical_command(c),
        .file = base_name(c->stem),
    };
    if (!parts_fit(&c->e, c->o, &c->emit))
        return ExitUsage;
    if (c->o->embed && !has_weights(c)) {
        error_at(e->spec->top, "--embed: the spec names no weights; give a "
                               "file by --weights, or random ones by --seed=1");
        return ExitUsage;
    }
    if (c->o->model.seed >= 0 && names_weights(c))
        warning_once("--seed=%lld is not used: the weights are those of a file",
                     (long long)c->o->model.seed);
    code = grammar_inside(e, c->o, &c->emit);
    if (!code && c->o->embed)
        code = embed_weights(c);
    if (code)
        return code;
    c->text = c->o->plain ? emit_plain(e->arena, e->plan, &c->emit, &c->n)
                          : emit_model(e->arena, e->plan, &c->emit, &c->n);
    return ExitDone;
}

/* ---- files ---- */
static bool write_plain_weights(const Compile *c, const char *path, Fault *why)
{
    Arena *a = c->e.arena;
    unsigned char *bytes;
    const int64_t n = plain_weights(c, &bytes);
    const char *line = arena_printf(a, "%s\n", plain_magic(a, c->e.plan));
    const size_t head = strlen(line);
    char *text = arena_alloc(a, head + (size_t)n);
    memcpy(text, line, head);
    memcpy(text + head, bytes, (size_t)n);
    return write_file(path, text, head + (size_t)n, why);
}

static bool write_weights(const Compile *c, const char *path, Fault *why)
{
    if (c->o->plain)
        return write_plain_weights(c, path, why);
    const PackedModel packed = packed_model(&c->e);
    return weights_save(path, &packed, why);
}

static bool write_header(Compile *c, Fault *why)
{
    size_t n;
    const char *text = emit_header(c->e.arena, c->e.plan, &c->emit, &n);
    return write_file(header_path(c), text, n, why);
}

static bool run_compilers(Compile *c, Fault *why)
{
    static const CcKind made_by[] = {
        [EmitObj] = CcObject,
        [EmitSo] = CcShared,
        [EmitExe] = CcProgram,
    };
    CcOptions cc = { .level = c->o->code.level ? c->o->code.level : "2",
                     .march = c->e.target.march,
                     .features = c->e.target.features,
                     .include = c->include,
                     .print = c->o->print_commands };
    if (is_only(c, EmitC))
        return true;
    cc.compiler = cc_find(c->e.arena,
                          compiler_asked(c->o, c->e.spec,
                                         is_wanted(c, EmitExe)),
                          why);
    bool ok = cc.compiler && cc_aim(c->e.arena, &cc, &c->e.target, why);
    for (int k = EmitObj; ok && k < EmitKinds; k++)
        if (is_wanted(c, k))
            ok = cc_has_library(c->e.arena, &cc, &c->e.target, made_by[k], why)
              && cc_compile(c->e.arena, &cc, made_by[k],
                            (CText){ c->text, c->n }, path_of(c, k), why);
    return ok;
}

static bool write_c(Compile *c, Fault *why)
{
    const char *path = is_wanted(c, EmitC)
                         ? path_of(c, EmitC)
                         : arena_printf(c->e.arena, "%s.c", c->stem);
    return (!is_wanted(c, EmitC) && !c->o->save_temps)
        || write_file(path, c->text, c->n, why);
}

static bool write_files(Compile *c, Fault *why)
{
    outputs_hold();
    bool ok = write_c(c, why) && run_compilers(c, why)
           && (!has_header(c) || write_header(c, why))
           && runtime_write(c->o, &c->e, path_of(c, EmitC), why)
           && (!keeps_weights(c) || write_weights(c, weights_path(c), why));
    return outputs_release(ok, why);
}

/* Like write_files(), but writes the weights to a temporary directory first,
 * because compilers include them. Moves them to their final place only when all
 * files are complete. */
static bool write_with_weights(Compile *c, Fault *why)
{
    TempFolder temp;
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, "no folder can be made in %s: %s",
                     temp_root(), strerror(errno));
    interrupt_watch(); /* an interrupt must not leave the directory behind */
    c->include = temp.path;
    const char *path = arena_printf(c->e.arena, "%s/%s", temp.path,
                                    c->emit.embed_file);
    const bool ok = write_weights(c, path, why) && write_files(c, why);
    temp_close(&temp);
    interrupt_end();
    return ok;
}

/* Writes all files or none. With --save-temps, keeps C files that do not
 * compile. */
static bool write_all(Compile *c, Fault *why)
{
    if (c->o->print_commands)
        return run_compilers(c, why);
    if (c->o->save_temps && !write_c(c, why))
        return false;
    return c->emit.embed_file && !is_only(c, EmitC) ? write_with_weights(c, why)
                                                    : write_files(c, why);
}

/* Returns the name of the program to build, which is never that of the C
 * file. */
static const char *program_of(const Compile *c)
{
    const char *text = path_of(c, EmitC);
    return strcmp(text, c->stem) ? c->stem
                                 : arena_printf(c->e.arena, "%s.out", c->stem);
}

static void report(const Compile *c)
{
    Written w = { .o = c->o,
                  .e = &c->e,
                  .program = program_of(c),
                  .inside = c->o->embed || c->e.plan->pack.bytes == 0,
                  .has_main = !c->o->freestanding
                           && !(c->emit.left_out >> FileMain & 1) };
    for (int k = 0; k < EmitKinds; k++)
        if (is_wanted(c, k))
            w.path[k] = path_of(c, k);
    if (c->o->save_temps)
        w.path[EmitC] = path_of(c, EmitC);
    if (has_header(c))
        w.header = header_path(c);
    if (keeps_weights(c))
        w.weights = weights_path(c);
    report_written(&w);
}

/* Returns the kinds of --emit or, without --emit, the kind that the ending of
 * -o names; otherwise C. */
static int kinds_of(const Options *o)
{
    for (int k = 0; !o->kinds && o->output && k < EmitExe; k++)
        if (ends_in(o->output, suffixes[k]))
            return 1 << k;
    return o->kinds ? o->kinds : 1 << EmitC;
}

int compile_report(const Options *o, FILE *out)
{
    (void)out; /* C text goes to the file of -o, also if that is stdout */
    return compile_model(o, true);
}

int compile_model(const Options *given, bool reports)
{
    Options settled = *given;
    settled.kinds = kinds_of(given);
    const Options *o = &settled;
    if (o->quiet)
        quiet();
    Compile c = { .o = o };
    Fault why;
    const bool alone = is_stream(o->output); /* there are no files next to a
                                              * stream */
    look_at_parts(o);
    look_at_plain(o);
    look_at_runtime(o);
    look_at_march(o);
    look_at_wheel(o);
    if (!levels_read(&c.levels, o, &why))
        return report_fault(&why);
    if (o->kinds >> EmitWheel & 1)
        return compile_wheel(o, reports, compile_model);
    if (alone && o->kinds & (o->kinds - 1))
        fail(ExitUsage, "-o %s takes one kind of --emit", quote(o->output));
    if (is_stdout(o->output) && !is_only(&c, EmitC))
        fail(ExitUsage, "-o - is for C text alone");
    int code = make_text(&c);
    if (!code && !write_all(&c, &why))
        code = report_fault(&why);
    if (!code && reports && !alone && !o->print_commands)
        report(&c);
    engine_close(&c.e);
    return code;
}
