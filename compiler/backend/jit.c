/* jit.c: compiles emitted text with libtcc. libtcc keeps its state in static
 * variables, prints, and calls exit() if memory runs out. So each compilation
 * runs in a child process of its own. If libtcc crashes or exits, this is an
 * error value in attnc and nothing leaks; several threads can compile at once.
 * The child writes the code to a mapping that both processes share, at the
 * address where attnc will run it; the kernels that the code calls have the
 * same addresses in both. When the child has ended, private pages that are
 * read-execute replace the mapping. Emitted text can call only the symbols
 * added here: there is no libc and there are no headers. A model's skeleton
 * needs about 2 MB. */
#define _GNU_SOURCE /* mkostemps, MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <libtcc.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/jit_names.h"

enum {
    BeforeCode = 2048,    /* bytes for the answer; a multiple of any code
                           * alignment */
    LeastRoom = 1 << 20,  /* address space for the answer and the code, */
    RoomPerByte = 8,      /* and more for each byte of text, although its code
                           * takes about half a byte */
    MostSeconds = 10 * 60 /* time limit, as for a C compiler */
};

/* The child's answer. It lies in front of the code, so UBSan can read in front
 * of the first function to check its type. */
typedef struct {
    bool done;
    void *entry;     /* the requested function */
    size_t bytes;    /* of the answer and the code */
    char text[1024]; /* libtcc's first message */
} Answer;
_Static_assert(sizeof(Answer) <= BeforeCode, "the code follows the answer");

typedef struct { /* a compilation */
    const char *text;
    const char *symbol; /* the requested function */
    const Target *target;
    const char *object; /* path of an object file with line numbers, to write
                         * instead of code; NULL: code */
    Answer *answer;     /* mapping of `room` bytes */
    size_t room;
} Job;

static const char no_memory[] = "out of memory in libtcc: allow this process "
                                "more, or use --backend=clang";

/* ---- in the child ---- */

/* Runs first at exit, so that nothing of the parent's is flushed or removed.
 * Only libtcc calls exit() in the child, because memory ran out. */
static void end_early(void)
{
    _exit(ExitResource);
}

/* Stores the first message; later ones are its consequences. */
static void on_message(void *answer, const char *text)
{
    Answer *to = answer;
    if (strstr(text, "memory full"))
        end_early();
    if (!*to->text)
        snprintf(to->text, sizeof to->text, "%s", text);
}

static void add_symbols(TCCState *s, const Target *target)
{
    tcc_add_symbol(s, "memcpy", (const void *)(uintptr_t)memcpy);
    tcc_add_symbol(s, "memset", (const void *)(uintptr_t)memset);
    tcc_add_symbol(s, "sqrtf", (const void *)(uintptr_t)sqrtf);
    tcc_add_symbol(s, "fmaf", (const void *)(uintptr_t)fmaf);
    const char *name;
    for (int i = 0; (name = kernel_name(target, i)) != NULL; i++)
        tcc_add_symbol(s, name, kernel_find(target, name));
}

static void make_code(TCCState *s, const Job *j)
{
    Answer *to = j->answer;
    const int need = tcc_relocate(s, NULL);
    if (need <= 0)
        return;
    to->bytes = BeforeCode + (size_t)need;
    if (to->bytes > j->room)
        on_message(to, "its code is much longer than the text");
    else if (tcc_relocate(s, (char *)to + BeforeCode) == 0
             && !(to->entry = tcc_get_symbol(s, j->symbol)))
        on_message(to, "it has not the function that is asked for");
    to->done = to->entry != NULL;
}

static void compile(const Job *j)
{
    Answer *to = j->answer;
    TCCState *s = tcc_new();
    if (!s)
        return;
    tcc_set_error_func(s, to, on_message);
    tcc_set_options(s, j->object ? "-nostdlib -nostdinc -g"
                                 : "-nostdlib -nostdinc");
    tcc_set_output_type(s, j->object ? TCC_OUTPUT_OBJ : TCC_OUTPUT_MEMORY);
    if (!j->object)
        add_symbols(s, j->target);
    /* warnings, e.g. of an undeclared function, count as errors */
    if (tcc_compile_string(s, j->text) != 0 || *to->text)
        on_message(to, "an error without a message");
    else if (j->object)
        to->done = tcc_output_file(s, j->object) == 0;
    else
        make_code(s, j);
}

/* If libtcc has no memory for its state, it prints a message and flushes
 * stdout, which holds a copy of the parent's unwritten text. Both descriptors
 * are closed first, because the null device may need one of them. */
static void close_output(void)
{
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
}

/* The parent has blocked all signals, so none of its handlers runs here. Only
 * the alarm is let through. It ends the child if a lock that another thread of
 * the parent held stays locked. */
static _Noreturn void run_child(const Job *j, pid_t parent)
{
    sigset_t late;
    interrupt_child(parent);
    signal(SIGALRM, SIG_DFL);
    sigemptyset(&late);
    sigaddset(&late, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &late, NULL);
    alarm(MostSeconds);
    close_output();
    if (atexit(end_early) == 0)
        compile(j);
    _exit(j->answer->done || *j->answer->text ? ExitDone : ExitResource);
}

/* ---- in the parent ---- */

/* Returns false on systems that forbid pages that are both writable and
 * executable (SELinux execmem, MemoryDenyWriteExecute): libtcc cannot work
 * there. */
static bool code_allowed(Fault *why)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool ok = at != MAP_FAILED
           && mprotect(at, page, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
    int error = errno;
    if (at != MAP_FAILED)
        munmap(at, page);
    if (!ok && error == ENOMEM)
        return fault(why, ExitResource, "%s", no_memory);
    return ok
        || fault(why, ExitBackend,
                 "this system refuses code made at "
                 "run time (%s): use --backend=clang",
                 strerror(error));
}

/* Writes the text to a new file in the temporary directory, and leaves it
 * there. */
static bool keep_text(char path[256], const char *text)
{
    const char *dir = temp_root();
    snprintf(path, 256, "%s/attnc-jit-XXXXXX.c",
             strlen(dir) < 200 ? dir : "/tmp");
    int fd = mkostemps(path, 2, O_CLOEXEC);
    size_t n = strlen(text);
    bool kept = fd >= 0 && write(fd, text, n) == (ssize_t)n;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !kept)
        unlink(path);
    return kept;
}

/* Reports that libtcc rejected the text. That is a bug in attnc, so the text is
 * stored for a report. */
static bool refused(const Job *j, Fault *why)
{
    char path[256];
    const bool kept = keep_text(path, j->text);
    return fault(why, ExitInternal,
                 "internal error: libtcc does not take the "
                 "emitted text: %s; it is kept in %s; --backend=clang works "
                 "without libtcc",
                 j->answer->text, kept ? path : "no file");
}

/* Returns true if the child has done its work. `status` is as of waitpid(). */
static bool judge_child(const Job *j, int status, Fault *why)
{
    if (WIFSIGNALED(status))
        return fault(why, ExitBackend,
                     "libtcc was killed by signal %d (%s): allow this process "
                     "more memory, or use --backend=clang",
                     WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == ExitResource)
        return fault(why, ExitResource, "%s", no_memory);
    if (j->answer->done)
        return true;
    if (!*j->answer->text)
        return fault(why, ExitBackend,
                     "libtcc ended early: use --backend=clang");
    if (j->object)
        return fault(why, ExitBackend, "libtcc makes no object file: %s",
                     j->answer->text);
    return refused(j, why);
}

/* Runs the job in a child. If the caller's process ignores SIGCHLD, there is no
 * status, but the answer shows the success. */
static bool run(const Job *j, Fault *why)
{
    int status = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        run_child(j, parent);
    const int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return fault(why, ExitResource, "cannot start a process for libtcc: %s",
                     strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return judge_child(j, status, why);
}

static size_t whole_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static bool open_answer(Job *j, size_t room, Fault *why)
{
    j->room = whole_pages(room);
    j->answer = mmap(NULL, j->room, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return j->answer != MAP_FAILED || fault(why, ExitResource, "%s", no_memory);
}

/* Replaces the shared pages of the answer by private ones, because debuggers
 * cannot set breakpoints in shared code. */
static bool take_code(JitCode *to, const Job *j, Fault *why)
{
    const JitCode code = { .code = j->answer,
                           .bytes = whole_pages(j->answer->bytes),
                           .entry = j->answer->entry };
    void *at = mmap(NULL, code.bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return fault(why, ExitResource, "%s", no_memory);
    memcpy(at, code.code, j->answer->bytes);
    if (mprotect(at, code.bytes, PROT_READ | PROT_EXEC) == 0
        && mremap(at, code.bytes, code.bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                  code.code)
               == code.code) {
        *to = code;
        return true;
    }
    munmap(at, code.bytes);
    return fault(why, ExitResource, "%s", no_memory);
}

bool jit_function(JitCode *j, void **at, const char *text, const char *symbol,
                  const Target *target, Fault *why)
{
    Job job = { .text = text, .symbol = symbol, .target = target };
    *j = (JitCode){ 0 };
    *at = NULL;
    if (!code_allowed(why)
        || !open_answer(&job, LeastRoom + RoomPerByte * strlen(text), why))
        return false;
    const bool done = run(&job, why) && take_code(j, &job, why);
    munmap((char *)job.answer + j->bytes, job.room - j->bytes);
    *at = j->entry;
    return done;
}

bool jit_load(JitCode *j, const struct attn_model **model, const char *text,
              const char *symbol, const Target *target, Fault *why)
{
    const struct attn_model *(*get)(void);
    void *at;
    if (!jit_function(j, &at, text, symbol, target, why))
        return false;
    memcpy(&get, &at, sizeof get);
    *model = get();
    return true;
}

void jit_unload(JitCode *j)
{
    jit_forget_names(j->names);
    if (j->code)
        munmap(j->code, j->bytes);
    *j = (JitCode){ 0 };
}

/* ---- names ---- */
static const char no_folder[] = "%s: cannot write: set TMPDIR";

/* Compiles the text to an object file with line numbers, and reads it. */
static bool read_object(File *f, const char *text, Fault *why)
{
    TempFolder temp;
    char object[sizeof temp.path + sizeof "/jit.o"];
    Job job = { .text = text, .object = object };
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, no_folder, temp_root());
    snprintf(object, sizeof object, "%s/jit.o", temp.path);
    bool done = open_answer(&job, sizeof *job.answer, why);
    if (done) {
        done = run(&job, why)
            && file_read_for(UseOwn, f, object, SIZE_MAX - 1, why);
        munmap(job.answer, job.room);
    }
    temp_close(&temp);
    return done;
}

static void close_object(void *file)
{
    file_close(file);
}

/* Publishes the functions and their lines. The text is stored in the file
 * `path`. */
static bool publish_lines(JitCode *j, const char *text, const char *path,
                          const char *symbol, Fault *why)
{
    Arena *a = arena_new();
    File *f = arena_alloc(a, sizeof *f);
    bool known = read_object(f, arena_printf(a, "# 1 \"%s\"\n%s", path, text),
                             why);
    if (known) {
        arena_owns(a, f, close_object);
        known = jit_name(&j->names, f, path, symbol, j->entry, why);
    }
    arena_free(a);
    return known;
}

static bool publish(JitCode *j, const char *text, const char *symbol,
                    Fault *why)
{
    char path[256];
    if (!keep_text(path, text))
        return fault(why, ExitIO, no_folder, temp_root());
    if (!publish_lines(j, text, path, symbol, why)) {
        unlink(path);
        return false;
    }
    note_once("functions of libtcc's code are in /tmp/perf-%ld.map, their text "
              "in %s",
              (long)getpid(), path);
    return true;
}

bool jit_load_named(JitCode *j, const struct attn_model **model,
                    const char *text, const char *symbol, const Target *target,
                    Fault *why)
{
    if (!jit_load(j, model, text, symbol, target, why))
        return false;
    if (publish(j, text, symbol, why))
        return true;
    jit_unload(j);
    return false;
}
