/* cmd_completion.c: attnc completion. Prints a script with which a shell
 * completes commands, options and their values. The script calls `attnc
 * complete` with the words of the command line. That prints the candidates from
 * the rows of commands.h and option_table.h. */
#include <string.h>

#include "emit/text/embedded.h"
#include "machine/target.h"
#include "passes/passes.h"
#include "cli/options/options.h"

/* ---- candidates ---- */
static void suggest(const char *before, const char *word, const char *end,
                    const char *what)
{
    printf("%s%s%s%s%s\n", before, word, end, *what ? "\t" : "", what);
}

static void suggest_passes(const char *before)
{
    for (int i = 0; i < n_passes; i++)
        suggest(before, passes[i].name, "", "");
}

static void suggest_targets(const char *before)
{
    const char *name;
    suggest(before, "native", "", "");
    for (int i = 0; (name = target_name(i)); i++)
        suggest(before, name, "", "");
}

static void suggest_fields(const char *before)
{
    const char *key;
    for (int i = 0; (key = spec_field_key(i)); i++)
        suggest(before, key, "=", "");
}

static void suggest_commands(const char *before)
{
    for (int i = 0; i < n_commands; i++)
        suggest(before, commands[i].name, "", commands[i].summary);
}

static void suggest_models(const char *before)
{
    Arena *a = arena_new();
    const Texts words = new_words(a);
    for (int i = 0; i < words.n; i++)
        suggest(before, words.at[i], "", "");
    arena_free(a);
}

static void suggest_specs(const char *before)
{
    (void)before;
    puts(":specs");
}

static void suggest_files(const char *before)
{
    (void)before;
    puts(":files");
}

static bool completes_operand(const Option *row)
{
    return row->name[0] != '-';
}

/* Prints the values of an option or operand, each after `before`; nothing if
 * any value is valid. */
static void suggest_values(const Option *row, const char *before)
{
    static const struct {
        const char *takes; /* placeholder of an option; name of an operand */
        void (*suggest)(const char *before);
    } lists[] = {
        { "PASS", suggest_passes },      { "TARGET", suggest_targets },
        { "KEY=VALUE", suggest_fields }, { "COMMAND", suggest_commands },
        { "MODEL", suggest_models },     { "SPEC", suggest_specs },
        { "FILE", suggest_files },
    };
    const char *takes = completes_operand(row) ? row->name : row->takes;
    if (strcmp(row->name, "--skip") == 0)
        suggest(before, "all", "", "");
    for (int i = 0; i < row->n_words; i++)
        suggest(before, row->words[i], "", "");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (takes && strcmp(takes, lists[i].takes) == 0)
            lists[i].suggest(before);
}

static void suggest_options(const Command *c)
{
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        const bool is_long = row->name[1] == '-';
        if (completes_operand(row) || !(row->commands & c->bit))
            continue;
        suggest("", row->name, option_needs(row) && is_long ? "=" : "",
                row->help);
        if (strcmp(row->name, "-O") == 0)
            suggest_values(row, row->name);
    }
}

/* ---- the line ---- */

/* Joins the words that bash splits at =, such as --color = al. */
static Texts joined_words(Arena *a, int n, char **word)
{
    Texts to = { 0 };
    for (int i = 0; i < n; i++) {
        const bool joins = i > 1
                        && (!strcmp(word[i], "=") || !strcmp(word[i - 1], "="));
        if (joins)
            to.at[to.n - 1] = arena_printf(a, "%s%s", to.at[to.n - 1], word[i]);
        else
            vec_push(a, &to, word[i]);
    }
    return to;
}

/* Returns the command that the word belongs to. After the spec, `attnc watch`
 * takes the words of attnc run or attnc bench. */
static const Command *command_of(const Command *c, int operands,
                                 const char *word)
{
    const Option *row = option_operand(c, operands);
    return !row || row->kind != Rest                    ? c
         : strcmp(word, "run") == 0                     ? &commands[NthRun]
         : word[0] == '-' || strcmp(word, "bench") == 0 ? &commands[NthBench]
                                                        : c;
}

/* Prints the candidates for the last word. `split` is set if bash passes only
 * the value of --option=value. */
static void suggest_last(Arena *a, const Command *c, const Texts *word,
                         bool split)
{
    const char *last = word->at[word->n - 1], *value;
    const Option *row, *needs = NULL; /* the option whose value follows */
    int operands = 0;
    for (int i = 1; i < word->n - 1; i++) {
        const char *at = word->at[i];
        const Command *before = c;
        c = needs ? c : command_of(c, operands, at);
        if (needs || (at[0] == '-' && at[1])) {
            row = needs ? NULL : option_find(at, c->bit, &value);
            needs = row && option_needs(row) && !value ? row : NULL;
        } else {
            operands += c == before;
        }
    }
    c = last[0] == '-' ? command_of(c, operands, last) : c;
    row = needs ? needs : option_operand(c, operands);
    if (needs || last[0] != '-') {
        if (row && !split)
            suggest_values(row, "");
        return;
    }
    row = option_find(last, c->bit, &value);
    if (row && value)
        suggest_values(row,
                       arena_printf(a, "%.*s", split ? 0 : (int)(value - last),
                                    last));
    else
        suggest_options(c);
}

int complete_words(int n, char **words)
{
    Arena *a = arena_new();
    const Texts word = joined_words(a, n, words);
    const bool split = n > 2
                    && (!strcmp(words[n - 1], "=")
                        || !strcmp(words[n - 2], "="));
    if (n < 2)
        suggest_commands("");
    if (n == 1 && words[0][0] == '-')
        puts("--help\n--version");
    for (int i = 0; n > 1 && i < n_commands; i++)
        if (strcmp(commands[i].name, words[0]) == 0)
            suggest_last(a, &commands[i], &word, split);
    arena_free(a);
    return ExitDone;
}

/* ---- scripts ---- */

/* The scripts are attnc.bash, attnc.zsh and attnc.fish in this directory. */
int cmd_completion(const Options *o)
{
    static const char *const shells[] = { "bash", "zsh", "fish" };
    const char *name = shells[o->shell];
    char file[16];
    size_t n;
    snprintf(file, sizeof file, "attnc.%s", name);
    printf("%s# Completion of attnc " ATTNC_VERSION " in %s, made by: attnc "
           "completion %s\n%s",
           strcmp(name, "zsh") == 0 ? "#compdef attnc\n" : "", name, name,
           embedded_text(file, &n));
    return ExitDone;
}
