/* command_line.c: a command line as a struct, read by the table of options. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* -------------------------------------------------------------- values --- */
static double number(const Option *row, const char *text)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    bool whole = row->kind == Real || x == floor(x);
    if (end == text || *end || errno || !isfinite(x) || !whole)
        fail(ExitUsage, "%s takes a%s number, not '%s'", row->name,
             row->kind == Int ? " whole" : "", quote(text));
    if (x < row->least || x > row->most)
        fail(ExitUsage, "%s %s is out of range: %.12g to %.12g", row->name,
             quote(text), row->least, row->most);
    return x;
}

static void store(Options *o, const Option *row, const char *text)
{
    void *at = (char *)o + row->at;
    switch (row->kind) {
    case Flag: *(bool *)at = true; break;
    case Text: *(const char **)at = text; break;
    case Int:  *(int64_t *)at = (int64_t)number(row, text); break;
    case Real: *(double *)at = number(row, text); break;
    case List: vec_push(o->arena, (Texts *)at, text); break;
    }
}

/* The row of a word, and its value when it is in the same word: "--beam=4",
 * "-O2", "-omodel.c". NULL: none is called so.                              */
static const Option *find(const char *word, int command, const char **value)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        size_t n = strlen(row->name);
        if (!(row->commands & command) || strncmp(word, row->name, n) != 0)
            continue;
        bool joined = row->takes
                   && (is_long ? word[n] == '='
                               : row->name[1] != '-' && word[n]);
        *value = joined ? word + n + is_long : NULL;
        if (!word[n] || joined)
            return row;
    }
    return NULL;
}

static const Options defaults = {
    .nbest = -1,
    .beam = -1,
    .min_length = -1,
    .no_repeat_ngram = -1,
    .end_token = -1,
    .max_input = -1,
    .max_output = -1,
    .repetition_penalty = -1,
    .alpha = -1,
    .patience = -1,
    .layer = -1,
    .head = -1,
    .query = -1,
    .cases = -1,
    .rows = -1,
    .steps = -1,
    .batch = -1,
    .repetitions = -1,
    .seconds = -1,
    .seed = 1,
    .threads = -1,
    .tokens = -1,
    .top_k = -1,
    .temperature = -1,
    .top_p = -1,
    .min_p = -1,
};

static void take_operand(Options *o, const char *word)
{
    if (!o->command->most)
        fail(ExitUsage, "attnc %s takes no file: '%s'", o->command->name,
             quote(word));
    if (o->spec && o->command->most > 1) {
        vec_push(o->arena, &o->files, word);
        return;
    }
    if (o->spec)
        fail(ExitUsage, "one spec at a time: '%s' and '%s'", quote(o->spec),
             quote(word));
    o->spec = word;
}

void options_parse(Options *o, Arena *a, const Command *c, int argc,
                   char **argv)
{
    *o = defaults;
    o->arena = a;
    o->command = c;
    bool options = true;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value;
        if (!options || word[0] != '-' || !word[1]) {
            take_operand(o, word);
            continue;
        }
        if (strcmp(word, "--") == 0) {
            options = false;
            continue;
        }
        const Option *row = find(word, c->bit, &value);
        if (!row) {
            const char *name = arena_strndup(a, word, strcspn(word, "="));
            option_unknown(a, c, name);
        }
        if (row->takes && !value) {
            if (i + 1 == argc)
                fail(ExitUsage, "%s takes a value: %s %s", row->name, row->name,
                     row->takes);
            value = argv[++i];
        }
        store(o, row, value);
    }
    if (is_stdout(o->records))
        fail(ExitUsage, "--records -: records are read and written, stdout is "
                        "not: name a file; attnc records export prints them");
    if (c->least && !o->spec && !o->list_passes && !o->machine)
        fail(ExitUsage, "attnc %s takes a spec: attnc %s model.yaml", c->name,
             c->name);
}

int option_choice(const char *option, const char *word, const char *const *list,
                  int n)
{
    char all[256] = "";
    for (int i = 0; i < n; i++) {
        if (!word || strcmp(word, list[i]) == 0)
            return i;
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s",
                 i ? ", " : "", list[i]);
    }
    fail(ExitUsage, "%s '%s': one of %s", option, quote(word), all);
}
