/* library_text.c: the functions of attnc.h that write C, or describe a model as
 * text. */
#define _GNU_SOURCE /* alphasort, scandir */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "library/library.h"

typedef struct {
    const Call *call;
    const char *where; /* name of the function or report, for messages */
    char **out;
    attnc_take_file *take; /* of attnc_compile_files(); NULL: not called */
    void *taker;
    const char *folder; /* where it compiles; NULL: where -o says */
} TextWork;

/* ---- compile ---- */
static bool compiles(const Option *row)
{
    return !OPTION_IN(row, common) || option_is(row, "--force");
}

static void compile_files(void *with)
{
    const TextWork *w = with;
    Arena *a = arena_new();
    Options *o = library_options(a, NthCompile, w->call->options);
    library_takes(o, NthCompile, compiles, w->where);
    o->model.spec = w->call->path;
    o->model.text.text = library_source(a, w->call);
    if (is_stream(o->output))
        fail(ExitUsage, "-o %s: name a file", quote(o->output));
    if (w->folder && !o->output)
        fail(ExitUsage, "attnc_compile_files() needs -o: the name of the C "
                        "file, such as model.c");
    if (w->folder)
        o->output = o->kinds >> EmitWheel & 1
                      ? w->folder
                      : arena_printf(a, "%s/%s", w->folder,
                                     base_name(o->output));
    const int code = compile_model(o, false);
    arena_free(a);
    if (code)
        end_attempt(code);
}

void library_guarded(void what(void *with), void *with)
{
    guard_begin();
    const int code = attempt(what, with);
    /* an output that is an input counts as usage, whoever reports it */
    const bool refused = code == ExitInput && guard_refused();
    guard_end();
    if (code)
        end_attempt(refused ? ExitUsage : code);
}

static void compile_guarded(void *with)
{
    library_guarded(compile_files, with);
}

int attnc_compile(const char *path, const char *text,
                  const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    TextWork w = { .call = &c, .where = "attnc_compile()" };
    return library_call(&c, compile_guarded, &w);
}

/* Gives an entry of the folder to the caller if it is a file. */
static bool give_file(const TextWork *w, const char *name, Fault *why)
{
    char path[PATH_MAX];
    File f;
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    if (is_folder(path)) /* this one and its parent */
        return true;
    if (!file_map_for(UseOwn, &f, path, why))
        return false;
    library_leave();
    const int ended = w->take(w->taker, name, f.at, (int64_t)f.size);
    library_return();
    file_close(&f);
    return !ended
        || fault(why, ExitIO, "%s: the function that takes it returned %d",
                 name, ended);
}

static int give_files(const TextWork *w)
{
    struct dirent **file;
    Fault why;
    const int n = scandir(w->folder, &file, NULL, alphasort);
    bool good = n >= 0
             || fault(&why, ExitResource, "%s: cannot list it: %s", w->folder,
                      strerror(errno));
    for (int i = 0; i < n; i++) {
        good = good && give_file(w, file[i]->d_name, &why);
        free(file[i]);
    }
    if (n >= 0)
        free(file);
    return good ? ExitDone : report_fault(&why);
}

static void compile_to_caller(void *with)
{
    TempFolder temp;
    char folder[sizeof temp.path + sizeof "/files"];
    TextWork w = *(const TextWork *)with;
    w.folder = folder;
    Fault why;
    bool good = temp_open(&temp, NULL);
    snprintf(folder, sizeof folder, "%s/files", temp.path);
    good = (good && mkdir(folder, 0700) == 0)
        || fault(&why, ExitIO, "no folder can be made in %s: %s", temp_root(),
                 strerror(errno));
    int code = good ? attempt(compile_guarded, &w) : report_fault(&why);
    if (!code)
        code = give_files(&w);
    temp_close(&temp);
    if (code)
        end_attempt(code);
}

int attnc_compile_files(const char *path, const char *text,
                        const char *const *options, attnc_take_file *take,
                        void *taker, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    TextWork w = { .call = &c,
                   .where = "attnc_compile_files()",
                   .take = take,
                   .taker = taker };
    return library_call(&c, compile_to_caller, &w);
}

/* ---- reports ---- */
int library_command(const char *name, bool files, const char *where,
                    PrintReport **print)
{
    static PrintReport *const reports[Commands] = {
#define REPORT(word, id, ...) [Nth##id] = word##_report,
#include "cli/options/commands.h"
    };
    const int command = (int)(command_find(name) - commands);
    char list[128] = "";
    size_t n = 0;
    for (int i = 0; i < Commands; i++) {
        if (!reports[i] || (i == NthCompile && !files))
            continue;
        *print = reports[i];
        if (i == command)
            return i;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "",
                              commands[i].name);
    }
    fail(ExitUsage, "%s: %s is not one of %s", where, name, list);
}

static bool reports_take(const Option *row)
{
    return !OPTION_IN(row, common) && !option_is(row, "-o")
        && !option_is(row, "--machine");
}

/* The process's stdin and stdout are not the library's. */
static void refuse_streams(const Options *o, bool has_text, bool pictures)
{
    const char *const svg[] = { o->bench.svg, o->sweep.svg, o->tune.svg };
    const int format[] = { (int)o->bench.format, (int)o->sweep.format,
                           (int)o->tune.format };
    for (int i = has_text; i < o->specs.n; i++)
        if (is_stdout(o->specs.at[i]))
            fail(ExitUsage, "-: the library does not read stdin: give the "
                            "text of the spec");
    for (int i = 0; pictures && i < 3; i++)
        if (is_stdout(svg[i]) || format[i] == (i < 2 ? BenchSvg : TuneSvg))
            fail(ExitUsage, "the library does not print: name a file for the "
                            "picture by --svg=FILE");
}

static void write_report(void *with)
{
    const TextWork *w = with;
    Arena *a = arena_new();
    PrintReport *print;
    const int command = library_command(w->where, false, "attnc_report()",
                                        &print);
    Options *o = library_options(a, command, w->call->options);
    library_takes(o, command, reports_take, w->where);
    o->model.spec = w->call->path;
    if (o->specs.n)
        o->specs.at[0] = w->call->path;
    o->model.text.text = library_source(a, w->call);
    refuse_streams(o, w->call->text, command != NthGraph && command != NthPlan);
    const int code = report_text(w->out, print, o);
    arena_free(a);
    if (code)
        end_attempt(code);
}

static void write_report_guarded(void *with)
{
    library_guarded(write_report, with);
}

int attnc_report(char **out, const char *report, const char *path,
                 const char *text, const char *const *options, attnc_tell *tell,
                 void *user)
{
    const Call c = { path, text, options, tell, user, NULL };
    TextWork w = { .call = &c, .where = report, .out = out };
    *out = NULL;
    return library_call(&c, write_report_guarded, &w);
}

void attnc_free(void *memory)
{
    free(memory);
}
