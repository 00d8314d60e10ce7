/* cmd_import.c: attnc import. Converts a checkpoint to a spec and, with
 * --compile, to C. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "import/import.h"
#include "runtime/weights/gguf.h"
#include "tokenizer/tokenizer.h"
#include "cli/options/options.h"

/* Returns the kind of vectors that --vectors names, or NULL. */
static const char *import_vectors(const char *word)
{
    if (word && strcmp(word, "sparse") && strcmp(word, "colbert"))
        fail(ExitUsage, "--vectors takes sparse or colbert, found '%s'",
             quote(word));
    return word;
}

/* Returns the path of a weights file next to the spec and named like it. */
static const char *import_weights_path(Arena *a, const char *spec)
{
    const size_t n = strlen(spec) - (ends_in(spec, ".yaml") ? 5 : 0);
    return arena_printf(a, "%.*s.safetensors", (int)n, spec);
}

/* Writes the spec and, next to it, the vocabularies: all files or none. */
static int write_spec(const Imported *i, const char *path)
{
    Fault why;
    const char *text = marked_spec(i->arena, i->text, i->n);
    outputs_hold();
    bool good = write_file(path, text, strlen(text), &why);
    for (int k = 0; good && k < i->vocabs; k++)
        good = vocabulary_write(i->vocab[k].path, i->vocab[k].block,
                                i->vocab[k].bytes, &why);
    return outputs_release(good, &why) ? ExitDone : report_fault(&why);
}

static void say_written(const Options *o, const Imported *i, const char *spec)
{
    Arena *a = i->arena;
    fprintf(stderr, "%s: %s weights in %d tensors of %s\n", i->title,
            arena_grouped(a, i->parameters), i->tensors - i->unused,
            plain_text(a, i->weights));
    if (i->made)
        fprintf(stderr, "wrote %s\n", plain_text(a, i->made));
    fprintf(stderr, "wrote %s\n", plain_text(a, spec));
    for (int k = 0; k < i->vocabs; k++)
        fprintf(stderr, "      %s\n", plain_text(a, i->vocab[k].path));
    if (i->by_token)
        note_once("the model gives one vector per token; for one per text, "
                  "add head: {type: pool, pool: mean} to the spec, or pool: "
                  "class, as it was trained");
    if (!o->compile)
        fprintf(stderr, "next:  attnc compile %s\n", plain_text(a, spec));
}

/* Compiles the model with libtcc, fused and unfused, and compares both with the
 * graph in double precision. With --check=PYTHON, then compares the model with
 * transformers. */
static int check_spec(const PythonCheck *c)
{
    static const char alone[] = "the compiled code computes what the imported "
                                "spec says; --check=PYTHON compares that with "
                                "transformers";
    static const char then[] = "the compiled code computes what the imported "
                               "spec says";
    const Options verify = {
        .model = { .spec = c->spec, .seed = 1, .allow_nan = c->allow_nan },
        .code = { .threads = -1, .backend = "jit" },
        .cases = 3,
        .agrees = c->python || is_gguf(c->folder) ? then : alone
    };
    const int code = cmd_verify(&verify);
    return code || !c->python ? code : python_check(c);
}

/* Compares a model that was read by the rules of another family, before any
 * file is written. The readers get the spec from memory. */
static int compare_alike(const Options *o, const Imported *i,
                         const ImportOptions *with, const char *python)
{
    Fault why;
    if (o->unchecked)
        warning_once("nothing was compared with transformers: %s may differ "
                     "from what the rules of %s say",
                     i->alike, with->as);
    if (o->unchecked && !o->check)
        return ExitDone;
    if (!import_give(i, with, &why))
        return report_fault(&why);
    return check_spec(&(PythonCheck){ .python = python,
                                      .folder = with->folder,
                                      .spec = with->spec,
                                      .as = with->as,
                                      .allow_nan = o->allow_nan });
}

/* Ends attnc, before the spec is written, if no file can be written there. */
static void need_writable(const char *path)
{
    Fault why;
    Output o;
    if (!path || is_stream(path))
        return;
    if (!output_open(&o, path, &why))
        fail(why.code, "%s", why.text);
    output_cancel(&o);
}

static int compile_spec(const Options *o, const char *spec)
{
    const Options compile = {
        .model = { .spec = spec, .seed = -1, .allow_nan = o->allow_nan },
        .code = { .threads = -1 },
        .output = o->compile,
        .embed = o->embed,
        .quiet = o->quiet,
        .max_input = -1,
        .max_output = -1
    };
    return compile_model(&compile, true);
}

static int import_spec(const Options *o)
{
    Imported i;
    Arena *a = arena_new();
    const char *python = o->check && *o->check ? python_find(a, o->check)
                                               : NULL;
    const char *name = import_name(a, o->folders.at[0]);
    const char *spec = o->output ? o->output : arena_printf(a, "%s.yaml", name);
    const ImportOptions with = {
        .folder = o->folders.at[0],
        .spec = spec,
        .name = o->output && !is_stream(spec) ? import_name(a, spec) : name,
        .vectors = import_vectors(o->vectors),
        .rules = o->rules,
        .as = o->as,
        .lora = o->lora,
        .merged = o->lora || o->average ? import_weights_path(a, spec) : NULL,
        .joined = is_stream(spec) || o->as ? NULL
                                           : import_weights_path(a, spec),
        .others = o->folders.at + 1,
        .n_others = o->folders.n - 1,
        .ignored = o->ignored_keys.at,
        .n_ignored = o->ignored_keys.n,
    };
    Fault why;
    if ((!is_stream(spec) && !guard_write(spec, UseInput, &why))
        || (with.merged && !guard_write(with.merged, UseInput, &why)))
        fail(why.code, "%s", why.text);
    need_writable(o->compile);
    if (!o->as) /* the comparison has files of its own */
        outputs_hold();
    int code = import_folder(&i, &with);
    if (!code && o->as)
        code = compare_alike(o, &i, &with, python);
    if (!code)
        code = write_spec(&i, spec);
    if (!o->as && !outputs_release(!code, &why) && !code)
        code = report_fault(&why);
    if (!code && !is_stream(spec) && !o->quiet)
        say_written(o, &i, spec);
    import_close(&i);
    if (!code && o->check && !o->as)
        code = check_spec(&(PythonCheck){ .python = python,
                                          .folder = with.folder,
                                          .spec = spec,
                                          .merged = with.merged,
                                          .allow_nan = o->allow_nan });
    if (!code && o->compile)
        code = compile_spec(o, spec);
    arena_free(a);
    return code;
}

static int list_families(const void *options)
{
    const Options *o = options;
    return import_families(stdout, (FamiliesFormat)o->format);
}

int cmd_import(const Options *o)
{
    if (o->families)
        return report_print(o->output, list_families, o);
    if (o->average && (o->lora || o->folders.n < 2))
        fail(ExitUsage, "--average takes two or more folders and no adapter");
    if (!o->average && o->folders.n > 1)
        fail(ExitUsage,
             "attnc import takes one folder; --average takes several");
    if ((o->average || o->lora) && is_stream(o->output))
        fail(ExitUsage, "the new weights are written next to the spec, so -o "
                        "must name a file");
    if (!o->folders.n)
        fail(ExitUsage, "attnc import takes a checkpoint's folder, with "
                        "config.json; --families lists the supported families");
    if ((o->compile || o->check) && is_stream(o->output))
        fail(ExitUsage, "%s reads the spec again, so -o must name a file",
             o->compile ? "--compile" : "--check");
    if (o->check && *o->check && is_gguf(o->folders.at[0]))
        fail(ExitUsage,
             "--check=PYTHON is for the folder of a checkpoint, which "
             "transformers reads; a file of llama.cpp has --check alone");
    if (o->as && (o->rules || o->lora || o->average))
        fail(ExitUsage, "--as takes no %s",
             o->rules  ? "--rules"
             : o->lora ? "--lora"
                       : "--average");
    if (o->as && is_gguf(o->folders.at[0]))
        fail(ExitUsage, "--as is for the folder of a checkpoint; a file of "
                        "llama.cpp names its architecture");
    if (o->as && !o->unchecked && !(o->check && *o->check))
        fail(ExitUsage,
             "--as needs --check=PYTHON, which compares the model with "
             "transformers, or --unchecked");
    if (o->unchecked && (!o->as || (o->check && *o->check)))
        fail(ExitUsage, "--unchecked is for --as without --check=PYTHON");
    if (o->embed && !o->compile)
        fail(ExitUsage, "--embed is for --compile, which writes C");
    if (o->allow_nan && !o->compile && !o->check)
        fail(ExitUsage, "--allow-nan is for --compile and --check, which read "
                        "all weights");
    return import_spec(o);
}
