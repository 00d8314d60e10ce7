/* options.c: the tables of commands and options. command_line.c parses command
 * lines by them; help.c prints them. */
#include <stddef.h>

#include "cli/options/options.h"

/* ---- commands ---- */
const Command commands[] = {
#define COMMAND(word, id, takes, least, summary) \
    { #word, Cmd##id, takes, least, summary, sizeof(id##Command) },
#include "cli/options/commands.h"
};
const int n_commands = sizeof commands / sizeof *commands;

/* Offset of each shared part in the struct of each command, plus 1; 0: the
 * command has no such part. */
#define HAS(command, part) 1 + offsetof(command##Command, part)
static const size_t part_at[][OptionParts] = {
    [NthNew] = { 0 },
    [NthImport] = { 0 },
    [NthCompile] = { [PartModel] = HAS(Compile, model),
                     [PartCode] = HAS(Compile, code) },
    [NthRun] = { [PartModel] = HAS(Run, model),
                 [PartCode] = HAS(Run, code),
                 [PartLines] = HAS(Run, lines),
                 [PartSearch] = HAS(Run, search) },
    [NthScore] = { [PartModel] = HAS(Score, model),
                   [PartCode] = HAS(Score, code),
                   [PartLines] = HAS(Score, lines) },
    [NthTokens] = { [PartModel] = HAS(Tokens, model) },
    [NthGraph] = { [PartModel] = HAS(Graph, model) },
    [NthPlan] = { [PartModel] = HAS(Plan, model),
                  [PartCode] = HAS(Plan, code) },
    [NthDiff] = { [PartModel] = HAS(Diff, model),
                  [PartCode] = HAS(Diff, code) },
    [NthTensors] = { [PartModel] = HAS(Tensors, model) },
    [NthVerify] = { [PartModel] = HAS(Verify, model),
                    [PartCode] = HAS(Verify, code) },
    [NthQuantize] = { [PartModel] = HAS(Quantize, model),
                      [PartCode] = HAS(Quantize, code),
                      [PartLines] = HAS(Quantize, lines) },
    [NthBench] = { [PartModel] = HAS(Bench, model),
                   [PartCode] = HAS(Bench, code),
                   [PartBench] = HAS(Bench, bench) },
    [NthSweep] = { [PartModel] = HAS(Sweep, model),
                   [PartCode] = HAS(Sweep, code),
                   [PartBench] = HAS(Sweep, sweep.work) },
    [NthCompare] = { [PartModel] = HAS(Compare, sweep.model),
                     [PartCode] = HAS(Compare, sweep.code),
                     [PartBench] = HAS(Compare, sweep.sweep.work) },
    [NthWatch] = { 0 },
    [NthTune] = { [PartModel] = HAS(Tune, model),
                  [PartCode] = HAS(Tune, code),
                  [PartBench] = HAS(Tune, tune.work) },
    [NthRecords] = { [PartCode] = HAS(Records, code) },
    [NthFields] = { 0 },
    [NthHelp] = { 0 },
    [NthCompletion] = { 0 },
};

void *option_place(void *options, const Command *c, const Option *row)
{
    const size_t at = row->part == PartCommand
                        ? (row->commands & c->bit) != 0
                        : part_at[c - commands][row->part];
    return at ? (char *)options + at - 1 + row->at : NULL;
}

ModelOptions *options_model(void *options, const Command *c)
{
    const size_t at = part_at[c - commands][PartModel];
    return at ? (void *)((char *)options + at - 1) : NULL;
}

/* ---- options ---- */
static const char *const output_kinds[] = { "c", "obj", "so", "exe" };
const char *const part_words[] = {
    "model",
#define PART(id, name, ...) name,
#include "emit/parts.h"
};
static const char *const stages[] = { "final", "built", "all" };
static const char *const graph_formats[] = { "text", "json", "dot", "svg" };
static const char *const json_formats[] = { "text", "json" };
static const char *const plan_formats[] = { "text", "json", "svg" };
static const char *const run_formats[] = { "text", "json", "svg" };
static const char *const reference_pages[] = {
    "all",
#define REFERENCE(id, name, ...) name,
#include "spec/reference_pages.h"
};
static const char *const field_formats[] = { "text", "json", "md", "schema" };
/* Values to suggest for options that accept other texts too. */
static const char *const backends[] = { "auto", "jit", "clang", "gcc" };
static const char *const compilers[] = { "clang", "gcc", "tcc" };
static const char *const levels[] = { "0", "1", "2", "3" };
static const char *const dtypes[] = {
#define FORMAT(name, word, ...) word,
#include "runtime/weights/format_rows.h"
};
static const char *const shells[] = { "bash", "zsh", "fish" };
static const char *const family_formats[] = { "text", "json", "md" };
static const char *const help_formats[] = { "text", "man" };
static const char *const bench_formats[] = {
    [BenchTable] = "text",  [BenchJson] = "json", [BenchCsv] = "csv",
    [BenchMarkdown] = "md", [BenchSvg] = "svg",
};
static const char *const tune_formats[] = {
    [TuneLines] = "text", [TuneJson] = "json", [TuneSvg] = "svg"
};
static const char *const watched[] = { "bench", "run" };
static const char *const records_formats[] = { "text", "json", "csv" };
static const char *const records_actions[] = { "show", "merge", "prune",
                                               "export", "explain" };

static const char *const cache_actions[] = { "ls", "clean", "verify" };

static const char *const color_words[] = {
    [ColorAuto] = "auto",
    [ColorAlways] = "always",
    [ColorNever] = "never",
};

/* clang-format off */
/* The columns of a row that say which commands accept the option, in which part
 * of the struct it is stored, and at which offset. */
#define MODEL(commands, to) commands, PartModel, offsetof(ModelOptions, to)
#define CODE(commands, to) commands, PartCode, offsetof(CodeOptions, to)
#define SEARCH(commands, to) commands, PartSearch, offsetof(SearchOptions, to)
#define BENCH(commands, to) commands, PartBench, offsetof(BenchOptions, to)
#define COMMON(to) SHARED(CmdAll, to)
#define SHARED(commands, to) commands, PartCommon, offsetof(CommonOptions, to)
#define OWN(command, to) \
    Cmd##command, PartCommand, offsetof(command##Command, to)

#define SWEEPS(to) \
    CmdSweep | CmdCompare, PartCommand, offsetof(SweepCommand, to)

/* The same columns for the rows of runtime/options/option_rows.h, whose column
 * `place` names one of these macros. */
#define PLACE_Lines(to) \
    CmdRun | CmdScore | CmdQuantize, PartLines, offsetof(LineOptions, to)
#define PLACE_Settings(to) SEARCH(CmdRun, set.to)
#define PLACE_Suppress(to) SEARCH(CmdRun, to)
#define PLACE_Prompt(to) OWN(Run, to)
#define PLACE_Chat(to) OWN(Run, to)
#define PLACE_Encode(to) OWN(Run, to)
#define PLACE_Seed(to) MODEL(CmdLoads | CmdTune | CmdSweep | CmdCompare, to)
#define PLACE_Threads(to) CODE(CmdLoads | CmdTune | CmdSweep | CmdCompare, to)

#define FLAG(name, place, text) \
    { name, NULL, Flag, place, .help = text, .group = GROUP }
#define ALONE(name, place, text) \
    { name, NULL, Alone, place, .help = text, .group = GROUP }
#define TEXT(name, takes, place, text) \
    { name, takes, Text, place, .help = text, .group = GROUP }
#define OUT(name, takes, place, text) \
    { name, takes, Out, place, .help = text, .group = GROUP }
#define MAYBE(name, takes, place, text) \
    { name, takes, Maybe, place, .help = text, .group = GROUP }
#define LIST(name, takes, place, text) \
    { name, takes, List, place, .help = text, .group = GROUP }
#define REST(name, place, list) \
    { name, "", Rest, place, 0, 0, 0, \
      list, sizeof list / sizeof *list, "", GROUP, 0 }
#define INT(name, takes, place, low, high, value, text) \
    { name, takes, Int, place, low, high, value, .help = text, \
      .group = GROUP }
#define REAL(name, takes, place, low, high, value, text) \
    { name, takes, Real, place, low, high, value, .help = text, \
      .group = GROUP }
#define WORD(name, takes, place, list, value, text) \
    { name, takes, Word, place, 0, 0, value, \
      list, sizeof list / sizeof *list, text, GROUP, 0 }
#define WORDS(name, takes, place, list, value, text) \
    { name, takes, Words, place, 0, 0, value, \
      list, sizeof list / sizeof *list, text, GROUP, 0 }
/* The option --format of a report, and --json as a shorthand for it. */
#define FORMAT_AS(place, list, text) \
    { "--format", "NAME", Form, place, 0, 0, 0, \
      list, sizeof list / sizeof *list, text, GROUP, 0 }, \
    { "--json", NULL, Json, place, .help = "the same as --format=json", \
      .group = GROUP }
#define SOME(name, takes, place, list, text) \
    { name, takes, Text, place, 0, 0, 0, \
      list, sizeof list / sizeof *list, text, GROUP, 0 }
#define MOST_INT 2147483647.0

/* GROUP is the heading above the rows in `attnc help COMMAND`. */
const Option option_table[] = {
#define GROUP GroupOperands
    /* operands, in this order; a list accepts all words that follow */
    TEXT("SPEC", "", MODEL(CmdSpec | CmdTensors | CmdTune | CmdDiff, spec),
         ""),
    TEXT("SPEC", "", OWN(Diff, other), ""),
    WORD("attnc records", "", OWN(Records, action), records_actions, 0, ""),
    LIST("FILE", "", OWN(Records, files), ""),
    TEXT("SPEC", "", OWN(Watch, spec), ""),
    REST("attnc watch", OWN(Watch, rest), watched),
    WORD("attnc cache", "", OWN(Cache, action), cache_actions, 0, ""),
    TEXT("FILE", "", MODEL(CmdTokens, spec), ""),
    TEXT("COMMAND", "", OWN(Help, command), ""),
    TEXT("KEY", "", OWN(Fields, key), ""),
    WORD("attnc completion", "", OWN(Completion, shell), shells, 0, ""),
    TEXT("MODEL", "", OWN(New, model), ""),
    LIST("FOLDER", "", OWN(Import, folders), ""),
    LIST("SPEC", "", SWEEPS(specs), ""),

    /* options that the program in an emitted file has too */
#define OPTION(uses, of, kind, name, takes, place, member, low, high, value, \
               text) \
    { name, takes, kind, PLACE_##place(member), low, high, value, \
      .help = text, .group = Group##of, .use = (uses) },
#include "runtime/options/option_rows.h"

#undef GROUP
#define GROUP GroupModel
    LIST("--set", "KEY=VALUE",
     MODEL(CmdSpec | CmdTensors | CmdTune | CmdSweep | CmdCompare | CmdDiff,
           sets),
         "override a field of the spec; KEY= leaves it out"),
    LIST("--fix", "KEY=N",
     MODEL(CmdSpec | CmdTune | CmdSweep | CmdCompare | CmdDiff, fix),
         "--set fix.KEY=N: a length is a constant"),
    LIST("--vary", "KEY=VALUES", SWEEPS(vary),
         "a field or option, as h=4,8, N=2..6, p=16..128..x2"),
    FLAG("--predict", OWN(Sweep, sweep.predict),
         "run nothing; predict the times"),
    FLAG("--zip", OWN(Sweep, sweep.zip),
         "advance all --vary together, not as a grid"),
    TEXT("--weights", "FILE",
     MODEL(CmdLoads | CmdCompile | CmdTensors | CmdTune, weights),
         "weights (.safetensors) instead of the spec's"),
    FLAG("--allow-nan",
     MODEL(CmdLoads | CmdCompile | CmdTensors | CmdTune | CmdSweep | CmdCompare,
           allow_nan),
         "NaN in f32 and bf16 weights is a warning"),
    INT("--seed", "N", MODEL(CmdCompile, seed), 0, MOST_INT, -1,
         "make random weights if no file has any"),
    SOME("--dtype", "NAME", OWN(Tune, dtype), dtypes,
         "the same as --set dtype=NAME"),

#undef GROUP
#define GROUP GroupPasses
    TEXT("--after", "PASS", MODEL(CmdGraph | CmdPlan, after),
         "stop after this pass"),
    WORD("--stage", "WHICH", OWN(Graph, stage), stages, 0,
         "built, all, or final (default)"),
    ALONE("--list-passes", OWN(Graph, list_passes),
         "the passes in running order"),
    LIST("--skip", "PASS", MODEL(CmdSpec | CmdDiff, skip),
         "leave a pass out; all: every pass that may be"),
    LIST("--dump", "PASS", MODEL(CmdSpec, dump),
         "print the graph after this pass"),
    FLAG("--explain", MODEL(CmdSpec, explain),
         "report what each pass did and could not do"),
    FLAG("--require-fusion", MODEL(CmdSpec, require_fusion),
         "a fusion that failed is an error"),

#undef GROUP
#define GROUP GroupCode
    TEXT("--march", "TARGET",
     CODE(CmdPlans | CmdTune | CmdSweep | CmdCompare | CmdDiff, march),
         "native (default), x86-64-v3, generic .."),
    INT("--width", "N",
     CODE(CmdPlans | CmdTune | CmdSweep | CmdCompare | CmdDiff, width), 1, 16,
         0,
         "floats in a vector: 16, 8, 4 or 1"),
    TEXT("--tile", "MxN",
     CODE(CmdPlans | CmdSweep | CmdCompare | CmdDiff, tile),
         "register tile of matrix products, as 6x64"),
    SOME("--backend", "NAME",
     CODE(CmdLoads | CmdTune | CmdSweep | CmdCompare, backend), backends,
         "jit (libtcc), clang, a compiler; run, score: auto"),
    SOME("--cc", "PROGRAM",
     CODE(CmdLoads | CmdCompile | CmdRecords | CmdTune | CmdSweep | CmdCompare,
          cc),
         compilers,
         "C compiler instead of clang"),
    SOME("-O", "LEVEL",
     CODE(CmdLoads | CmdCompile | CmdTune | CmdSweep | CmdCompare, level),
         levels,
         "optimisation level of the C compiler, as -O2"),
    INT("--threads", "N", CODE(CmdRecords, threads), 1, ATTN_POOL_MOST, -1,
         "explain: for this many; default: one per core"),
    INT("--threads", "N", CODE(CmdCompile, threads), 1, ATTN_POOL_MOST, -1,
         "use tiles tuned for N; default: one per core"),
    TEXT("--records", "FILE",
     CODE(CmdPlans | CmdTune | CmdRecords | CmdSweep | CmdCompare | CmdDiff,
          records),
         "tuning results to use instead of your own"),
    FLAG("--verbose", CODE(CmdTiers, verbose),
         "report whose code runs, and when it is replaced"),
    FLAG("-v", CODE(CmdTiers, verbose), "the same as --verbose"),
    FLAG("--perf", CODE(CmdRun | CmdBench, perf),
         "name the functions of jit's code for perf and gdb"),
    FLAG("--no-records",
     CODE(CmdPlans | CmdSweep | CmdCompare | CmdDiff, no_records),
         "use default tiles, not those of attnc tune"),

#undef GROUP
#define GROUP GroupLines
    FLAG("--offsets", OWN(Tokens, offsets),
         "also print their places: id:from-to, in bytes"),
    FLAG("--pieces", OWN(Tokens, pieces),
         "print the texts of tokens instead of ids"),
    FLAG("--decode", OWN(Tokens, decode),
         "read ids and print their text"),
    FLAG("--plain", OWN(Tokens, plain),
         "add nothing around a text"),
    FLAG("--null", OWN(Tokens, null),
         "texts end in NUL, so they may contain line feeds"),
    FLAG("--target", OWN(Tokens, target),
         "use the target's vocabulary if there are two"),
    FORMAT_AS(OWN(Tokens, json), json_formats,
         "text (default), json: an object a line"),

#undef GROUP
#define GROUP GroupTensors
    TEXT("--input", "FILE", OWN(Run, input),
         "tensors by name (.safetensors) instead of text"),
    OUT("--output", "FILE", OWN(Run, output),
         "results of --input (.safetensors); - is stdout"),
    LIST("--tap", "NAME", OWN(Run, taps),
         "also write this tensor of the graph"),

#undef GROUP
#define GROUP GroupAttention
    OUT("--attention", "FILE", OWN(Run, attention),
         "draw a line's attention: .svg, .json; - is stdout"),
    INT("--layer", "N", OWN(Run, layer), 0, MOST_INT, -1,
         "draw only this layer, from 0"),
    INT("--head", "N", OWN(Run, head), 0, MOST_INT, -1,
         "draw only this head, large, with numbers"),
    INT("--query", "N", OWN(Run, query), 0, MOST_INT, -1,
         "draw only this query token, one row per head"),

#undef GROUP
#define GROUP GroupWork
    INT("--beam", "N", BENCH(CmdBench | CmdTune | CmdSweep, beam), 1, 1024, 1,
         "hypotheses that are followed; 1 is greedy"),
    INT("--cases", "N", OWN(Verify, cases), 1, 100000, 0,
         "number of inputs to compare; default: all"),
    TEXT("--text", "FILE", OWN(Quantize, text),
         "also compare results on the lines of this text"),
    TEXT("--keep", "PERCENT", OWN(Quantize, keep),
         "find what needs more bits to lose no more: 0.5%"),
    INT("--rows", "N", OWN(Verify, rows), 1, MOST_INT, 0,
         "tokens of each input"),
    ALONE("--machine", OWN(Bench, machine),
         "measure only the machine; takes no spec"),
    TEXT("-p", "LENGTH", BENCH(CmdBench | CmdTune | CmdSweep, lengths),
         "tokens of a source or prompt: 128, 8..128 or 8,16"),
    TEXT("--rows", "LENGTH", BENCH(CmdBench, lengths),
         "the same as -p"),
    INT("-n", "N", BENCH(CmdBench | CmdTune | CmdSweep, steps), 0, MOST_INT, -1,
         "tokens of each answer; 0: no decoding"),
    INT("-b", "N", BENCH(CmdBench | CmdTune | CmdSweep | CmdCompare, batch), 1,
         1000000, 0,
         "sentences at once"),
    INT("-t", "N", CODE(CmdBench | CmdTune | CmdSweep | CmdCompare, threads), 1,
         ATTN_POOL_MOST, -1,
         "the same as --threads"),
    INT("-r", "N", BENCH(CmdBench | CmdSweep | CmdCompare, repetitions), 1,
        20000, 0,
         "runs of each workload, instead of --seconds"),
    REAL("--seconds", "X", BENCH(CmdBench, seconds), 0.001, 3600, 1,
         "most time to measure a workload within 1 %"),
    REAL("--seconds", "X", BENCH(CmdSweep | CmdCompare, seconds), 0.001, 3600,
         0.05,
         "most time to measure a variant within 1 %"),
    FLAG("--no-kernels", BENCH(CmdBench, no_kernels),
         "do not time the steps of the model"),

#undef GROUP
#define GROUP GroupTuning
    TEXT("--budget", "TIME", OWN(Tune, budget),
         "time for the tuning: 20s (default), 2m, 90"),
    TEXT("--budget", "TIME", SWEEPS(budget),
         "time for all variants: 30s, 2m"),
    FLAG("--again", OWN(Tune, tune.again),
         "also tune what this machine has a record of"),
    FLAG("--exhaustive", OWN(Tune, tune.exhaustive),
         "time every candidate, however long it takes"),

#undef GROUP
#define GROUP GroupRecords
    TEXT("--cpu", "TEXT", OWN(Records, cpu),
         "records of processors whose name contains this"),
    TEXT("--compiler", "TEXT", OWN(Records, compiler),
         "of compilers whose name and version contain this"),
    WORD("--op", "NAME", OWN(Records, op), task_word, -1,
         "matmul, small_m, attention, rows or split"),
    FLAG("--all", OWN(Records, all),
         "export: also records of other machines"),
    FLAG("--dry-run", OWN(Records, dry_run),
         "prune: only count the records"),

#undef GROUP
#define GROUP GroupCache
    TEXT("--older-than", "TIME", OWN(Cache, older),
         "clean: entries not used for this long: 30d, 12h"),
    FLAG("--all", OWN(Cache, all),
         "clean: everything"),
    FLAG("--dry-run", OWN(Cache, dry_run),
         "clean: only count the entries"),
    FLAG("--remove", OWN(Cache, remove),
         "verify: remove damaged entries"),

#undef GROUP
#define GROUP GroupOutput
    OUT("-o", "FILE", OWN(New, output),
         "output file; - is stdout"),
    ALONE("--list", OWN(New, list),
         "list the models"),
    OUT("-o", "FILE", OWN(Import, output),
         "the spec; default: the folder's name and .yaml"),
    OUT("--compile", "FILE", OWN(Import, compile),
         "also compile the spec to this C file"),
    MAYBE("--check", "PYTHON", OWN(Import, check),
         "compare with transformers of PYTHON, in double"),
    FLAG("--embed", OWN(Import, embed),
         "--compile: put weights and vocabulary into the C"),
    FLAG("--allow-nan", OWN(Import, allow_nan),
         "--compile, --check: NaN in weights is a warning"),
    TEXT("--lora", "FOLDER", OWN(Import, lora),
         "merge this adapter into the weights"),
    FLAG("--average", OWN(Import, average),
         "use the mean of the weights of all folders"),
    TEXT("--rules", "FILE", OWN(Import, rules),
         "rules of the family instead of the built-in ones"),
    ALONE("--families", OWN(Import, families),
         "list supported and unsupported families"),
    FORMAT_AS(OWN(Import, format), family_formats,
         "--families: text (default), json, md"),
    FLAG("--quiet", OWN(Import, quiet),
         "do not report what was written and what is next"),
    OUT("-o", "FILE", OWN(Compile, output),
         "output file; - is stdout"),
    OUT("-o", "FILE", OWN(Graph, output),
         "output file; - is stdout"),
    OUT("-o", "FILE", OWN(Plan, output),
         "output file; - is stdout"),
    WORDS("--emit", "KINDS", OWN(Compile, kinds), output_kinds, 0,
         "any of c,obj,so,exe; default: by -o's ending, or c"),
    WORDS("--parts", "PARTS", OWN(Compile, parts), part_words, 0,
         "parts of the C file beside the model; default: all"),
    FLAG("--plain", OWN(Compile, plain),
         "plain C for reading: loops, no vectors or tiles"),
    FLAG("--embed", OWN(Compile, embed),
         "weights and vocabulary inside the C file"),
    FLAG("--freestanding", OWN(Compile, freestanding),
         "C without files, printing, allocation, threads"),
    INT("--max-input", "N", OWN(Compile, max_input), 1, 1000000, -1,
         "without a handle: tokens of the longest input"),
    INT("--max-output", "N", OWN(Compile, max_output), 1, 1000000, -1,
         "without a handle: tokens of the longest answer"),
    FLAG("--save-temps", OWN(Compile, save_temps),
         "keep the C file when only others were asked for"),
    FLAG("-###", OWN(Compile, print_commands),
         "print the compiler's command lines, run nothing"),
    FLAG("--quiet", OWN(Compile, quiet),
         "do not report what was written and how to run it"),
    FORMAT_AS(OWN(Graph, format), graph_formats,
         "text (default), json, dot, svg"),
    FORMAT_AS(OWN(Plan, format), plan_formats,
         "text (default), json, svg: the arena drawn"),
    FORMAT_AS(OWN(Run, format), run_formats,
         "text (default), json; with --attention svg too"),
    FORMAT_AS(OWN(Score, json), json_formats,
         "text (default), json: an object a line"),
    FORMAT_AS(OWN(Verify, json), json_formats,
         "text (default), json: an object a line"),
    FORMAT_AS(OWN(Quantize, json), json_formats,
         "text (default), json"),
    FLAG("--verbose", OWN(Quantize, verbose),
         "report each model that --keep tries"),
    FLAG("-v", OWN(Quantize, verbose), "the same as --verbose"),
    FORMAT_AS(OWN(Tensors, json), json_formats,
         "text (default), json"),
    FLAG("--all", OWN(Diff, all),
         "also print what follows: shapes, layers, tilings"),
    FORMAT_AS(OWN(Diff, json), json_formats,
         "text (default), json"),
    WORD("--format", "NAME", OWN(Help, man), help_formats, 0,
         "text (default), man: a page of the manual"),
    FORMAT_AS(OWN(Fields, format), field_formats,
         "text (default), json, md, schema"),
    WORD("--page", "NAME", OWN(Fields, page), reference_pages, 0,
         "one page of the reference; all (default)"),
    FORMAT_AS(OWN(Records, format), records_formats,
         "show: text (default), json, csv"),
    FORMAT_AS(OWN(Cache, json), json_formats,
         "ls: text (default), json"),
    FORMAT_AS(OWN(Bench, bench.format), bench_formats,
         "text (default), json, csv, md, svg"),
    TEXT("--resume", "FILE", SWEEPS(sweep.resume),
         "save rows in FILE, and reuse the rows that it has"),
    TEXT("--columns", "NAMES", SWEEPS(sweep.columns),
         "show only these columns: parameters,step,d_k"),
    TEXT("--sort", "COLUMN", OWN(Sweep, sweep.sort),
         "the order of the report; default: latency"),
    TEXT("--front", "A,B", OWN(Sweep, sweep.pareto),
         "mark the best in two columns: parameters,latency"),
    FORMAT_AS(SWEEPS(sweep.format), bench_formats,
         "text (default), json, csv, md, svg"),
    OUT("--svg", "FILE", SWEEPS(sweep.svg),
         "draw the variants; - is stdout"),
    TEXT("--axes", "X,Y", OWN(Sweep, sweep.axes),
         "what --svg draws: two columns, or h,latency"),
    OUT("--svg", "FILE", OWN(Bench, bench.svg),
         "draw the roofline; - is stdout"),
    OUT("--svg", "FILE", OWN(Tune, tune.svg),
         "draw the search of each task; - is stdout"),
    FORMAT_AS(OWN(Tune, tune.format), tune_formats,
         "text (default), json, svg"),

    OUT("-o", "FILE", SHARED(CmdReports, output),
         "output file; its ending says the format"),

    FLAG("--force", SHARED(CmdWrites, force),
         "replace a file that looks like an input"),

#undef GROUP
#define GROUP GroupGeneral
    WORD("--color", "WHEN", COMMON(color), color_words, ColorAuto,
         "auto (on a terminal, default), always, never"),
    FLAG("--quiet", SHARED(CmdAll & ~(CmdImport | CmdCompile | CmdRun), quiet),
         "no notes, and no progress"),
    ALONE("--version", COMMON(version), "which attnc this is"),
    ALONE("-V", COMMON(version), "the same as --version"),
    ALONE("--help", COMMON(help), "this text"),
    ALONE("-h", COMMON(help), "the same as --help"),
};
#undef GROUP
/* clang-format on */
const int n_options = sizeof option_table / sizeof *option_table;
