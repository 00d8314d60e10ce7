/* compile_report.c: the report of attnc compile. It lists the written files,
 * and commands that build and run the program if they are pasted into a shell
 * in the current directory. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/stat.h>

#include "base/console.h"
#include "base/strings.h"
#include "cli/command/compile.h"

/* ---- a shell's ---- */

/* Returns a path as a word for a shell, which must not take it for an option.
 */
static const char *path_word(Arena *a, const char *path)
{
    return shell_word(a, *path == '-' ? arena_printf(a, "./%s", path) : path);
}

/* Like path_word(), but for a program: a name without a slash gets the prefix
 * "./", so that the shell does not search PATH. */
static const char *program_word(Arena *a, const char *path)
{
    return path_word(a,
                     strchr(path, '/') ? path : arena_printf(a, "./%s", path));
}

/* ---- the files ---- */

enum { MostFiles = EmitKinds + 4 };

static int list_files(const Written *w, const char *files[MostFiles])
{
    int n = 0;
    if (w->path[EmitC])
        files[n++] = w->path[EmitC];
    if (w->header)
        files[n++] = w->header;
    for (int i = 0; i < 2 && w->o->beside; i++)
        files[n++] = runtime_path(w->e->arena, w->path[EmitC], i);
    if (w->weights)
        files[n++] = w->weights;
    for (int k = EmitC + 1; k < EmitKinds; k++)
        if (w->path[k])
            files[n++] = w->path[k];
    return n;
}

static void say_files(const Written *w)
{
    const char *files[MostFiles];
    const int n = list_files(w, files);
    int width = 0;
    for (int i = 0; i < n; i++) {
        const int length = (int)strlen(plain_text(w->e->arena, files[i]));
        width = length > width ? length : width;
    }
    for (int i = 0; i < n; i++) {
        struct stat s;
        const char *size = stat(files[i], &s) == 0
                             ? bytes_text(w->e->arena, (double)s.st_size, false,
                                          2)
                             : "";
        fprintf(console_log(), "%s %-*s  %7s\n", i ? "     " : "wrote", width,
                plain_text(w->e->arena, files[i]), size);
    }
}

/* ---- the commands ---- */

const char *compiler_asked(const Options *o, const Spec *s, bool program)
{
    return !o->code.cc && program && s->fix.ranks > 1 ? "mpicc" : o->code.cc;
}

/* Returns a C compiler for the target, if possible one in PATH. Sets *aim to
 * its --target option or NULL. The caller quotes both for a shell. */
static const char *compiler_name(const Written *w, const char **aim)
{
    Arena *a = w->e->arena;
    const Target *t = &w->e->target;
    const char *named = compiler_asked(w->o, w->e->spec, w->has_main);
    Fault unused;
    *aim = NULL;
    if (!target_foreign(t))
        return named ? named : cc_to_type(a);
    CcOptions cc = { .compiler = named ? cc_find(a, named, &unused) : NULL };
    if (!cc.compiler || !cc_aim(a, &cc, t, &unused))
        return arena_printf(a, "%s-gcc", t->triple);
    *aim = cc.target;
    return named;
}

/* Returns a comment on how to get a compiler that is not in PATH. */
static const char *compiler_remedy(const Written *w, const char *name)
{
    Arena *a = w->e->arena;
    const Target *t = &w->e->target;
    if (name && find_program(a, name))
        return "";
    if (name && !target_foreign(t))
        return arena_printf(a, "  # there is no %s here", plain_text(a, name));
    return arena_printf(a, "  # needs a C compiler: apt-get install %s",
                        name ? t->packages : "gcc");
}

/* Returns the -I option for the directory of included weights; "" if it is the
 * current directory. */
static const char *include_word(const Written *w)
{
    const char *slash = w->weights ? strrchr(w->weights, '/') : NULL;
    if (!w->inside || !slash)
        return "";
    const int n = slash == w->weights ? 1 : (int)(slash - w->weights);
    const char *folder = arena_strndup(w->e->arena, w->weights, (size_t)n);
    return arena_printf(w->e->arena, " -I%s", path_word(w->e->arena, folder));
}

/* Returns the command that builds a program or, if freestanding, an object
 * file. */
static const char *build_command(const Written *w)
{
    Arena *a = w->e->arena;
    const CodeOptions *code = &w->o->code;
    const Target *t = &w->e->target;
    const char *march = code->march ? target_flags(a, t)
                      : t->guard    ? "-march=native"
                                    : "";
    const char *c = w->path[EmitC];
    const char *aim, *name = compiler_name(w, &aim);
    const char *cc = arena_printf(a, "%s%s%s -O%s -std=c11%s%s%s",
                                  path_word(a, name ? name : "cc"),
                                  aim ? " --target=" : "", aim ? aim : "",
                                  code->level ? code->level : "2",
                                  *march ? " " : "", march, include_word(w));
    const char *text = arena_printf(a, "%s%s", ends_in(c, ".c") ? "" : "-x c ",
                                    path_word(a, c));
    const char *to = path_word(a, w->program);
    if (!w->has_main)
        return arena_printf(a, "%s -c %s -o %s%s", cc, text,
                            path_word(a, arena_printf(a, "%s.o", w->program)),
                            compiler_remedy(w, name));
    if (w->o->beside)
        text = arena_printf(a, "%s %s", text,
                            path_word(a,
                                      runtime_path(a, w->path[EmitC], false)));
    return arena_printf(a, "%s -DATTNC_MAIN %s -lm -o %s%s", cc, text, to,
                        compiler_remedy(w, name));
}

/* Returns true if the vocabulary can encode the complete text. */
static bool has_text(const struct attn_side *t, const char *text, int32_t *ids)
{
    const struct attn_vocab_header *h = t->block;
    Fault unused;
    const int64_t n = tokens_of(t, 0, text, strlen(text), ids, NULL, &unused);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] == h->unknown)
            return false;
    return n > 0;
}

/* Returns a line that the model can answer: a text that most vocabularies can
 * encode, or else the first token that consists of lower-case letters. */
static const char *text_line(Arena *a, const struct attn_side *t)
{
    static const char *const texts[] = { "Hello world", "hello" };
    int32_t *ids = arena_alloc(a, MostTokens * sizeof *ids);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (has_text(t, texts[i], ids))
            return shell_word(a, texts[i]);
    for (int64_t id = 0; id < t->size; id++) {
        int64_t n = 0;
        const char *token = attn_vocab_token(t->block, (int32_t)id, &n);
        const char *word = arena_strndup(a, token, (size_t)n);
        if (n > 0 && !word[strspn(word, "abcdefghijklmnopqrstuvwxyz")]
            && has_text(t, word, ids))
            return word;
    }
    return NULL;
}

/* Returns a line of two ids from the middle of the vocabulary, because the
 * first ids often are special tokens. */
static const char *id_line(Arena *a, int64_t size)
{
    const int64_t id = size > 8 ? size / 2 : size - 1;
    return arena_printf(a, "%lld %lld", (long long)id,
                        (long long)(id > 0 ? id - 1 : 0));
}

/* Returns a command that prints an input line for the program; "" if no valid
 * line is known. */
static const char *question(const Written *w)
{
    Arena *a = w->e->arena;
    const Spec *s = w->e->spec;
    if (s->kind == KindAttention)
        return arena_printf(a, "for i in 1 2 3; do seq -s' ' %lld; echo; done",
                            (long long)s->d_model);
    if (s->kind != KindDecoder && s->input == InputReal)
        return arena_printf(a, "seq -s' ' %lld", (long long)s->input_width);
    const bool target = s->kind == KindDecoder;
    const struct attn_side t = {
        target ? w->e->target_vocab.block : w->e->source.block,
        target ? s->target.size : s->source.size,
    };
    const char *line = t.block && !w->o->plain ? text_line(a, &t)
                                               : id_line(a, t.size);
    return line ? arena_printf(a, "echo %s", line) : "";
}

static void say_run(const Written *w, const char *program)
{
    Arena *a = w->e->arena;
    const char *ask = question(w);
    const Target *t = &w->e->target;
    const bool outside = w->weights && !w->inside;
    const int64_t ranks = w->e->spec->fix.ranks;
    const char *start = ranks > 1
                          ? arena_printf(a, "mpirun -n %lld ", (long long)ranks)
                          : "";
    fprintf(console_log(), "run:   %s%s%s%s%s%s%s%s\n", ask, *ask ? " | " : "",
            start, program_word(a, program), outside ? " " : "",
            outside ? path_word(a, w->weights) : "",
            target_foreign(t) ? "  # on " : "",
            target_foreign(t) ? t->triple : "");
}

void report_written(const Written *w)
{
    const char *program = w->path[EmitExe];
    if (w->o->quiet)
        return;
    say_files(w);
    if (!program && w->path[EmitC]) {
        fprintf(console_log(), "build: %s\n", build_command(w));
        program = w->has_main ? w->program : NULL;
    }
    if (program && (w->weights || w->inside))
        say_run(w, program);
    else if (!program && !w->path[EmitC])
        fprintf(console_log(), "use:   %s, and link %s -lm\n",
                plain_text(w->e->arena, w->header),
                plain_text(w->e->arena, w->path[EmitObj] ? w->path[EmitObj]
                                                         : w->path[EmitSo]));
    if (!w->weights && !w->inside)
        note_once("no weights were written: %s names no file; give one by "
                  "--weights, or random ones by --seed=1",
                  quote(w->e->spec->top.src->name));
}
