/* cmd_new.c: attnc new. Prints one of the specs in models/new, which are
 * embedded in attnc, as a starting point. A model's name is its file name
 * without the ending, and its description is the comment in the first line. */
#include <string.h>

#include "base/strings.h"
#include "emit/text/embedded.h"
#include "cli/options/options.h"

enum { MostSpecs = 64 };

typedef struct {
    const char *word, *text;
    size_t n;
} NewSpec;

static int find_specs(Arena *a, NewSpec to[MostSpecs])
{
    static const char folder[] = "new/", ending[] = ".yaml";
    int n = 0;
    for (int i = 0; i < n_embedded && n < MostSpecs; i++) {
        const Embedded *e = &embedded[i];
        const char *word = e->name + sizeof folder - 1;
        if (!strncmp(e->name, folder, sizeof folder - 1))
            to[n++] = (NewSpec){
                arena_strndup(a, word, strlen(word) + 1 - sizeof ending),
                e->text, e->size
            };
    }
    return n;
}

Texts new_words(Arena *a)
{
    NewSpec specs[MostSpecs];
    Texts words = { 0 };
    const int n = find_specs(a, specs);
    for (int i = 0; i < n; i++)
        vec_push(a, &words, specs[i].word);
    return words;
}

static int print_list(const void *options)
{
    Arena *a = arena_new();
    NewSpec specs[MostSpecs];
    const int n = find_specs(a, specs);
    (void)options;
    for (int i = 0; i < n; i++) {
        const char *line = specs[i].text + strspn(specs[i].text, "# ");
        printf("%-12s %.*s\n", specs[i].word, (int)strcspn(line, "\n"), line);
    }
    arena_free(a);
    return ExitDone;
}

static void refuse_word(Arena *a, const char *word, const NewSpec *specs, int n)
    __attribute__((noreturn));

static void refuse_word(Arena *a, const char *word, const NewSpec *specs, int n)
{
    const char *words[MostSpecs], *all = "";
    for (int i = 0; i < n; i++) {
        words[i] = specs[i].word;
        all = arena_printf(a, "%s%s%s", all, i ? ", " : "", words[i]);
    }
    const char *near = word ? nearest(word, words, n) : NULL;
    if (near)
        fail(ExitUsage, "attnc new '%s': did you mean %s?", quote(word), near);
    if (word)
        fail(ExitUsage, "attnc new '%s': one of %s", quote(word), all);
    fail(ExitUsage, "attnc new takes one of %s: attnc new gpt > gpt.yaml", all);
}

static int print_spec(const Options *o)
{
    Arena *a = arena_new();
    NewSpec specs[MostSpecs];
    const int n = find_specs(a, specs);
    Fault why;
    int code = ExitDone, i = 0;
    while (i < n && o->wanted && strcmp(specs[i].word, o->wanted) != 0)
        i++;
    if (!o->wanted || i == n)
        refuse_word(a, o->wanted, specs, n);
    const char *text = marked_spec(a, specs[i].text, specs[i].n);
    if (!write_file(o->output ? o->output : "-", text, strlen(text), &why))
        code = report_fault(&why);
    arena_free(a);
    return code;
}

int cmd_new(const Options *o)
{
    return o->list ? report_print(o->output, print_list, NULL) : print_spec(o);
}
