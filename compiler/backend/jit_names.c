/* jit_names.c: publishes the names of functions compiled by libtcc to profilers
 * and debuggers: a perf map, and GDB's interface for JIT code. libtcc writes
 * the names of static functions only to object files. So the text is compiled a
 * second time, to an object file: the code has the same offsets, and this file
 * reads its symbols and its line numbers, which are stabs. */
#define _POSIX_C_SOURCE 200809L
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/jit_names.h"

/* GDB's interface for JIT code. GDB defines these names and layouts: it sets a
 * breakpoint in the function, then reads the descriptor from this process. */
typedef struct jit_code_entry {
    struct jit_code_entry *next_entry, *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
} CodeEntry;
struct jit_descriptor {
    uint32_t version, action_flag;
    CodeEntry *relevant_entry, *first_entry;
};
enum { GdbRegister = 1, GdbUnregister = 2 };

extern struct jit_descriptor __jit_debug_descriptor;
struct jit_descriptor __jit_debug_descriptor = { .version = 1 };
/* held while a thread changes the descriptor's list or the perf map */
static pthread_mutex_t published = PTHREAD_MUTEX_INITIALIZER;
void __jit_debug_register_code(void);
__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ---- object ---- */
typedef struct { /* an object file that libtcc wrote; it is trusted */
    const char *at;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *section, *text, *symbols, *stabs;
} Object;

typedef struct { /* an entry of the section .stab */
    uint32_t name;
    uint8_t type, other;
    uint16_t line;
    uint32_t value;
} Stab;
enum { StabFunction = 0x24, StabLine = 0x44 };

static const char *strings_of(const Object *o, const Elf64_Shdr *s)
{
    return o->at + o->section[s->sh_link].sh_offset;
}

/* Returns an aligned copy of part of the file, because libtcc does not align
 * sections. */
static const void *copy_bytes(Arena *a, const Object *o, uint64_t at,
                              size_t bytes)
{
    return memcpy(arena_alloc(a, bytes), o->at + at, bytes);
}

static bool open_object(Object *o, Arena *a, const File *f)
{
    *o = (Object){ .at = (const char *)f->at };
    if (f->size < sizeof *o->head || memcmp(o->at, ELFMAG, SELFMAG) != 0)
        return false;
    o->head = copy_bytes(a, o, 0, sizeof *o->head);
    o->section = copy_bytes(a, o, o->head->e_shoff,
                            o->head->e_shnum * sizeof *o->section);
    const char *names = o->at + o->section[o->head->e_shstrndx].sh_offset;
    for (int i = 0; i < o->head->e_shnum; i++) {
        const Elf64_Shdr *s = &o->section[i];
        if (strcmp(names + s->sh_name, ".text") == 0)
            o->text = s;
        if (strcmp(names + s->sh_name, ".stab") == 0)
            o->stabs = s;
        if (s->sh_type == SHT_SYMTAB)
            o->symbols = s;
    }
    return o->text && o->symbols;
}

static int by_place(const void *a, const void *b)
{
    const JitFunction *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void read_functions(JitNames *j, Arena *a, const Object *o)
{
    const Elf64_Sym *s = copy_bytes(a, o, o->symbols->sh_offset,
                                    o->symbols->sh_size);
    const size_t n = o->symbols->sh_size / sizeof *s;
    for (size_t i = 0; i < n; i++)
        if (ELF64_ST_TYPE(s[i].st_info) == STT_FUNC
            && s[i].st_shndx == o->text - o->section)
            vec_push(a, &j->function,
                     ((JitFunction){ arena_strdup(a, strings_of(o, o->symbols)
                                                         + s[i].st_name),
                                     s[i].st_value, s[i].st_size }));
    if (j->function.n)
        qsort(j->function.at, (size_t)j->function.n, sizeof *j->function.at,
              by_place);
    j->bytes = o->text->sh_size;
}

/* Returns the index of the function with this name of n characters, or -1. */
static int find(const JitNames *j, const char *name, size_t n)
{
    for (int i = 0; i < j->function.n; i++)
        if (strncmp(j->function.at[i].name, name, n) == 0
            && j->function.at[i].name[n] == '\0')
            return i;
    return -1;
}

/* Reads the line numbers. An entry "name:F1" begins a function; the entries
 * after it give the function's lines, with offsets from its start. */
static void read_lines(JitNames *j, Arena *a, const Object *o)
{
    if (!o->stabs)
        return;
    const Stab *s = copy_bytes(a, o, o->stabs->sh_offset, o->stabs->sh_size);
    const size_t n = o->stabs->sh_size / sizeof *s;
    int function = -1;
    for (size_t i = 0; i < n; i++) {
        const char *name = strings_of(o, o->stabs) + s[i].name;
        if (s[i].type == StabFunction)
            function = find(j, name, strcspn(name, ":"));
        else if (s[i].type == StabLine && function >= 0)
            vec_push(a, &j->line,
                     ((JitLine){ j->function.at[function].from + s[i].value,
                                 s[i].line, function }));
    }
}

/* Returns true if each function begins with the same bytes as in the object
 * file. Later bytes may differ in the targets of calls. */
static bool same_code(const Object *o, const JitNames *j)
{
    enum { Begin = 4 };
    for (int i = 0; i < j->function.n; i++) {
        const JitFunction *f = &j->function.at[i];
        if (f->size >= Begin
            && memcmp(o->at + o->text->sh_offset + f->from, j->code + f->from,
                      Begin)
                   != 0)
            return false;
    }
    return true;
}

/* ---- perf map ---- */

/* Appends lines of the form ADDRESS SIZE NAME, in hexadecimal, to the map; all
 * code of a process shares one map. perf looks for it in /tmp regardless of
 * TMPDIR. */
static bool write_map(const JitNames *j, Fault *why)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    const int fd = open(path,
                        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC,
                        0600);
    FILE *f = fd >= 0 ? fdopen(fd, "a") : NULL;
    if (!f)
        return fault(why, ExitIO, "%s: cannot write: %s", path,
                     strerror(errno));
    for (int i = 0; i < j->function.n; i++)
        fprintf(f, "%llx %llx %s\n",
                (unsigned long long)(uintptr_t)(j->code
                                                + j->function.at[i].from),
                (unsigned long long)j->function.at[i].size,
                j->function.at[i].name);
    const bool ok = !ferror(f);
    return (fclose(f) == 0 && ok)
        || fault(why, ExitIO, "%s: cannot write: %s", path, strerror(errno));
}

/* ---- gdb ---- */
static void notify_gdb(CodeEntry *e, uint32_t action)
{
    __jit_debug_descriptor.relevant_entry = e;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
}

/* Registers the object with GDB. Returns NULL if there is no memory. */
static CodeEntry *enter(const Buffer *elf)
{
    CodeEntry *e = malloc(sizeof *e);
    char *copy = malloc((size_t)elf->n);
    if (!e || !copy) {
        free(e);
        free(copy);
        return NULL;
    }
    memcpy(copy, elf->at, (size_t)elf->n);
    *e = (CodeEntry){ .next_entry = __jit_debug_descriptor.first_entry,
                      .symfile_addr = copy,
                      .symfile_size = (uint64_t)elf->n };
    if (e->next_entry)
        e->next_entry->prev_entry = e;
    __jit_debug_descriptor.first_entry = e;
    notify_gdb(e, GdbRegister);
    return e;
}

void jit_forget_names(void *entry)
{
    CodeEntry *e = entry;
    if (!e)
        return;
    pthread_mutex_lock(&published);
    if (e->prev_entry)
        e->prev_entry->next_entry = e->next_entry;
    else
        __jit_debug_descriptor.first_entry = e->next_entry;
    if (e->next_entry)
        e->next_entry->prev_entry = e->prev_entry;
    notify_gdb(e, GdbUnregister);
    pthread_mutex_unlock(&published);
    free((char *)(uintptr_t)e->symfile_addr);
    free(e);
}

/* ---- all ---- */
static bool name_functions(CodeEntry **e, Arena *a, const File *object,
                           JitNames *j, const char *symbol, const void *at,
                           Fault *why)
{
    Object o;
    int first = -1;
    if (open_object(&o, a, object)) {
        read_functions(j, a, &o);
        first = find(j, symbol, strlen(symbol));
    }
    if (first >= 0)
        j->code = (const char *)at - j->function.at[first].from;
    if (first < 0 || !same_code(&o, j))
        return fault(why, ExitInternal,
                     "libtcc's object file is not as its code");
    read_lines(j, a, &o);
    const Buffer elf = jit_elf(a, j);
    pthread_mutex_lock(&published);
    const bool mapped = write_map(j, why);
    *e = mapped ? enter(&elf) : NULL;
    pthread_mutex_unlock(&published);
    return *e || (mapped && fault(why, ExitResource, "out of memory"));
}

bool jit_name(void **entry, const File *object, const char *text,
              const char *symbol, const void *at, Fault *why)
{
    JitNames j = { .text = text };
    CodeEntry *e = NULL;
    Arena *a = arena_new();
    const bool ok = name_functions(&e, a, object, &j, symbol, at, why);
    *entry = e;
    arena_free(a);
    return ok;
}
