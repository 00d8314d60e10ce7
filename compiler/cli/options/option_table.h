/* option_table.h: the options of all commands, one row each.
 *
 * A row begins with its kind and its name; a name without "-" is an operand's.
 * Next come the placeholder of the value in help, if it has one, and its place:
 *  OWN(commands, member)  the commands that accept the option; the row declares
 *                         the member of Options, with the type of its kind
 *  AT(commands, member)   the same, but the member exists already; MODEL, CODE
 *                         and others below are for members of parts
 * A row ends with the default, the range or the words, and a line of help.
 *
 * Define OWN, AT and ROW before you include this file, which undefines them. */
#ifndef OPTION_KINDS
#define OPTION_KINDS
/* clang-format off */
#define MODEL(commands, to) AT(commands, model.to)
#define CODE(commands, to) AT(commands, code.to)
#define SEARCH(commands, to) AT(commands, search.to)
#define BENCH(commands, to) AT(commands, bench.to)
#define SHARED(commands, to) AT(commands, common.to)
#define COMMON(to) SHARED(CmdAll, to)
#define SWEEPS(to) AT(CmdSweep | CmdCompare, to)

/* The same for rows of runtime/options/option_rows.h, in which the column
 * `place` names one of these macros. */
#define PLACE_Lines(to) AT(CmdRun | CmdScore | CmdQuantize, lines.to)
#define PLACE_Settings(to) SEARCH(CmdRun, set.to)
#define PLACE_Suppress(to) SEARCH(CmdRun, to)
#define PLACE_Prompt(to) OWN(CmdRun, to)
#define PLACE_Chat(to) OWN(CmdRun, to)
#define PLACE_Encode(to) OWN(CmdRun, to)
#define PLACE_Shard(to) OWN(CmdRun, to)
#define PLACE_Seed(to) MODEL(CmdLoads | CmdStudies, to)
#define PLACE_Threads(to) CODE(CmdLoads | CmdStudies, to)
#define TYPE_Flag bool
#define TYPE_Text const char *
#define TYPE_Out const char *
#define TYPE_List Texts
#define TYPE_Int int64_t
#define TYPE_Float float

/* A place is two columns: the commands, and the offset of the member. */
#define PLAIN(kind, type, name, takes, commands, at, text) \
    ROW(kind, type, name, takes, commands, at, 0, 0, 0, NULL, 0, text, \
        GROUP, 0, NULL)
#define CHOICE(kind, type, name, takes, commands, at, list, value, text, \
               apply) \
    ROW(kind, type, name, takes, commands, at, 0, 0, value, \
        list, sizeof list / sizeof *list, text, GROUP, 0, apply)
#define FLAG(name, place, text) PLAIN(Flag, bool, name, NULL, place, text)
#define ALONE(name, place, text) PLAIN(Alone, bool, name, NULL, place, text)
#define TEXT(name, takes, place, text) \
    PLAIN(Text, const char *, name, takes, place, text)
#define OUT(name, takes, place, text) \
    PLAIN(Out, const char *, name, takes, place, text)
#define MAYBE(name, takes, place, text) \
    PLAIN(Maybe, const char *, name, takes, place, text)
#define LIST(name, takes, place, text) \
    PLAIN(List, Texts, name, takes, place, text)
#define REST(name, place, list) \
    CHOICE(Rest, Texts, name, "", place, list, 0, "", NULL)
#define NUMBER(kind, type, name, takes, commands, at, low, high, value, text, \
               group, use) \
    ROW(kind, type, name, takes, commands, at, low, high, value, NULL, 0, \
        text, group, use, NULL)
#define INT(name, takes, place, low, high, value, text) \
    NUMBER(Int, int64_t, name, takes, place, low, high, value, text, GROUP, 0)
#define REAL(name, takes, place, low, high, value, text) \
    NUMBER(Real, double, name, takes, place, low, high, value, text, GROUP, 0)
#define SOME(name, takes, place, list, text) \
    CHOICE(Text, const char *, name, takes, place, list, 0, text, NULL)
#define WORD(name, takes, place, list, value, text) \
    CHOICE(Word, int, name, takes, place, list, value, text, NULL)
#define WORDS(name, takes, place, list, value, text) \
    CHOICE(Words, int, name, takes, place, list, value, text, NULL)
/* a word that takes effect before other words are read */
#define WORD_NOW(name, takes, place, list, apply, text) \
    CHOICE(Word, int, name, takes, place, list, 0, text, apply)
/* The option --format of a report, and --json, its short form. */
#define FORMAT_AS(place, list, text) \
    CHOICE(Form, int, "--format", "NAME", place, list, 0, text, NULL) \
    PLAIN(Json, int, "--json", NULL, place, "the same as --format=json")
#define RUN_OPTION(kind, type, name, takes, place, ...) \
    NUMBER(kind, type, name, takes, place, __VA_ARGS__)
#define LIST_OF(...) ((const char *const[]){ __VA_ARGS__ })
#define MOST_INT 2147483647.0
/* clang-format on */
#endif

/* clang-format off */
/* GROUP is the heading of the rows that follow, in `attnc help COMMAND`. */
#define GROUP GroupOperands
/* Operands, in order. A list accepts all words that follow. */
TEXT("SPEC", "", MODEL(CmdSpec | CmdTensors | CmdTune | CmdDiff, spec), "")
TEXT("SPEC", "", OWN(CmdDiff, other), "")
WORD("attnc records", "", OWN(CmdRecords, action),
     LIST_OF("show", "merge", "prune", "export", "explain"), 0, "")
OUT("OUTPUT", "", OWN(CmdMerge, merged), "")
LIST("FILE", "", OWN(CmdRecords | CmdMerge, files), "")
TEXT("SPEC", "", OWN(CmdWatch, spec), "")
REST("attnc watch", OWN(CmdWatch, rest), LIST_OF("bench", "run"))
WORD("attnc cache", "", AT(CmdCache, action), LIST_OF("ls", "clean", "verify"),
     0, "")
TEXT("FILE", "", MODEL(CmdTokens, spec), "")
TEXT("COMMAND", "", OWN(CmdHelp, command), "")
TEXT("KEY", "", OWN(CmdFields, key), "")
WORD("attnc completion", "", OWN(CmdCompletion, shell),
     LIST_OF("bash", "zsh", "fish"), 0, "")
TEXT("MODEL", "", OWN(CmdNew, wanted), "")
LIST("FOLDER", "", OWN(CmdImport, folders), "")
LIST("SPEC", "", OWN(CmdSweep | CmdCompare, specs), "")


/* Options that the program in an emitted file also has. */
#define OPTION(uses, of, kind, name, takes, place, member, ...) \
    RUN_OPTION(kind, TYPE_##kind, name, takes, PLACE_##place(member), \
               __VA_ARGS__, Group##of, uses)
#include "runtime/options/option_rows.h"

#undef GROUP
#define GROUP GroupSearch
TEXT("--json-schema", "FILE", SEARCH(CmdRun | CmdCompile, schema),
     "answers are JSON that this JSON schema accepts")

#undef GROUP
#define GROUP GroupLines
WORD("--task", "NAME", OWN(CmdRun, text_task),
     LIST_OF("none", "query", "document"), 0,
     "lines are queries or documents of late interaction")

#undef GROUP
#define GROUP GroupModel
LIST("--set", "KEY=VALUE",
     MODEL(CmdSpec | CmdTensors | CmdStudies | CmdDiff, sets),
     "override a field of the spec; KEY= removes it")
LIST("--fix", "KEY=N",
     MODEL(CmdSpec | CmdStudies | CmdDiff, fix),
     "make a length constant: --set fix.KEY=N")
INT("--ranks", "N", MODEL(CmdCompile, ranks), 1, 64, 0,
    "divide the model among N processes of MPI")
FLAG("--sum-ranks", MODEL(CmdCompile | CmdPlan, sum_ranks),
     "--ranks: add sums of floats; bits depend on N")
LIST("--vary", "KEY=VALUES", OWN(CmdSweep | CmdCompare, vary),
     "a field or option, as h=4,8, N=2..6, p=16..128..x2")
FLAG("--predict", AT(CmdSweep, sweep.predict),
     "run nothing; predict the times")
FLAG("--zip", AT(CmdSweep, sweep.zip),
     "advance all --vary together, not as a grid")
TEXT("--weights", "FILE",
     MODEL(CmdLoads | CmdCompile | CmdTensors | CmdTune, weights),
     "weights (.safetensors) instead of the spec's")
FLAG("--allow-nan",
     MODEL(CmdLoads | CmdCompile | CmdTensors | CmdStudies, allow_nan),
     "NaN in f32 and bf16 weights is a warning")
INT("--seed", "N", MODEL(CmdCompile, seed), 0, MOST_INT, -1,
     "make random weights if no file has any")
SOME("--dtype", "NAME", OWN(CmdTune, dtype), dtypes,
     "the same as --set dtype=NAME")

#undef GROUP
#define GROUP GroupPasses
TEXT("--after", "PASS", MODEL(CmdGraph | CmdPlan, after),
     "stop after this pass")
WORD("--stage", "WHICH", OWN(CmdGraph, stage),
     LIST_OF("final", "built", "all"), 0,
     "built, all, or final (default)")
ALONE("--list-passes", OWN(CmdGraph, list_passes),
     "the passes in running order")
LIST("--skip", "PASS", MODEL(CmdSpec | CmdDiff, skip),
     "leave out this pass; all: all optional passes")
LIST("--dump", "PASS", MODEL(CmdSpec, dump),
     "print the graph after this pass")
FLAG("--explain", MODEL(CmdSpec, explain),
     "report what each pass did and could not do")
FLAG("--require-fusion", MODEL(CmdSpec, require_fusion),
     "make a failed fusion an error")

#undef GROUP
#define GROUP GroupCode
TEXT("--march", "TARGET",
     CODE(CmdPlans | CmdStudies | CmdDiff, march),
     "native (default), x86-64-v3 .., or a list of them")
INT("--width", "N",
     CODE(CmdPlans | CmdStudies | CmdDiff, width), 1, 16,
     0,
     "floats per vector: 16, 8, 4 or 1")
TEXT("--tile", "MxN", CODE(CmdPlans | CmdSweep | CmdCompare | CmdDiff, tile),
     "register tile of matrix products, as 6x64")
SOME("--backend", "NAME",
     CODE(CmdLoads | CmdStudies, backend),
     LIST_OF("auto", "jit", "clang", "gcc"),
     "jit (libtcc), clang, a compiler; run, score: auto")
SOME("--cc", "PROGRAM",
     CODE(CmdLoads | CmdCompile | CmdRecords | CmdStudies, cc),
     LIST_OF("clang", "gcc", "tcc"),
     "C compiler instead of clang")
SOME("-O", "LEVEL",
     CODE(CmdLoads | CmdCompile | CmdStudies, level),
     LIST_OF("0", "1", "2", "3"),
     "optimisation level of the C compiler, as -O2")
INT("--threads", "N", CODE(CmdRecords, threads), 1, ATTN_POOL_MOST, -1,
     "explain: number of threads; default: one per core")
INT("--threads", "N", CODE(CmdPlan, threads), 1, ATTN_POOL_MOST, -1,
     "--ranks: threads of a rank; default: one per core")
INT("--threads", "N", CODE(CmdCompile, threads), 1, ATTN_POOL_MOST, -1,
     "use tiles tuned for N; default: one per core")
TEXT("--records", "FILE",
     CODE(CmdPlans | CmdRecords | CmdStudies | CmdDiff, records),
     "tuning results to use instead of your own")
FLAG("--verbose", CODE(CmdTiers, verbose),
     "report whose code runs, and when it is replaced")
FLAG("-v", CODE(CmdTiers, verbose), "the same as --verbose")
FLAG("--perf", CODE(CmdRun | CmdBench, perf),
     "name libtcc's functions for perf and gdb")
FLAG("--no-records",
     CODE(CmdPlans | CmdSweep | CmdCompare | CmdDiff, no_records),
     "use default tiles, not those of attnc tune")

#undef GROUP
#define GROUP GroupLines
FLAG("--offsets", OWN(CmdTokens, offsets),
     "also print the bytes of each token: id:from-to")
FLAG("--pieces", OWN(CmdTokens, pieces),
     "print the texts of tokens instead of ids")
FLAG("--decode", OWN(CmdTokens, decode),
     "read ids and print their text")
FLAG("--plain", OWN(CmdTokens, plain),
     "add no template around a text")
FLAG("--null", OWN(CmdTokens, null),
     "end texts with NUL instead of a line feed")
FLAG("--target", OWN(CmdTokens, target),
     "use the vocabulary of answers, if there are two")
FORMAT_AS(AT(CmdTokens, json), json_formats,
     "text (default), json: an object a line")

#undef GROUP
#define GROUP GroupTensors
TEXT("--input", "FILE", OWN(CmdRun, input),
     "read tensors by name (.safetensors), not text")
OUT("--output", "FILE", OWN(CmdRun, output),
     "write the results of --input; - is stdout")
LIST("--tap", "NAME", OWN(CmdRun, taps),
     "also write this tensor of the graph")

#undef GROUP
#define GROUP GroupAttention
OUT("--attention", "FILE", OWN(CmdRun, attention),
     "draw a line's attention: .svg, .json; - is stdout")
INT("--layer", "N", OWN(CmdRun, layer), 0, MOST_INT, -1,
     "draw only this layer, from 0")
INT("--head", "N", OWN(CmdRun, head), 0, MOST_INT, -1,
     "draw only this head, large, with numbers")
INT("--query", "N", OWN(CmdRun, query), 0, MOST_INT, -1,
     "draw only this query token, one row per head")

#undef GROUP
#define GROUP GroupWork
INT("--beam", "N", BENCH(CmdBench | CmdTune | CmdSweep, beam), 1, 1024, 1,
     "number of hypotheses; 1 is greedy")
INT("--cases", "N", OWN(CmdVerify, cases), 1, 100000, 0,
     "number of inputs to compare; default: all")
TEXT("--text", "FILE", OWN(CmdQuantize, text),
     "also compare results on the lines of this text")
TEXT("--keep", "PERCENT", OWN(CmdQuantize, keep),
     "find what needs more bits to lose less than 0.5%")
INT("--rows", "N", OWN(CmdVerify, rows), 1, MOST_INT, 0,
     "tokens of each input")
ALONE("--machine", OWN(CmdBench, machine),
     "measure only the machine; takes no spec")
TEXT("-p", "LENGTH", BENCH(CmdBench | CmdTune | CmdSweep, lengths),
     "tokens of a source or prompt: 128, 8..128 or 8,16")
TEXT("--rows", "LENGTH", BENCH(CmdBench, lengths), "the same as -p")
INT("-n", "N", BENCH(CmdBench | CmdTune | CmdSweep, steps), 0, MOST_INT, -1,
     "tokens of each answer; 0: no decoding")
INT("-b", "N", BENCH(CmdBench | CmdStudies, batch), 1,
     1000000, 0,
     "sentences per batch")
INT("-t", "N", CODE(CmdBench | CmdStudies, threads), 1,
     ATTN_POOL_MOST, -1, "the same as --threads")
INT("-r", "N", BENCH(CmdBench | CmdSweep | CmdCompare, repetitions), 1, 20000,
     0,
     "runs of each workload, instead of --seconds")
REAL("--seconds", "X", BENCH(CmdBench, seconds), 0.001, 3600, 1,
     "maximum time to measure a workload within 1 %")
REAL("--seconds", "X", BENCH(CmdSweep | CmdCompare, seconds), 0.001, 3600,
     0.05,
     "maximum time to measure a variant within 1 %")
FLAG("--no-kernels", BENCH(CmdBench, no_kernels),
     "do not time each step of the model")

#undef GROUP
#define GROUP GroupTuning
TEXT("--budget", "TIME", OWN(CmdTune, budget),
     "time for the tuning: 20s (default), 2m, 90")
TEXT("--budget", "TIME", SWEEPS(budget),
     "time for all variants: 30s, 2m")
FLAG("--again", AT(CmdTune, tune.again),
     "tune tasks again that have a record")
FLAG("--exhaustive", AT(CmdTune, tune.exhaustive),
     "time every candidate, however long it takes")

#undef GROUP
#define GROUP GroupRecords
TEXT("--cpu", "TEXT", OWN(CmdRecords, cpu),
     "records of processors whose name contains this")
TEXT("--compiler", "TEXT", OWN(CmdRecords, compiler),
     "of compilers whose name and version contain this")
WORD("--op", "NAME", OWN(CmdRecords, op), task_word, -1,
     "matmul, small_m, attention, rows or split")
FLAG("--all", OWN(CmdRecords, all),
     "export: also records of other machines")
FLAG("--dry-run", OWN(CmdRecords, dry_run),
     "prune: only count the records")

#undef GROUP
#define GROUP GroupCache
TEXT("--older-than", "TIME", OWN(CmdCache, older),
     "clean: entries not used for this long: 30d, 12h")
FLAG("--all", AT(CmdCache, all),
     "clean: everything")
FLAG("--dry-run", AT(CmdCache, dry_run),
     "clean: only count the entries")
FLAG("--remove", OWN(CmdCache, remove),
     "verify: remove damaged entries")

#undef GROUP
#define GROUP GroupOutput
OUT("-o", "FILE", AT(CmdNew, output),
     "output file; - is stdout")
ALONE("--list", OWN(CmdNew, list),
     "list the models")
OUT("-o", "FILE", AT(CmdImport, output),
     "the spec; default: NAME.yaml for a folder NAME")
OUT("--compile", "FILE", OWN(CmdImport, compile),
     "also compile the spec to this C file")
MAYBE("--check", "PYTHON", OWN(CmdImport, check),
     "check in double precision, then with transformers")
FLAG("--embed", OWN(CmdImport, embed),
     "--compile: put the weights into the C file")
FLAG("--allow-nan", OWN(CmdImport, allow_nan),
     "--compile, --check: NaN in weights is a warning")
TEXT("--lora", "FOLDER", OWN(CmdImport, lora),
     "merge this adapter into the weights")
FLAG("--average", OWN(CmdImport, average),
     "use the mean of the weights of all folders")
TEXT("--rules", "FILE", OWN(CmdImport, rules),
     "rules of the family instead of the built-in ones")
TEXT("--vectors", "NAME", OWN(CmdImport, vectors),
     "bge-m3: its vectors sparse or colbert, not dense")
TEXT("--as", "FAMILY", OWN(CmdImport, as),
     "read a model_type without rules by those of FAMILY")
FLAG("--unchecked", OWN(CmdImport, unchecked),
     "--as: import without comparing with transformers")
LIST("--ignore-key", "NAME", OWN(CmdImport, ignored_keys),
     "continue even if no rule knows this key")
ALONE("--families", OWN(CmdImport, families),
     "list supported and unsupported families")
FORMAT_AS(AT(CmdImport, format), LIST_OF("text", "json", "md"),
     "--families: text (default), json, md")
FLAG("--quiet", AT(CmdImport, quiet),
     "do not print what was written and what is next")
OUT("-o", "FILE", AT(CmdCompile, output),
     "output file; - is stdout")
OUT("-o", "FILE", AT(CmdGraph, output),
     "output file; - is stdout")
OUT("-o", "FILE", AT(CmdPlan, output),
     "output file; - is stdout")
INT("--ranks", "N", MODEL(CmdPlan, ranks), 2, 64, 0,
     "the cost of one model over N machines")
TEXT("--link", "LATENCY,RATE", OWN(CmdPlan, link),
     "--ranks: such as 20us,10Gbit/s or 1.5us,12GB/s")
WORDS("--emit", "KINDS", OWN(CmdCompile, kinds),
     LIST_OF("c", "obj", "so", "exe", "wheel"), 0,
     "c,obj,so,exe, or wheel; default: by -o's ending")
WORDS("--parts", "PARTS", OWN(CmdCompile, parts), part_words, 0,
     "parts of the C file to emit; default: all")
WORD("--runtime", "PLACE", OWN(CmdCompile, beside),
     LIST_OF("inside", "beside"), 0,
     "inside the C file (default), or beside it: attn.c")
FLAG("--plain", AT(CmdCompile, plain),
     "plain C for reading: loops, no vectors or tiles")
FLAG("--embed", AT(CmdCompile, embed),
     "put weights and vocabulary into the C file")
TEXT("--grammar", "FILE", OWN(CmdCompile, grammar),
     "the program's answers follow this grammar, in GBNF")
FLAG("--freestanding", OWN(CmdCompile, freestanding),
     "C without files, printing, allocation, threads")
INT("--max-input", "N", OWN(CmdCompile, max_input), 1, 1000000, -1,
     "without a handle: tokens of the longest input")
INT("--max-output", "N", OWN(CmdCompile, max_output), 1, 1000000, -1,
     "without a handle: tokens of the longest answer")
FLAG("--save-temps", OWN(CmdCompile, save_temps),
     "keep the C file that --emit compiles")
FLAG("-###", OWN(CmdCompile, print_commands),
     "print the compiler's command lines, run nothing")
FLAG("--quiet", AT(CmdCompile, quiet),
     "do not print what was written and how to run it")
FORMAT_AS(AT(CmdGraph, format), LIST_OF("text", "json", "dot", "svg"),
     "text (default), json, dot, svg")
FORMAT_AS(AT(CmdPlan, format), LIST_OF("text", "json", "svg"),
     "text (default), json, svg: the arena drawn")
FORMAT_AS(AT(CmdRun, format), LIST_OF("text", "json", "svg", "npy"),
     "text (default), json; rows: npy; --attention: svg")
FORMAT_AS(AT(CmdScore, json), json_formats,
     "text (default), json: an object a line")
FORMAT_AS(AT(CmdVerify, json), json_formats,
     "text (default), json: an object a line")
FORMAT_AS(AT(CmdQuantize, json), json_formats,
     "text (default), json")
FLAG("--verbose", OWN(CmdQuantize, verbose),
     "report each model that --keep tries")
FLAG("-v", AT(CmdQuantize, verbose), "the same as --verbose")
FORMAT_AS(AT(CmdTensors, json), json_formats,
     "text (default), json")
FLAG("--all", AT(CmdDiff, all),
     "also print consequences: shapes, layers, tilings")
FORMAT_AS(AT(CmdDiff, json), json_formats,
     "text (default), json")
WORD("--format", "NAME", OWN(CmdHelp, man), LIST_OF("text", "man"), 0,
     "text (default), man: a manual page")
FORMAT_AS(AT(CmdFields, format), LIST_OF("text", "json", "md", "schema"),
     "text (default), json, md, schema")
WORD("--page", "NAME", OWN(CmdFields, page), reference_pages, 0,
     "one page of the reference; all (default)")
FORMAT_AS(AT(CmdRecords, format), LIST_OF("text", "json", "csv"),
     "show: text (default), json, csv")
FORMAT_AS(AT(CmdCache, json), json_formats,
     "ls: text (default), json")
FORMAT_AS(AT(CmdBench, bench.format), bench_formats,
     "text (default), json, csv, md, svg")
TEXT("--resume", "FILE", SWEEPS(sweep.resume),
     "save rows in FILE, and reuse the rows that it has")
TEXT("--columns", "NAMES", SWEEPS(sweep.columns),
     "show only these columns: parameters,step,d_k")
TEXT("--sort", "COLUMN", AT(CmdSweep, sweep.sort),
     "the order of the report; default: latency")
TEXT("--front", "A,B", AT(CmdSweep, sweep.pareto),
     "mark the best in two columns: parameters,latency")
FORMAT_AS(SWEEPS(sweep.format), bench_formats,
     "text (default), json, csv, md, svg")
OUT("--svg", "FILE", SWEEPS(sweep.svg),
     "draw the variants; - is stdout")
TEXT("--axes", "X,Y", AT(CmdSweep, sweep.axes),
     "what --svg draws: two columns, or h,latency")
OUT("--svg", "FILE", AT(CmdBench, bench.svg),
     "draw the roofline; - is stdout")
OUT("--svg", "FILE", AT(CmdTune, tune.svg),
     "draw the search of each task; - is stdout")
FORMAT_AS(AT(CmdTune, tune.format), tune_formats,
     "text (default), json, svg")

OUT("-o", "FILE", SHARED(CmdReports, output),
     "output file; its ending says the format")

FLAG("--force", SHARED(CmdWrites, force),
     "replace a file that looks like an input")

#undef GROUP
#define GROUP GroupGeneral
WORD_NOW("--color", "WHEN", OWN(CmdAll, color),
     LIST_OF("auto", "always", "never"), color_choose,
     "auto (on a terminal, default), always, never")
FLAG("--quiet", SHARED(CmdAll & ~(CmdImport | CmdCompile | CmdRun), quiet),
     "no notes, and no progress")
ALONE("--version", COMMON(version),
     "print the version")
ALONE("-V", COMMON(version), "the same as --version")
ALONE("--help", COMMON(help),
     "print this text")
ALONE("-h", COMMON(help), "the same as --help")
#undef GROUP
/* clang-format on */

#undef ROW
#undef OWN
#undef AT
