/* options.c: the table of options, and reading a command line by it. What is
 * said of them: options_help.c.                                             */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#define AT(field) offsetof(Options, field)
#define MOST_INT 2147483647.0

/* clang-format off */
const Option option_table[] = {
    { "--set", "KEY=VALUE", CmdSpec | CmdTensors | CmdTune, List,
      AT(sets), 0, 0,
      "override a field of the spec; KEY= leaves it out" },
    { "--weights", "FILE", CmdLoads | CmdCompile | CmdTensors | CmdTune, Text,
      AT(weights), 0, 0,
      "weights (.safetensors) instead of the spec's" },
    { "--seed", "N", CmdLoads | CmdTune, Int, AT(seed), 0, MOST_INT,
      "of sampling, and of weights that no file gives" },
    { "--threads", "N", CmdLoads | CmdTune, Int, AT(threads), 1, PoolMost,
      "run on this many; default: one a physical core" },
    { "--march", "TARGET", CmdPlans | CmdTune, Text, AT(march), 0, 0,
      "native (this machine, default), x86-64-v3, generic .." },
    { "--width", "N", CmdPlans | CmdTune, Int, AT(width), 1, 16,
      "floats in a vector: 16, 8, 4 or 1" },
    { "--tile", "MxN", CmdPlans, Text, AT(tile), 0, 0,
      "register tile of matrix products, as 6x64" },
    { "--backend", "NAME", CmdLoads | CmdTune, Text, AT(backend), 0, 0,
      "jit (libtcc), clang, or a C compiler's name" },
    { "--cc", "PROGRAM", CmdLoads | CmdCompile | CmdRecords | CmdTune, Text,
      AT(cc), 0, 0,
      "C compiler instead of clang" },
    { "-O", "LEVEL", CmdLoads | CmdCompile | CmdTune, Text, AT(level), 0, 0,
      "optimisation level of the C compiler, as -O2" },

    { "--threads", "N", CmdRecords, Int, AT(threads), 1, PoolMost,
      "explain: those for so many; default: one a core" },
    { "--threads", "N", CmdCompile, Int, AT(threads), 1, PoolMost,
      "take tiles tuned for so many; default: one a core" },
    { "--records", "FILE", CmdPlans | CmdTune | CmdRecords, Text, AT(records),
      0, 0, "what attnc tune found, here instead of your own" },
    { "--no-records", NULL, CmdPlans, Flag, AT(no_records), 0, 0,
      "the default tiles, whatever attnc tune found" },

    { "-o", "FILE", CmdCompile | CmdGraph | CmdPlan | CmdRecords, Text,
      AT(output), 0, 0,
      "output file; - is stdout" },
    { "--emit", "KINDS", CmdCompile, Text, AT(emit), 0, 0,
      "any of c,obj,so,exe (default c)" },
    { "--embed", NULL, CmdCompile, Flag, AT(embed), 0, 0,
      "weights and vocabulary inside the C file" },
    { "--save-temps", NULL, CmdCompile, Flag, AT(save_temps), 0, 0,
      "keep the C file when only others were asked for" },
    { "-###", NULL, CmdCompile, Flag, AT(print_commands), 0, 0,
      "print the compiler's command lines, run nothing" },

    { "--ids", NULL, CmdRun | CmdScore, Flag, AT(ids), 0, 0,
      "read and write token ids instead of text" },
    { "--prompt", "TEXT", CmdRun, Text, AT(prompt), 0, 0,
      "answer this, and print the answer as it comes" },
    { "-n", "N", CmdRun, Int, AT(tokens), 0, MOST_INT,
      "tokens of that answer, at most" },
    { "--temperature", "X", CmdRun, Real, AT(temperature), 0, 1e6,
      "draw tokens at random; 0: take the best" },
    { "--top-k", "N", CmdRun, Int, AT(top_k), 0, MOST_INT,
      "of the N best alone" },
    { "--top-p", "X", CmdRun, Real, AT(top_p), 0, 1,
      "of the best that have this probability" },
    { "--min-p", "X", CmdRun, Real, AT(min_p), 0, 1,
      "of those at least so probable, beside the best" },
    { "--stop", "TEXT", CmdRun, List, AT(stop), 0, 0,
      "end before this text (--ids: these tokens)" },
    { "--save-state", "FILE", CmdRun, Text, AT(save_state), 0, 0,
      "keep the decoding state after --prompt; - is stdout" },
    { "--load-state", "FILE", CmdRun, Text, AT(load_state), 0, 0,
      "go on from there, behind --prompt if it is given" },
    { "--quiet", NULL, CmdRun, Flag, AT(quiet), 0, 0,
      "do not say how fast that answer came" },
    { "--prefix", "TEXT", CmdRun, Text, AT(prefix), 0, 0,
      "first tokens of every answer" },
    { "--beam", "N", CmdRun | CmdBench | CmdTune, Int, AT(beam), 1, 1024,
      "hypotheses that are followed; 1 is greedy" },
    { "--nbest", "N", CmdRun, Int, AT(nbest), 1, 1024,
      "answers to a line; each begins with the line's number" },
    { "--scores", NULL, CmdRun, Flag, AT(scores), 0, 0,
      "each answer begins with its score" },
    { "--alpha", "X", CmdRun, Real, AT(alpha), 0, 100,
      "strength of the length penalty" },
    { "--length-penalty", "X", CmdRun, Real, AT(alpha), 0, 100,
      "the same as --alpha" },
    { "--patience", "X", CmdRun, Real, AT(patience), 0, 100,
      "rule recorded: stop at --beam times this many" },
    { "--min-length", "N", CmdRun, Int, AT(min_length), 0, MOST_INT,
      "no end before this many tokens" },
    { "--max-output", "N", CmdRun, Int, AT(max_output), 1, MOST_INT,
      "at most this many tokens in an answer" },
    { "--max-input", "N", CmdRun, Int, AT(max_input), 1, MOST_INT,
      "cut longer inputs to this many tokens" },
    { "--repetition-penalty", "X", CmdRun, Real, AT(repetition_penalty),
      0.001, 1000, "divides the logits of tokens that came already" },
    { "--no-repeat-ngram", "N", CmdRun, Int, AT(no_repeat_ngram), 0, 1000,
      "no n-gram of this length twice" },
    { "--suppress", "TOKENS", CmdRun, List, AT(suppress), 0, 0,
      "a token, or a sequence of them, that must not come" },
    { "--end-token", "ID", CmdRun, Int, AT(end_token), 0, MOST_INT,
      "this token ends an answer" },
    { "--input", "FILE", CmdRun, Text, AT(input), 0, 0,
      "tensors by graph name (.safetensors) instead of text" },
    { "--output", "FILE", CmdRun, Text, AT(output), 0, 0,
      "results of --input (.safetensors); - is stdout" },
    { "--tap", "NAME", CmdRun, List, AT(taps), 0, 0,
      "write this tensor of the graph too; not fused away" },
    { "--attention", "FILE", CmdRun, Text, AT(attention), 0, 0,
      "answer a line; its attention as .svg or .json, - as svg" },
    { "--layer", "N", CmdRun, Int, AT(layer), 0, MOST_INT,
      "of these weights this layer alone, from 0 on" },
    { "--head", "N", CmdRun, Int, AT(head), 0, MOST_INT,
      "this head alone, large, with numbers" },
    { "--query", "N", CmdRun, Int, AT(query), 0, MOST_INT,
      "this token alone as the query, a row a head" },

    { "--after", "PASS", CmdGraph | CmdPlan, Text, AT(after), 0, 0,
      "stop after this pass" },
    { "--stage", "WHICH", CmdGraph, Text, AT(stage), 0, 0,
      "built, all, or final (default)" },
    { "--format", "NAME", CmdGraph, Text, AT(format), 0, 0,
      "text (default), dot, svg" },
    { "--format", "NAME", CmdPlan, Text, AT(format), 0, 0,
      "text (default), json" },
    { "--format", "NAME", CmdFields, Text, AT(format), 0, 0,
      "text (default), markdown" },
    { "--format", "NAME", CmdRecords, Text, AT(format), 0, 0,
      "of show: table (default), json, csv" },
    { "--format", "NAME", CmdBench, Text, AT(format), 0, 0,
      "table (default), json, csv, md" },
    { "--list-passes", NULL, CmdGraph, Flag, AT(list_passes), 0, 0,
      "the passes in running order" },
    { "--skip", "PASS", CmdSpec, List, AT(skip), 0, 0,
      "leave a pass out; all: every pass that may be" },
    { "--dump", "PASS", CmdSpec, List, AT(dump), 0, 0,
      "print the graph after this pass" },
    { "--explain", NULL, CmdSpec, Flag, AT(explain), 0, 0,
      "say what each pass did and what it could not do" },
    { "--require-fusion", NULL, CmdSpec, Flag, AT(require_fusion), 0, 0,
      "a fusion that failed is an error" },

    { "--cases", "N", CmdVerify, Int, AT(cases), 1, 100000,
      "how many inputs to compare on; default: all" },
    { "--rows", "N", CmdVerify, Int, AT(rows), 1, MOST_INT,
      "tokens of each input" },
    { "--machine", NULL, CmdBench, Flag, AT(machine), 0, 0,
      "measure the machine alone; takes no spec" },
    { "-p", "LENGTH", CmdBench | CmdTune, Text, AT(lengths), 0, 0,
      "of each source or prompt: 128, 8..128, or 8,16,32" },
    { "--rows", "LENGTH", CmdBench, Text, AT(lengths), 0, 0,
      "the same as -p" },
    { "-n", "N", CmdBench | CmdTune, Int, AT(steps), 0, MOST_INT,
      "tokens of each answer; 0: no decoding" },
    { "-b", "N", CmdBench | CmdTune, Int, AT(batch), 1, 1000000,
      "sentences at once" },
    { "-t", "N", CmdBench | CmdTune, Int, AT(threads), 1, PoolMost,
      "the same as --threads" },
    { "-r", "N", CmdBench, Int, AT(repetitions), 1, 20000,
      "runs of each workload, instead of --seconds" },
    { "--seconds", "X", CmdBench, Real, AT(seconds), 0.001, 3600,
      "time for each workload, where 1 % needs so much" },
    { "--svg", "FILE", CmdBench, Text, AT(svg), 0, 0,
      "draw the roofline; - is stdout" },
    { "--budget", "TIME", CmdTune, Text, AT(budget), 0, 0,
      "that the tuning takes: 60s (default), 2m, 90" },
    { "--dtype", "NAME", CmdTune, Text, AT(dtype), 0, 0,
      "the same as --set dtype=NAME" },
    { "--again", NULL, CmdTune, Flag, AT(again), 0, 0,
      "also what is recorded for this machine already" },
    { "--exhaustive", NULL, CmdTune, Flag, AT(exhaustive), 0, 0,
      "time every candidate, however long it takes" },
    { "--svg", "FILE", CmdTune, Text, AT(svg), 0, 0,
      "draw the search of each task; - is stdout" },
    { "--format", "NAME", CmdTune, Text, AT(format), 0, 0,
      "table (default), json" },
    { "--no-kernels", NULL, CmdBench, Flag, AT(no_kernels), 0, 0,
      "do not time the steps of the model" },
    { "--cpu", "TEXT", CmdRecords, Text, AT(cpu), 0, 0,
      "records of processors whose name has this" },
    { "--compiler", "TEXT", CmdRecords, Text, AT(compiler), 0, 0,
      "of compilers whose name and version have this" },
    { "--op", "NAME", CmdRecords, Text, AT(op), 0, 0,
      "of this kind: matmul, few, attention, rows, split" },
    { "--all", NULL, CmdRecords, Flag, AT(all), 0, 0,
      "export: those of other machines too" },
    { "--dry-run", NULL, CmdRecords, Flag, AT(dry_run), 0, 0,
      "prune: only say how many" },
};
/* clang-format on */
const int n_options = sizeof option_table / sizeof *option_table;

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
    if (!*o->command->takes)
        fail(ExitUsage, "attnc %s takes no file: '%s'", o->command->name,
             quote(word));
    if (o->spec && strstr(o->command->takes, "..")) {
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
    const bool need = *c->takes && *c->takes != '[';
    if (is_stdout(o->records))
        fail(ExitUsage, "--records -: records are read and written, stdout is "
                        "not: name a file; attnc records export prints them");
    if (need && !o->spec && !o->list_passes && !o->machine)
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
