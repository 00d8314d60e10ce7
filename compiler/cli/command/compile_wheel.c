/* compile_wheel.c: --emit=wheel: compiles a model to a temporary folder, where
 * a script of the Python package makes a wheel of the C file's prompts, the
 * header and the shared library. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/console.h"
#include "base/strings.h"
#include "cli/command/compile.h"
#include "emit/text/embedded.h"

enum { Wheel = 1 << EmitWheel, Minutes = 10 };

void look_at_wheel(const Options *o)
{
    if (o->output && ends_in(o->output, ".whl"))
        fail(ExitUsage,
             "-o %s: pip reads the name of a wheel, so attnc gives "
             "it: --emit=wheel -o FOLDER",
             quote(o->output));
    if (o->kinds & Wheel
        && (o->kinds != Wheel || o->parts || o->freestanding || o->save_temps
            || is_stream(o->output)))
        fail(ExitUsage, "--emit=wheel packs a complete model, and -o names the "
                        "folder for it: leave out other kinds, --parts, "
                        "--freestanding and --save-temps");
}

static bool write_script(Arena *a, const char *folder, const char *name,
                         Fault *why)
{
    size_t n;
    const char *text = embedded_text(name, &n);
    return write_file(arena_printf(a, "%s/%s", folder, name), text, n, why);
}

/* Runs the script, or prints the command if `prints` is set. Sets *name to the
 * file name of the wheel, which is in the folder. */
static bool pack(Arena *a, const char *python, const char *folder, bool prints,
                 const char **name, Fault *why)
{
    static const char script[] = "_model_wheel.py";
    const char *const argv[] = {
        python, "-B",          arena_printf(a, "%s/%s", folder, script),
        folder, ATTNC_VERSION, NULL
    };
    SpawnJob job = { .argv = argv };
    if (prints) {
        fprintf(console_log(), "%s\n", cc_words(a, argv, true));
        return true;
    }
    if (!write_script(a, folder, script, why)
        || !write_script(a, folder, "_ids.py", why))
        return false;
    spawn_all(&job, 1,
              &(SpawnLimits){ .at_once = 1,
                              .seconds = Minutes * 60,
                              .out_fd = -1,
                              .as_user = true });
    if (!job.ok)
        return fault(why, job.why.code, "%s: %s", job.why.text,
                     last_line(a, job.messages.tail));
    *name = last_line(a, job.messages.out);
    return path_exists(arena_printf(a, "%s/%s", folder, *name))
        || fault(why, ExitInput, "--emit=wheel: %s", *name);
}

/* Copies the wheel to the folder of -o, which it makes if necessary. Returns
 * its path, or NULL. */
static const char *deliver(Arena *a, const char *from, const char *name,
                           const char *folder, Fault *why)
{
    File f;
    const char *path = arena_printf(a, "%s/%s", folder, name);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        fault(why, ExitIO, "%s: no folder can be made: %s", folder,
              strerror(errno));
        return NULL;
    }
    if (!file_map_for(UseOwn, &f, arena_printf(a, "%s/%s", from, name), why))
        return NULL;
    const bool written = write_file(path, f.at, f.size, why);
    file_close(&f);
    return written ? path : NULL;
}

static void report_wheel(Arena *a, const char *path)
{
    struct stat s;
    const double bytes = stat(path, &s) == 0 ? (double)s.st_size : 0.0;
    fprintf(console_log(), "wrote %s  %s\nuse:   pip install %s\n",
            plain_text(a, path), bytes_text(a, bytes, false, 2),
            plain_text(a, path));
}

typedef struct {
    Arena *arena;
    const Options *o;
    CompileModel *compile;
    const char *python;
    TempFolder temp;
    bool reports;
} WheelWork;

static void compile_and_pack(void *with)
{
    const WheelWork *w = with;
    Arena *a = w->arena;
    Options files = *w->o;
    const char *folder = w->o->output ? w->o->output : ".";
    const char *name = NULL, *path = NULL;
    Fault why;
    files.kinds = 1 << EmitC | 1 << EmitSo;
    files.embed = true;
    files.output = arena_printf(a, "%s/model.c", w->temp.path);
    const int code = w->compile(&files, false);
    if (code)
        end_attempt(code);
    const bool prints = w->o->print_commands;
    const bool packed = pack(a, w->python, w->temp.path, prints, &name, &why);
    if (packed && prints)
        return;
    if (packed)
        path = deliver(a, w->temp.path, name, folder, &why);
    if (!path)
        end_attempt(report_fault(&why));
    if (w->reports && !w->o->quiet)
        report_wheel(a, path);
}

int compile_wheel(const Options *o, bool reports, CompileModel *compile)
{
    Arena *a = arena_new();
    WheelWork w = { a, o, compile, find_program(a, "python3"),
                    .reports = reports };
    Fault why;
    int code = ExitDone;
    if (!w.python)
        code = report_fault(&(Fault){ ExitBackend,
                                      "--emit=wheel needs python3, which packs "
                                      "the wheel: there is none in PATH" });
    else if (!temp_open(&w.temp, NULL)) {
        fault(&why, ExitIO, "no folder can be made in %s: %s", temp_root(),
              strerror(errno));
        code = report_fault(&why);
    } else {
        interrupt_watch(); /* an interrupt must not leave the folder behind */
        code = attempt(compile_and_pack, &w);
        temp_close(&w.temp);
        interrupt_end();
    }
    arena_free(a);
    return code;
}
