/* library_host.c: a program that loads copies of libattnc, each named by an
 * argument after the first, in the locale of its environment; with GLOBAL in
 * it, their symbols are for all that is loaded later. It opens a model with
 * each before it calls one, and prints what they answer; FOLDER/N.c is the C of
 * the Nth. The first line has its own way to write one half, as has each
 * message. */
#include "library/attnc.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Most = 4 };

static struct {
    int (*open)(attnc_model **, const char *, const char *, const char *const *,
                attnc_tell *, void *);
    void (*close)(attnc_model *);
    int (*compile)(const char *, const char *, const char *const *,
                   attnc_tell *, void *);
    int (*report)(char **, const char *, const char *, const char *,
                  const char *const *, attnc_tell *, void *);
    void (*free)(void *);
    int (*handle_open)(attnc_handle **, attnc_model *,
                       const struct attnc_limits *);
    void (*handle_close)(attnc_handle *);
    int64_t (*generate)(attnc_handle *, const char *, int64_t,
                        const char *const *, attnc_take_text *, void *);
    attnc_model *m;
    attnc_handle *h;
} at[Most];

static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(1);
    }
    memcpy(function, &address, sizeof address);
}

static void load(int i, const char *path)
{
    const char *(*version)(void);
    void *library = dlopen(path,
                           RTLD_NOW
                               | (getenv("GLOBAL") ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(library, "attnc_open", &at[i].open);
    find(library, "attnc_close", &at[i].close);
    find(library, "attnc_compile", &at[i].compile);
    find(library, "attnc_report", &at[i].report);
    find(library, "attnc_free", &at[i].free);
    find(library, "attnc_handle_open", &at[i].handle_open);
    find(library, "attnc_handle_close", &at[i].handle_close);
    find(library, "attnc_generate", &at[i].generate);
    find(library, "attnc_version", &version);
    printf("version: %s\n", version());
}

static void tell(void *user, const struct attnc_message *message)
{
    (void)user;
    if (message->severity == ATTNC_SEVERITY_ERROR)
        printf("%g: %s\n", 0.5, message->text);
}

static int print(void *user, const char *text, int64_t bytes)
{
    (void)user;
    return fwrite(text, 1, (size_t)bytes, stdout) < (size_t)bytes;
}

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }

static void use(int i, const char *folder)
{
    static const char spec[] =
        "attnc: 1\nname: host\nkind: encoder\nd_model: 16\nh: 2\n"
        "d_ff: 32\nN: 1\nmax_len: 8\nnorm: {eps: 0.0625}\n"
        "vocab: {size: 10}\n";
    char c[500], *plan;
    snprintf(c, sizeof c, "%s/%d.c", folder, i);
    printf("compile: %d\n",
           at[i].compile("host.yaml", spec,
                         WORDS("-o", c, "--march=generic", "--no-records"),
                         tell, NULL));
    if (at[i].report(&plan, "plan", "host.yaml", spec,
                     WORDS("--format=json", "--no-records"), tell, NULL)
        == ATTNC_DONE)
        printf("%s\n", plan);
    at[i].free(plan);
    at[i].open(&at[i].m, "models/g2p-en/g2p-en.yaml", NULL,
               WORDS("--threads=x"), tell, NULL);
}

int main(int argc, char **argv)
{
    const int n = argc - 2 < Most ? argc - 2 : Most;
    setlocale(LC_ALL, "");
    printf("%g\n", 0.5);
    for (int i = 0; i < n; i++) {
        load(i, argv[2 + i]);
        use(i, argv[1]);
        if (at[i].open(&at[i].m, "models/g2p-en/g2p-en.yaml", NULL,
                       WORDS("--threads=1"), tell, NULL)
                != ATTNC_DONE
            || at[i].handle_open(&at[i].h, at[i].m, NULL) != ATTNC_DONE)
            return 1;
    }
    for (int i = 0; i < n; i++) {
        const int64_t tokens = at[i].generate(
            at[i].h, "hello", -1,
            WORDS("--beam=1", "--temperature=0.25", "--seed=1"), print, NULL);
        printf(" (%lld)\n", (long long)tokens);
    }
    for (int i = 0; i < n; i++) {
        at[i].handle_close(at[i].h);
        at[i].close(at[i].m);
    }
    return 0;
}
