/* cc.c: compiles emitted C with an installed C compiler. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/console.h"
#include "base/progress.h"

enum { MaxArgs = 32, TailLines = 20, DefaultSeconds = 600 };

static const char *const clangs[] = { "clang-19", "clang",    "clang-18",
                                      "clang-17", "clang-16", "clang-15",
                                      "clang-14" };

/* NULL stands for the first installed one of clangs[]. */
static const char *const compilers[] = { NULL, "gcc", "cc" };
enum { Compilers = sizeof compilers / sizeof *compilers };

const char *cc_nth(Arena *a, int n, Fault *why)
{
    for (int i = 0; i < Compilers; i++) {
        const char *path = cc_find(a, compilers[i], why);
        if (path && n-- == 0)
            return path;
    }
    return NULL;
}

const char *cc_to_type(Arena *a)
{
    Fault unused;
    const char *path = NULL;
    for (int i = Compilers; i-- > 0 && !path;)
        path = cc_find(a, compilers[i], &unused);
    return path ? base_name(path) : NULL;
}

const char *cc_find(Arena *a, const char *name, Fault *why)
{
    if (name) {
        const char *path = find_program(a, name);
        if (!path && !strcmp(name, "mpicc"))
            fault(why, ExitBackend,
                  "a program of several ranks needs mpicc; install MPI "
                  "(apt-get install mpich, or libopenmpi-dev)");
        else if (!path)
            fault(why, ExitBackend,
                  "there is no C compiler %s; give another "
                  "by --cc",
                  quote(name));
        return path;
    }
    for (size_t i = 0; i < sizeof clangs / sizeof *clangs; i++) {
        const char *path = find_program(a, clangs[i]);
        if (path)
            return path;
    }
    fault(why, ExitBackend,
          "there is no clang on this machine; install it "
          "(apt-get install clang) or name a C compiler by --cc");
    return NULL;
}

const char *cc_version(Arena *a, const char *compiler, Fault *why)
{
    Spawned s;
    const char *argv[] = { compiler, "--version", NULL };
    if (!spawn(&s, argv, "", 0, 20, why))
        return NULL;
    return arena_strndup(a, s.out, strcspn(s.out, "\n"));
}

/* Fills argv with the command, except for input and output. Returns the number
 * of words. */
static int base_args(Arena *a, const CcOptions *o, CcKind kind,
                     const char *argv[MaxArgs])
{
    int n = 0;
    argv[n++] = o->compiler;
    if (o->target)
        argv[n++] = arena_printf(a, "--target=%s", o->target);
    argv[n++] = arena_printf(a, "-O%s", o->level);
    argv[n++] = "-std=c11";
    argv[n++] = "-ffp-contract=off";
    argv[n++] = "-fno-math-errno";
    argv[n++] = "-fno-trapping-math";
    if (strcmp(o->march, "generic") != 0)
        argv[n++] = arena_printf(a, "-march=%s", o->march);
    for (int i = 0; o->features && o->features[i]; i++)
        argv[n++] = arena_printf(a, "-m%s", o->features[i]);
    if (kind == CcObject)
        argv[n++] = "-c";
    if (kind == CcShared) {
        argv[n++] = "-fPIC";
        argv[n++] = "-shared";
    }
    if (kind == CcProgram)
        argv[n++] = "-DATTNC_MAIN";
    argv[n] = NULL;
    return n;
}

const char *cc_words(Arena *a, const char *const *argv, bool quoted)
{
    const char *line = "", *mark = quoted ? "\"" : "";
    for (; *argv; argv++)
        line = arena_printf(a, "%s%s%s%s%s", line, *line ? " " : "", mark,
                            *argv, mark);
    return line;
}

const char *cc_flags(Arena *a, const CcOptions *o, CcKind kind)
{
    const char *argv[MaxArgs];
    base_args(a, o, kind, argv);
    return cc_words(a, argv, false);
}

/* Returns the path in a form that compilers do not read as an option ('-x') or
 * as a file of options ('@x'). */
static const char *safe_path(Arena *a, const char *path)
{
    return *path == '/' ? path : arena_printf(a, "./%s", path);
}

static void compile_args(Arena *a, const CcOptions *o, CcKind kind,
                         const char *output, const char *argv[MaxArgs])
{
    int n = base_args(a, o, kind, argv);
    if (o->include)
        argv[n++] = arena_printf(a, "-I%s", o->include);
    argv[n++] = "-x";
    argv[n++] = "c";
    argv[n++] = "-";
    argv[n++] = "-o";
    argv[n++] = safe_path(a, output);
    if (kind != CcObject)
        argv[n++] = "-lm";
    if (kind == CcProgram)
        argv[n++] = "-pthread";
    argv[n] = NULL;
}

const char *const *cc_command(Arena *a, const CcOptions *o, CcKind kind,
                              const char *output)
{
    const char **argv = arena_alloc(a, MaxArgs * sizeof *argv);
    compile_args(a, o, kind, output, argv);
    return argv;
}

/* Prints the end of the compiler's messages unchanged, because they refer to
 * text that attnc wrote. */
static void show_tail(const char *tail)
{
    const char *from = tail + strlen(tail);
    for (int lines = 0; from > tail; from--)
        if (from[-1] == '\n' && ++lines > TailLines)
            break;
    fputs(from, console_log());
}

/* Makes programs executable and objects readable, as far as umask allows. */
static void set_mode(const char *path, CcKind kind)
{
    mode_t mask = umask(0);
    umask(mask);
    chmod(path, (kind == CcObject ? 0666 : 0777) & ~mask);
}

static bool run_compiler(Arena *a, const CcOptions *o, const char **argv,
                         CText text, Fault *why)
{
    Spawned s;
    int seconds = o->seconds ? o->seconds : DefaultSeconds;
    progress_begin("compiling");
    progress_step(base_name(o->compiler), NAN, NAN);
    const bool ok = spawn(&s, argv, text.at, text.n, seconds, why);
    progress_end();
    if (ok)
        return true;
    Fault first = *why;
    show_tail(s.tail);
    return fault(why, first.code, "%s; the command was: %s", first.text,
                 cc_words(a, argv, false));
}

/* Opens the compiler's result. The descriptor from output_open() is useless,
 * because a compiler replaces the file. */
static bool take_result(Output *file, const char *compiler, Fault *why)
{
    struct stat st;
    close(file->fd);
    file->fd = open(file->temp, O_RDONLY | O_CLOEXEC);
    return (file->fd >= 0 && fstat(file->fd, &st) == 0 && st.st_size > 0)
        || fault(why, ExitBackend, "%s ended well but wrote nothing", compiler);
}

/* Compiles into the open `file`, which it cancels on failure. */
static bool compile_into(Arena *a, const CcOptions *o, CcKind kind, CText text,
                         Output *file, Fault *why)
{
    const char *argv[MaxArgs];
    compile_args(a, o, kind, file->temp, argv);
    if (!run_compiler(a, o, argv, text, why)
        || !take_result(file, o->compiler, why)) {
        output_cancel(file);
        return false;
    }
    set_mode(file->temp, kind);
    return true;
}

/* Compiles into a temporary directory and copies the result. Needed if the
 * output is not a regular file: a compiler cannot write to a pipe, and would
 * replace /dev/null. */
static bool compile_and_copy(Arena *a, const CcOptions *o, CcKind kind,
                             CText text, const char *output, Fault *why)
{
    Output *file = arena_alloc(a, sizeof *file);
    TempFolder temp;
    File made;
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, "no folder can be made in %s: %s",
                     temp_root(), strerror(errno));
    interrupt_watch(); /* an interrupt must not leave the directory behind */
    bool ok = output_open(file, arena_printf(a, "%s/made", temp.path), why)
           && compile_into(a, o, kind, text, file, why)
           && file_map_for(UseOwn, &made, file->temp, why);
    if (ok) {
        ok = write_file(output, made.at, made.size, why);
        file_close(&made);
        output_cancel(file);
    }
    temp_close(&temp);
    interrupt_end();
    return ok;
}

bool cc_compile(Arena *a, const CcOptions *o, CcKind kind, CText text,
                const char *output, Fault *why)
{
    const char *argv[MaxArgs];
    if (o->print) {
        compile_args(a, o, kind, output, argv);
        fprintf(console_log(), "%s\n", cc_words(a, argv, true));
        return true;
    }
    if (is_stream(output))
        return compile_and_copy(a, o, kind, text, output, why);
    Output *file = arena_alloc(a, sizeof *file);
    return output_open(file, output, why)
        && compile_into(a, o, kind, text, file, why)
        && output_commit(file, why);
}
