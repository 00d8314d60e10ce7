/* cmd_import.c: attnc import: a folder with a checkpoint becomes a spec, and C
 * where asked.                                                              */
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "import/import.h"
#include "cli/options.h"

/* The last part of a path, without slashes behind it; "." has the name of the
 * folder that it is.                                                        */
static const char *last_part(Arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *text = arena_strndup(a, path, n);
    const char *slash = strrchr(text, '/');
    return slash && slash[1] ? slash + 1 : text;
}

/* Letters, digits and _ . - of it, as a spec's name has them. */
static const char *model_name(Arena *a, const char *text)
{
    static const char kept[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    char *name = arena_strdup(a, text);
    char *end = ends_in(name, ".yaml") ? strrchr(name, '.') : NULL;
    if (end)
        *end = '\0';
    for (char *c = name; *c; c++)
        *c = strchr(kept, *c) ? *c : '_';
    return strcmp(name, ".") && strcmp(name, "..") && *name
             ? arena_strndup(a, name, 128)
             : "model";
}

static int write_spec(const Imported *i, const char *path)
{
    Fault why;
    return write_file(path, i->text, i->n, &why) ? ExitDone
                                                 : report_fault(&why);
}

static void say_written(const ImportCommand *o, const Imported *i,
                        const char *spec)
{
    Arena *a = i->arena;
    fprintf(stderr, "%s: %s weights in %d tensors of %s\n", i->title,
            arena_grouped(a, i->parameters), i->tensors - i->unused,
            plain_text(a, i->weights));
    fprintf(stderr, "wrote %s\n", plain_text(a, spec));
    if (!o->compile)
        fprintf(stderr, "next:  attnc compile %s\n", plain_text(a, spec));
}

/* The model by libtcc, fused and not, beside the graph in double precision. */
static int check_spec(const char *spec)
{
    const VerifyCommand verify = { .model = { .spec = spec, .seed = 1 },
                                   .code = { .threads = -1, .backend = "jit" },
                                   .cases = 3 };
    return cmd_verify(&verify);
}

static int compile_spec(const ImportCommand *o, const char *spec)
{
    const CompileCommand compile = { .model = { .spec = spec, .seed = -1 },
                                     .code = { .threads = -1 },
                                     .output = o->compile,
                                     .kinds = 1 << EmitC,
                                     .embed = o->embed,
                                     .quiet = o->quiet,
                                     .max_input = -1,
                                     .max_output = -1 };
    return cmd_compile(&compile);
}

static int import_spec(const ImportCommand *o)
{
    Imported i;
    Arena *a = arena_new();
    const char *part = last_part(a, o->folder);
    const char *spec = o->output
                         ? o->output
                         : arena_printf(a, "%s.yaml", model_name(a, part));
    const ImportOptions with = {
        .folder = o->folder,
        .spec = spec,
        .name = model_name(a, o->output && !is_stdout(spec)
                                  ? last_part(a, o->output)
                                  : part),
    };
    int code = import_folder(&i, &with);
    if (!code)
        code = write_spec(&i, spec);
    if (!code && !is_stdout(spec) && !o->quiet)
        say_written(o, &i, spec);
    import_close(&i);
    if (!code && o->check)
        code = check_spec(spec);
    if (!code && o->compile)
        code = compile_spec(o, spec);
    arena_free(a);
    return code;
}

int cmd_import(const ImportCommand *o)
{
    if (o->families)
        return import_families(stdout, (FamiliesFormat)o->format);
    if (!o->folder)
        fail(ExitUsage, "attnc import takes the folder of a checkpoint, which "
                        "has config.json; --families lists what is known");
    if ((o->compile || o->check) && is_stdout(o->output))
        fail(ExitUsage, "%s reads the spec that -o names, which must be a file",
             o->compile ? "--compile" : "--check");
    if (o->embed && !o->compile)
        fail(ExitUsage, "--embed is for --compile, which writes C");
    return import_spec(o);
}
