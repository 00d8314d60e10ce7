/* jit.c: compiles emitted text in this process with libtcc. Four properties of
 * libtcc determine this file. (1) Its own relocation leaves heap pages writable
 * and executable, so the code goes to a mapping made here, which ends up
 * read-execute. (2) libtcc exits the process if mprotect is refused, so that is
 * tried first. (3) A lock serialises its compilations, but the first use of
 * that lock has a race, so there is one warm-up compilation. (4) Out of memory,
 * libtcc prints "memory full" and exits with 1, or continues with a half-made
 * result; here the process ends with ExitResource. Emitted text can call only
 * the symbols added here: there is no libc and there are no headers. A model's
 * skeleton needs about 2 MB. */
#define _GNU_SOURCE /* mkostemps, MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <libtcc.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/jit_names.h"

enum {
    BeforeCode = 64
}; /* bytes before the code; a multiple of any code
    * alignment */

typedef struct {
    char text[1024];
} TccMessage;

static const char no_memory[] = "out of memory in libtcc: allow this process "
                                "more, or use --backend=clang";

/* global, because libtcc too keeps its state in static variables, and because
 * functions for atexit() have no argument */
static struct {
    pthread_once_t warm;
    atomic_bool inside; /* a libtcc call is running */
} libtcc = { .warm = PTHREAD_ONCE_INIT };

/* Runs at exit. libtcc calls exit() if malloc fails. (It also does if mprotect
 * fails, but that was tried before.) attnc itself never exits while libtcc
 * works, so such an exit means that memory ran out. */
static void exit_inside(void)
{
    if (!atomic_load(&libtcc.inside))
        return;
    error_at((Pos){ 0 }, "%s", no_memory);
    fflush(NULL);
    _exit(ExitResource);
}

/* Stores the first message; later ones are its consequences. */
static void on_message(void *user, const char *text)
{
    TccMessage *message = user;
    if (strstr(text, "memory full")) {
        atomic_store(&libtcc.inside, false);
        fail(ExitResource, "%s", no_memory);
    }
    if (!*message->text)
        snprintf(message->text, sizeof message->text, "%s", text);
}

static TCCState *new_state(TccMessage *message)
{
    TCCState *s = tcc_new();
    if (!s)
        return NULL;
    tcc_set_error_func(s, message, on_message);
    tcc_set_options(s, "-nostdlib -nostdinc");
    tcc_set_output_type(s, TCC_OUTPUT_MEMORY);
    return s;
}

static void warm_up(void)
{
    TccMessage message = { "" };
    atexit(exit_inside);
    TCCState *s = new_state(&message);
    if (s) {
        tcc_compile_string(s, "int warm;");
        tcc_delete(s);
    }
}

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
static bool refused(const char *text, const TccMessage *message, Fault *why)
{
    char path[256];
    const bool kept = keep_text(path, text);
    return fault(why, ExitInternal,
                 "internal error: libtcc does not take the "
                 "emitted text: %s; it is kept in %s; --backend=clang works "
                 "without libtcc",
                 message->text, kept ? path : "no file");
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

/* Copies the code to its pages, which are both writable and executable only
 * within this function. Some bytes before the code stay free, because UBSan
 * reads in front of a function to check its type. */
static bool relocate(TCCState *s, JitCode *j)
{
    const int need = tcc_relocate(s, NULL);
    if (need <= 0)
        return false;
    const size_t bytes = (size_t)need + BeforeCode;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    *j = (JitCode){ .code = at, .bytes = bytes };
    if (tcc_relocate(s, (char *)at + BeforeCode) == 0
        && mprotect(at, bytes, PROT_READ | PROT_EXEC) == 0)
        return true;
    jit_unload(j);
    return false;
}

/* Returns the address of the function, or NULL with a message in *message,
 * which is empty if memory ran out. */
static void *compile(JitCode *j, const char *text, const char *symbol,
                     const Target *target, TccMessage *message)
{
    void *at = NULL;
    TCCState *s = new_state(message);
    if (!s)
        return NULL;
    add_symbols(s, target);
    /* warnings, e.g. of an undeclared function, count as errors */
    if (tcc_compile_string(s, text) != 0 || *message->text)
        on_message(message, "an error without a message");
    else if (relocate(s, j) && !(at = tcc_get_symbol(s, symbol)))
        on_message(message, "it has not the function that is asked for");
    tcc_delete(s);
    return at;
}

bool jit_function(JitCode *j, void **at, const char *text, const char *symbol,
                  const Target *target, Fault *why)
{
    TccMessage message = { "" };
    *j = (JitCode){ 0 };
    *at = NULL;
    if (!code_allowed(why))
        return false;
    atomic_store(&libtcc.inside, true);
    pthread_once(&libtcc.warm, warm_up);
    *at = compile(j, text, symbol, target, &message);
    j->entry = *at;
    atomic_store(&libtcc.inside, false);
    if (*at)
        return true;
    jit_unload(j);
    if (!*message.text)
        return fault(why, ExitResource, "%s", no_memory);
    return refused(text, &message, why);
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

/* Compiles the text to an object file with line numbers. */
static bool compile_object(const char *text, const char *path)
{
    TccMessage message = { "" };
    TCCState *s = tcc_new();
    if (!s)
        return false;
    tcc_set_error_func(s, &message, on_message);
    tcc_set_options(s, "-nostdlib -nostdinc -g");
    tcc_set_output_type(s, TCC_OUTPUT_OBJ);
    const bool ok = tcc_compile_string(s, text) == 0
                 && tcc_output_file(s, path) == 0;
    tcc_delete(s);
    return ok;
}

/* Publishes the functions and their lines. The text is stored in the file
 * `path`. */
static bool publish_lines(JitCode *j, const char *text, const char *path,
                          const char *symbol, Fault *why)
{
    TempFolder temp;
    File f;
    if (!temp_open(&temp, NULL))
        return fault(why, ExitIO, no_folder, temp_root());
    Arena *a = arena_new();
    const char *object = arena_printf(a, "%s/jit.o", temp.path);
    atomic_store(&libtcc.inside, true);
    const bool ok = compile_object(arena_printf(a, "# 1 \"%s\"\n%s", path,
                                                text),
                                   object);
    atomic_store(&libtcc.inside, false);
    bool known = ok || fault(why, ExitBackend, "libtcc makes no object file");
    if (known
        && (known = file_read_for(UseOwn, &f, object, SIZE_MAX - 1, why))) {
        known = jit_name(&j->names, &f, path, symbol, j->entry, why);
        file_close(&f);
    }
    temp_close(&temp);
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
