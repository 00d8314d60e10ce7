/* replay.c: runs a fuzz target without libFuzzer, on each file of the
 * directories given, or of its corpus, and prints TAP. The output of the code
 * under test is discarded. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

typedef struct {
    uint8_t *at;
    size_t n;
} Input;
static struct {
    Input *at;
    size_t n;
} inputs;

static void take(FILE *f)
{
    Input *to = &inputs.at[inputs.n];
    fseek(f, 0, SEEK_END);
    to->n = (size_t)ftell(f);
    to->at = malloc(to->n + !to->n); /* no byte beyond the end */
    rewind(f);
    inputs.n += fread(to->at, 1, to->n, f) == to->n;
    fclose(f);
}

/* Reads all files before running the first, which may change the folder. */
static void take_folder(const char *folder)
{
    struct dirent **entry;
    const int n = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        FILE *f = *entry[i]->d_name == '.' ? NULL : fopen(path, "rb");
        inputs.at = realloc(inputs.at, (inputs.n + 1) * sizeof *inputs.at);
        if (f)
            take(f);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

int main(int argc, char **argv)
{
    char own[256];
    const char *name = program_invocation_short_name;
    snprintf(own, sizeof own, "tests/fuzz/corpus/%.*s", (int)strcspn(name, "_"),
             name);
    for (int i = 1; i < argc; i++)
        take_folder(argv[i]);
    if (argc == 1)
        take_folder(own);

    FILE *tap = fdopen(dup(STDOUT_FILENO), "w");
    if (!tap || !freopen("/dev/null", "w", stdout))
        return 1;
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize(&argc, &argv);
    for (size_t i = 0; i < inputs.n; i++) {
        LLVMFuzzerTestOneInput(inputs.at[i].at, inputs.at[i].n);
        free(inputs.at[i].at);
    }
    fprintf(tap, "%sok 1 - %s: %zu inputs\n1..1\n", inputs.n ? "" : "not ",
            name, inputs.n);
    fclose(tap);
    free(inputs.at);
    return inputs.n == 0;
}
