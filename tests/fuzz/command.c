/* command.c: fuzzes the command line, in this process. No other program is
 * started, and no file is written outside a scratch directory, because no word
 * contains a `/`.
 *
 * An input has the contents of stdin, then up to two commands, one word per
 * line, which run in turn in the same directory. The files of tests/fuzz/files
 * are there. `verify`, `bench` and `tune` end after reading their options. */
#define _GNU_SOURCE /* memfd_create */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spec/fields/fields.h"
#include "machine/machine.h"
#include "cli/options/options.h"
#include "fuzz.h"

enum { MostWords = 24, MostFiles = 16 };

int attnc_main(int argc, char **argv); /* main.c's */
int __wrap_cmd_verify(const Options *o);
PrintReport __wrap_bench_report;
PrintReport __wrap_tune_report;
PrintReport __wrap_sweep_report;
void __wrap_machine_measure(Machine *m, const Target *t, int threads,
                            double seconds);

int __wrap_cmd_verify(const Options *o)
{
    return o->model.spec ? ExitDone : ExitUsage;
}

int __wrap_bench_report(const Options *o, FILE *out)
{
    (void)out;
    return o->model.spec ? ExitDone : ExitUsage;
}

int __wrap_sweep_report(const Options *o, FILE *out)
{
    (void)out;
    (void)o;
    return ExitDone;
}

int __wrap_tune_report(const Options *o, FILE *out)
{
    (void)out;
    return o->model.spec ? ExitDone : ExitUsage;
}

/* Replaces a measurement, which would need time and memory. */
void __wrap_machine_measure(Machine *m, const Target *t, int threads,
                            double seconds)
{
    (void)t;
    (void)seconds;
    machine_find(m);
    m->rates[0] = (Rates){
        threads, 1e11, 4e11, 1e11, { 4e11, 2e11, 1e11, 2e10 }
    };
    m->counts = 1;
}

/* ---- files ---- */
static char folder[] = "/tmp/attnc_fuzz_XXXXXX";
static struct {
    char *name;
    void *at;
    size_t n;
} given[MostFiles];
static int given_n;
static char *word[512]; /* from the dictionary: options, names, values */
static uint32_t words;

static void take_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "tests/fuzz/files/%s", name);
    FILE *f = fopen(path, "rb");
    if (!f || given_n == MostFiles)
        fuzz_wrong("%s is not read", path);
    void *at = malloc(1 << 16);
    given[given_n].name = strdup(name);
    given[given_n].n = fread(at, 1, 1 << 16, f);
    given[given_n++].at = at;
    fclose(f);
}

/* Empties the folder, by its own name, so that nothing else is ever removed. */
static void empty_folder(void)
{
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")
            && unlinkat(dirfd(d), e->d_name, 0) != 0)
            unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
    if (d)
        closedir(d);
}

static void remove_folder(void)
{
    empty_folder();
    rmdir(folder);
}

/* ---- dictionary ---- */
static void add_word(const char *text, size_t n)
{
    if (words < sizeof word / sizeof *word)
        word[words++] = strndup(text, n);
}

/* Options of all commands; those that take a value end in "=". */
static void add_options(const Command *c)
{
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        char text[64];
        const int n = snprintf(text, sizeof text, "%s%s", row->name,
                               row->takes && row->name[1] == '-' ? "=" : "");
        if ((row->commands & c->bit) && row->name[0] == '-')
            add_word(text, (size_t)n);
    }
}

static void make_dictionary(void)
{
    /* clang-format off */
    static const char *const some[] = {
        "1", "0", "2", "-1", "7", "4294967296", "0.5", "1e9", "nan", "",
        "text", "json", "markdown", "dot", "svg", "csv", "table", "built",
        "all", "final", "c", "obj", "exe", "c,so", "native", "generic",
        "x86-64-v3", "jit", "clang", "6x16", "fold-scale", "fuse-attention",
        "dead-code", "-", "--", "--help", "help", "version", "out", "o.c",
        "o.json", "o.svg", "o.safetensors", "state", "a b", "abc", "3 4 5",
        "3", "d_model=16", "search.rule=recorded", "dtype=bf16", "h=",
        "search.beam=3", "dtype=int4", "arithmetic=int8", "0.5%",
        "encoder.output", "scores", "show", "merge",
        "prune", "export", "explain", "matmul", "C", "encoder.0.self_attn"
    };
    /* clang-format on */
    for (int i = 0; i < n_commands; i++) {
        add_word(commands[i].name, strlen(commands[i].name));
        add_options(&commands[i]);
    }
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        add_word(some[i], strlen(some[i]));
    for (int i = 0; i < given_n; i++)
        for (int twice = 0; twice < 4; twice++)
            add_word(given[i].name, strlen(given[i].name));
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct dirent **entry;
    const int n = scandir("tests/fuzz/files", &entry, NULL, alphasort);
    (void)argc, (void)argv;
    for (int i = 0; i < n; i++) {
        if (*entry[i]->d_name != '.')
            take_file(entry[i]->d_name);
        free(entry[i]);
    }
    if (n > 0)
        free(entry);
    make_dictionary();
    if (!mkdtemp(folder) || setenv("XDG_CACHE_HOME", folder, 1)
        || setenv("TMPDIR", folder, 1) || setenv("ATTNC_BACKEND", "jit", 1)
        || dup2(memfd_create("stdin", 0), STDIN_FILENO) < 0)
        fuzz_wrong("no scratch folder");
    atexit(remove_folder);
    return 0;
}

/* ---- run ---- */
typedef struct {
    int n;
    char *at[MostWords + 2];
} WordList;

/* Splits a command into words; none leads out of the folder. */
static void cut(WordList *to, FuzzPart part)
{
    char *text = strndup((const char *)part.at, part.n), *at = text;
    to->n = 0;
    to->at[to->n++] = strdup("attnc");
    while (*at && to->n < MostWords) {
        const size_t n = strcspn(at, "\n");
        char *copy = strndup(at, n); /* its own memory, so that reads beyond
                                        its end are detected */
        for (char *c = copy; *c; c++)
            *c = *c == '/' ? '_' : *c;
        to->at[to->n++] = copy;
        at += n + (at[n] == '\n');
    }
    to->at[to->n] = NULL;
    free(text);
}

static int run(void *with)
{
    WordList *w = with;
    return attnc_main(w->n, w->at);
}

static void set_stdin(FuzzPart part)
{
    if (ftruncate(STDIN_FILENO, 0) != 0
        || pwrite(STDIN_FILENO, part.at, part.n, 0) != (ssize_t)part.n)
        fuzz_wrong("no stdin");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FuzzPart part[8];
    const int n = fuzz_parts(part, data, size);
    if (chdir(folder) != 0)
        fuzz_wrong("no scratch folder");
    fuzz_limits = (struct FuzzLimits){ 16 << 20, 4, 64 };
    fuzz_files_clear();
    for (int i = 0; i < given_n; i++)
        fuzz_file(given[i].name, given[i].at, given[i].n);
    set_stdin(part[0]);
    for (int i = 1; i < n && i < 3; i++) {
        WordList w;
        cut(&w, part[i]);
        lseek(STDIN_FILENO, 0, SEEK_SET);
        if (w.n < 2 || strcmp(w.at[1], "watch") != 0) /* it waits for ever */
            fuzz_run(run, &w);
        for (int k = 0; k < w.n; k++)
            free(w.at[k]);
    }
    empty_folder();
    return 0;
}

/* ---- mutator ---- */
static size_t put_word(uint8_t *data, size_t size, size_t most, size_t from,
                       size_t to, FuzzDice *d)
{
    char text[256];
    const char *a = word[fuzz_dice(d, words)];
    const char *b = a[0] && a[strlen(a) - 1] == '=' ? word[fuzz_dice(d, words)]
                                                    : "";
    const char *set = fuzz_dice(d, 8)
                        ? ""
                        : fields[fuzz_dice(d, (uint32_t)n_fields)].key;
    if (*set)
        snprintf(text, sizeof text, "--set\n%s=%s\n", set, a);
    else
        snprintf(text, sizeof text, "%s%s\n", a, b);
    const size_t n = strlen(text);
    if (size - (to - from) + n > most)
        return size;
    memmove(data + from + n, data + to, size - to);
    memcpy(data + from, text, n);
    return size - (to - from) + n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most,
                               unsigned seed)
{
    FuzzDice d = { seed };
    const uint32_t what = fuzz_dice(&d, 8);
    if (size == 0 || what == 0)
        return LLVMFuzzerMutate(data, size, most);
    size_t from = fuzz_dice(&d, (uint32_t)size), to;
    while (from > 0 && data[from - 1] != '\n')
        from--;
    to = from;
    while (to < size && data[to++] != '\n')
        continue;
    if (what == 1) {
        memmove(data + from, data + to, size - to);
        return size - (to - from);
    }
    if (what == 2)
        return fuzz_change(data, size, most, from, to - from);
    return put_word(data, size, most, what < 5 ? to : from, to, &d);
}
