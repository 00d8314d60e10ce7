/* commands.h: the commands, one row each: word, enumerator, operands, minimum
 * number of operands, and summary. cmd_WORD() in cmd_WORD.c runs a COMMAND;
 * WORD_report() there runs a REPORT, which the program and all others call by
 * attnc_command() of attnc.h. Define COMMAND or REPORT before you include this
 * file, which undefines them. A row is a COMMAND unless REPORT is defined. */
#ifndef COMMAND
#define COMMAND(...)
#endif
#ifndef REPORT
#define REPORT COMMAND
#endif

/* clang-format off */
COMMAND(new, New, "MODEL", 0, "print a spec to start from, with comments")
COMMAND(import, Import, "FOLDER ..", 0,
        "convert a checkpoint to a spec, and to C")
REPORT(compile, Compile, "SPEC", 1, "emit C, and compile it if asked")
COMMAND(run, Run, "SPEC", 1, "answer each line of stdin, or compute tensors")
COMMAND(merge, Merge, "OUTPUT FILE ..", 2,
        "join the answers of attnc run --shard")
COMMAND(score, Score, "SPEC", 1,
        "print log-probabilities of given answers")
COMMAND(tokens, Tokens, "FILE", 1,
        "print the token ids of each line of stdin")
REPORT(graph, Graph, "SPEC", 1,
        "print the operations, before and after each pass")
REPORT(plan, Plan, "SPEC", 1,
        "print exact memory, weights, operations and tiles")
COMMAND(diff, Diff, "SPEC [SPEC]", 1,
        "compare two specs, or one with and without --set")
COMMAND(tensors, Tensors, "SPEC", 1,
        "list the weights, and where each is in its file")
COMMAND(verify, Verify, "SPEC", 1,
        "compare the compiled model with double precision")
COMMAND(quantize, Quantize, "SPEC", 1,
        "measure what weights lose in fewer bits")
REPORT(bench, Bench, "SPEC", 1, "compare speed with the machine's limit")
COMMAND(watch, Watch, "SPEC [COMMAND [OPTION ..]]", 1,
        "run or bench again whenever a file changes")
REPORT(sweep, Sweep, "SPEC ..", 1,
        "compare the cost of variants of a spec")
REPORT(compare, Compare, "SPEC ..", 1,
        "compare kinds of layers, as the paper's Table 1 does")
REPORT(tune, Tune, "SPEC", 1,
        "find the fastest tiles on this machine, and record them")
COMMAND(records, Records, "[ACTION [FILE ..]]", 0,
        "show, merge, prune, export or explain tuning records")
COMMAND(cache, Cache, "[ACTION]", 0,
        "list, clean or verify the cache of compiled models")
COMMAND(fields, Fields, "[KEY]", 0,
        "print the reference of the spec's fields")
COMMAND(help, Help, "[COMMAND]", 0,
        "list the commands, or the options of one")
COMMAND(completion, Completion, "SHELL", 1,
        "print a script of completions for bash, zsh or fish")
/* clang-format on */

#undef COMMAND
#undef REPORT
