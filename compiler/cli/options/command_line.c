/* command_line.c: parses a command line according to the rows of
 * option_table.h. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "runtime/files/foreign.h"
#include "cli/options/options.h"

static bool is_operand(const Option *row)
{
    return row->name[0] != '-';
}

/* ---- command ---- */

/* If a spec, a checkpoint or another file is in the place of the command, ends
 * with ExitUsage and suggests what to type. */
static void refuse_file(const char *word)
{
    Fault why;
    struct stat st;
    const bool spec = ends_in(word, ".yaml") || ends_in(word, ".yml");
    const bool file = stat(word, &st) == 0 && S_ISREG(st.st_mode);
    const bool foreign = foreign_file(word, AskedSpec, &why);
    const bool folder = is_folder(word);
    if (foreign && (file || (strchr(word, '/') && !folder)))
        fail(ExitUsage, "%s", why.text);
    if (spec || file || (folder && !foreign))
        fail(ExitUsage, "'%s' is not a command: did you mean attnc run %s?",
             quote(word), quote(word));
}

const Command *command_find(const char *name)
{
    const char *names[Commands];
    for (int i = 0; i < n_commands; i++) {
        names[i] = commands[i].name;
        if (strcmp(name, names[i]) == 0)
            return &commands[i];
    }
    refuse_file(name);
    const char *near = nearest(name, names, n_commands);
    if (near)
        fail(ExitUsage, "unknown command '%s': did you mean %s?", quote(name),
             near);
    fail(ExitUsage, "unknown command '%s'; attnc help lists them", quote(name));
}

bool option_taken(int command, const char *name)
{
    for (int i = 0; i < n_options; i++)
        if ((command & option_table[i].commands)
            && !strcmp(option_table[i].name, name))
            return true;
    return false;
}

/* ---- values ---- */
static double number(const Option *row, const char *text)
{
    char *end;
    errno = 0;
    double x = strtod(text, &end);
    bool whole = row->kind != Int || x == floor(x);
    if (end == text || *end || errno || !isfinite(x) || !whole)
        fail(ExitUsage, "%s takes a%s number, not '%s'", row->name,
             row->kind == Int ? " whole" : "", quote(text));
    if (x < row->min || x > row->max)
        fail(ExitUsage, "%s %s is out of range: %.12g to %.12g", row->name,
             quote(text), row->min, row->max);
    return x;
}

/* the formats of all commands, with their aliases and file endings */
static const struct {
    const char *other, *word;
} formats[] = {
    { "table", "text" }, { "txt", "text" },  { "markdown", "md" },
    { "gv", "dot" },     { "json", "json" }, { "csv", "csv" },
    { "svg", "svg" },    { "dot", "dot" },   { "md", "md" },
    { "npy", "npy" },
};

/* Returns the name of the format that the text means, or NULL. */
static const char *format_word(const char *text)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcasecmp(formats[i].other, text) == 0)
            return formats[i].word;
    return NULL;
}

/* Returns the index of the row's word that equals the n characters at `text`,
 * or -1. */
static int find_word(const Option *row, const char *text, size_t n)
{
    const char *own = row->kind == Form ? format_word(text) : NULL;
    if (own) {
        text = own;
        n = strlen(own);
    }
    for (int i = 0; i < row->n_words; i++)
        if (strlen(row->words[i]) == n && !strncmp(row->words[i], text, n))
            return i;
    return -1;
}

typedef struct {
    char text[256];
} WordList;

static WordList list_words(const Option *row)
{
    WordList all = { "" };
    for (int i = 0; i < row->n_words; i++) {
        const size_t n = strlen(all.text);
        snprintf(all.text + n, sizeof all.text - n, "%s%s", i ? ", " : "",
                 row->words[i]);
    }
    return all;
}

static int word_of(const Option *row, const char *text, size_t n)
{
    const int found = find_word(row, text, n);
    if (found < 0)
        fail(ExitUsage, "%s '%s': one of %s", row->name, quote_n(text, n),
             list_words(row).text);
    return found;
}

/* Parses a list such as "c,obj". Returns one bit per word. */
static int words_of(const Option *row, const char *text)
{
    int bits = 0;
    for (;;) {
        const size_t n = strcspn(text, ",");
        bits |= 1 << word_of(row, text, n);
        if (!text[n])
            return bits;
        text += n + 1;
    }
}

static void store(Arena *a, void *at, const Option *row, const char *text)
{
    switch (row->kind) {
    case Flag:
    case Alone: *(bool *)at = true; break;
    case Out:
        if (!*text && strcmp(row->name, "-o") == 0)
            fail(ExitUsage, "-o takes the name of a file; - is stdout");
        *(const char **)at = text;
        break;
    case Text:  *(const char **)at = text; break;
    case Maybe: *(const char **)at = text ? text : ""; break;
    case List:
    case Rest:  vec_push(a, (Texts *)at, text); break;
    case Int:   *(int64_t *)at = (int64_t)number(row, text); break;
    case Real:  *(double *)at = number(row, text); break;
    case Float: *(float *)at = (float)number(row, text); break;
    case Word:
    case Form:  *(int *)at = word_of(row, text, strlen(text)); break;
    case Json:  *(int *)at = FormatJson; break;
    case Words: *(int *)at = words_of(row, text); break;
    }
}

/* Stores an option's default value. Flags, texts and lists remain zero. */
static void store_default(void *at, const Option *row)
{
    if (row->kind == Int)
        *(int64_t *)at = (int64_t)row->default_value;
    else if (row->kind == Real)
        *(double *)at = row->default_value;
    else if (row->kind == Float)
        *(float *)at = (float)row->default_value;
    else if (row->kind == Word || row->kind == Words || row->kind == Form)
        *(int *)at = (int)row->default_value;
}

bool option_needs(const Option *row)
{
    return row->takes && row->kind != Maybe;
}

bool option_default(const void *at, const Option *row)
{
    switch (row->kind) {
    case Flag:
    case Alone: return !*(const bool *)at;
    case Text:
    case Out:
    case Maybe: return !*(const char *const *)at;
    case List:
    case Rest:  return ((const Texts *)at)->n == 0;
    case Int:   return *(const int64_t *)at == (int64_t)row->default_value;
    case Real:
        return !(*(const double *)at < row->default_value)
            && !(*(const double *)at > row->default_value);
    case Float:
        return !(*(const float *)at < (float)row->default_value)
            && !(*(const float *)at > (float)row->default_value);
    case Word:
    case Form:
    case Json:
    case Words: return *(const int *)at == (int)row->default_value;
    }
    return true;
}

void options_for(const Options *o, const Command *c, int use)
{
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        const void *at = (const char *)o + row->at;
        if ((row->commands & c->bit) && row->use && !(row->use & use)
            && !option_default(at, row))
            fail(ExitUsage, "%s is for %s, not for %s%s", row->name,
                 attn_use_text(row->use), attn_use_text(use),
                 attn_use_hint(row->name, use));
    }
}

/* ---- reading ---- */

const Option *option_find(const char *word, int command, const char **value)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        size_t n = strlen(row->name);
        if (!(row->commands & command) || strncmp(word, row->name, n) != 0)
            continue;
        bool joined = row->takes
                   && (is_long
                           ? word[n] == '='
                           : row->name[1] != '-' && word[n] && word[n] != '='
                                 && !option_misread(word, command));
        *value = joined ? word + n + is_long : NULL;
        if (!word[n] || joined)
            return row;
    }
    return NULL;
}

const Option *option_operand(const Command *c, int n)
{
    const Option *last = NULL;
    for (int i = 0; i < n_options; i++)
        if ((option_table[i].commands & c->bit)
            && is_operand(&option_table[i])) {
            last = &option_table[i];
            if (n-- == 0)
                return last;
        }
    return last && (last->kind == List || last->kind == Rest) ? last : NULL;
}

typedef struct {
    Arena *arena;
    const Command *command;
    Options *options;
    int operands;        /* number of operands so far */
    const char *operand; /* the last operand */
    bool alone;          /* true if an option made the spec optional */
    bool format;         /* true if --format or --json was given */
    const char *output;  /* value of -o, or NULL */
} Reading;

static void take_operand(Reading *r, const char *word)
{
    const Option *row = option_operand(r->command, r->operands);
    if (!row && r->operands > 0 && r->command->bit & (CmdRun | CmdScore))
        fail(ExitUsage,
             "one spec at a time: '%s' and '%s'; a text is a line of stdin: "
             "echo .. | attnc %s %s",
             quote(r->operand), quote(word), r->command->name,
             quote(r->operand));
    if (!row && r->operands > 0)
        fail(ExitUsage, "one %s at a time: '%s' and '%s'",
             r->command->bit == CmdHelp     ? "command"
             : r->command->bit == CmdNew    ? "model"
             : r->command->bit == CmdFields ? "field"
             : r->command->bit == CmdTokens ? "file"
                                            : "spec",
             quote(r->operand), quote(word));
    if (!row)
        fail(ExitUsage, "attnc %s takes no file: '%s'", r->command->name,
             quote(word));
    store(r->arena, option_place(r->options, row), row, word);
    r->operand = word;
    r->operands++;
}

/* Returns true if the next word belongs to the command that this command runs,
 * even if it looks like an option. */
static bool takes_rest(const Reading *r)
{
    const Option *row = option_operand(r->command, r->operands);
    return row && row->kind == Rest;
}

/* Parses an option. Returns true if `next` is its value. */
static bool take_option(Reading *r, const char *word, const char *next)
{
    const char *value;
    const Option *row = option_find(word, r->command->bit, &value);
    if (!row)
        unknown_option(r->arena, r->command, word);
    const bool apart = option_needs(row) && !value;
    if (apart && !next)
        fail(ExitUsage, "%s takes a value: %s %s", row->name, row->name,
             row->takes);
    store(r->arena, option_place(r->options, row), row, apart ? next : value);
    r->alone = r->alone || row->kind == Alone;
    r->format = r->format || row->kind == Form || row->kind == Json;
    if (strcmp(row->name, "-o") == 0)
        r->output = apart ? next : value;
    return apart;
}

Options options_early(const Command *c, int argc, char **argv)
{
    Options found = { .format = 0 };
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value;
        const Option *row = option_find(argv[i], c->bit, &value);
        if (!row || is_operand(row))
            continue;
        if (option_needs(row) && !value && i + 1 < argc)
            value = argv[++i];
        void *at = option_place(&found, row);
        if (OPTION_IN(row, common) && !row->takes)
            *(bool *)at = true;
        if (OPTION_IN(row, common) && row->kind == Out)
            *(const char **)at = value;
        const int word = value ? find_word(row, value, strlen(value)) : -1;
        if (row->apply && word >= 0)
            *(int *)at = word;
    }
    return found;
}

CommonOptions options_common(const Command *c, int argc, char **argv)
{
    Options found = options_early(c, argc, argv);
    for (int i = 0; i < n_options; i++)
        if (option_table[i].apply)
            option_table[i].apply(
                *(int *)option_place(&found, &option_table[i]));
    return found.common;
}

/* Sets the format from the ending of -o, unless --format was given. */
static void take_ending(Reading *r)
{
    const char *dot = r->output ? strrchr(r->output, '.') : NULL;
    const char *word = dot && !r->format ? format_word(dot + 1) : NULL;
    for (int i = 0; word && i < n_options; i++) {
        const Option *row = &option_table[i];
        if (row->kind != Form || !(row->commands & r->command->bit))
            continue;
        if (find_word(row, word, strlen(word)) < 0 && strcmp(word, "md") == 0)
            continue; /* the format md has no row, because text is Markdown */
        if (find_word(row, word, strlen(word)) < 0)
            fail(ExitUsage, "-o %s: attnc %s has no %s: --format is one of %s",
                 quote(r->output), r->command->name, word,
                 list_words(row).text);
        store(r->arena, option_place(r->options, row), row, word);
    }
}

/* Appends the value of --fix to --set: "source=32,batch=1" becomes
 * "fix.source=32" and "fix.batch=1". --ranks=2 becomes "fix.ranks=2", and
 * --sum-ranks "fix.sum_ranks=true". */
static void sets_of_fix(Arena *a, ModelOptions *model)
{
    if (model->ranks > 0)
        vec_push(a, &model->sets,
                 arena_printf(a, "fix.ranks=%lld", (long long)model->ranks));
    if (model->sum_ranks)
        vec_push(a, &model->sets, "fix.sum_ranks=true");
    for (int i = 0; i < model->fix.n; i++) {
        Buffer set = { .arena = a };
        const char *at = model->fix.at[i];
        buffer_printf(&set, "fix.");
        for (; *at; at++) {
            buffer_add(&set, at, 1);
            if (*at == ',')
                buffer_printf(&set, "fix.");
        }
        vec_push(a, &model->sets, set.at);
    }
}

/* Returns the purpose for which the command uses the file that an option
 * names. */
static FileUse use_of(const Option *row)
{
    static const struct {
        const char *name;
        FileUse use;
    } uses[] = {
        { "--resume", UseRows },
        { "--load-state", UseState },
        { "--save-state", UseState },
        { "--records", UseRecords },
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (strcmp(row->name, uses[i].name) == 0)
            return uses[i].use;
    return UseInput;
}

static void end_unless(bool done, const Fault *why)
{
    if (!done)
        fail(why->code, "%s", why->text);
}

/* Registers an output file with the guard. If an output option in an earlier
 * row names the same file, ends with ExitUsage. */
static void guard_output(Reading *r, const Option *row, const char *path)
{
    Fault why;
    for (const Option *other = option_table; other < row; other++) {
        const char *const *at = option_place(r->options, other);
        if ((other->commands & r->command->bit) && other->kind == Out && *at
            && !is_stream(*at) && guard_same(*at, path))
            fail(ExitUsage, "%s: %s and %s would both write the file: name two",
                 quote(path), other->name, row->name);
    }
    end_unless(guard_write(path, use_of(row), &why), &why);
}

/* Registers an operand with the guard; of a checkpoint's folder, its config. */
static bool guard_operands(Arena *a, const char *path, FileUse use, Fault *why)
{
    return guard_operand(path, use, why)
        && guard_operand(arena_printf(a, "%s/config.json", path), UseInput,
                         why);
}

/* Registers all input and output files of the command with the guard. If an
 * output would replace an input, ends with the guard's message. */
static void guard_files(Reading *r)
{
    Fault why;
    if (r->options->common.force)
        guard_force();
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (!(row->commands & r->command->bit))
            continue;
        const char *const *at = option_place(r->options, row);
        const Texts *list = option_place(r->options, row);
        for (int k = 0; is_operand(row) && row->kind == List && k < list->n;
             k++)
            guard_operands(r->arena, list->at[k], UseInput, &why);
        if (row->kind == Text && (is_operand(row) || use_of(row))
            && !is_stream(*at))
            end_unless(!*at || guard_operands(r->arena, *at, use_of(row), &why),
                       &why);
    }
    for (int i = 0; i < n_options; i++) {
        const Option *row = &option_table[i];
        if (!(row->commands & r->command->bit) || row->kind != Out)
            continue;
        const char *path = *(const char *const *)option_place(r->options, row);
        if (path && !is_stream(path))
            guard_output(r, row, path);
    }
}

Options *options_parse(Arena *a, const Command *c, int argc, char **argv)
{
    Reading r = { .arena = a, .command = c };
    bool options = true;
    r.options = arena_alloc(a, sizeof *r.options);
    /* Stores the defaults of all rows, then those of this command's rows,
     * because other commands may have other defaults for the same member. */
    for (int i = 0; i < 2 * n_options; i++) {
        const Option *row = &option_table[i % n_options];
        if (i < n_options || (row->commands & c->bit))
            store_default(option_place(r.options, row), row);
    }
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        if (!options || word[0] != '-' || !word[1] || takes_rest(&r))
            take_operand(&r, word);
        else if (strcmp(word, "--") == 0)
            options = false;
        else
            i += take_option(&r, word, i + 1 < argc ? argv[i + 1] : NULL);
    }
    take_ending(&r);
    if (r.operands < c->least && !r.alone && option_operand(c, 0)->kind == Word)
        fail(ExitUsage, "attnc %s takes one of %s", c->name,
             list_words(option_operand(c, 0)).text);
    if (r.operands < c->least && c->least > 1)
        fail(ExitUsage, "attnc %s takes %s", c->name, c->takes);
    if (r.operands < c->least && !r.alone)
        fail(ExitUsage, "attnc %s takes a spec: attnc %s model.yaml", c->name,
             c->name);
    if (is_stdout(r.options->model.spec))
        r.options->model.text = stdin_document(a);
    if (r.options->model.spec && is_folder(r.options->model.spec))
        r.options->model.spec = without_slashes(a, r.options->model.spec);
    sets_of_fix(a, &r.options->model);
    guard_files(&r);
    return r.options;
}
