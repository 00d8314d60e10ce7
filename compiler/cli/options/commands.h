/* commands.h: the commands, one row each: word, enumerator, operands, minimum
 * number of operands, and summary. cmd_WORD() in cmd_WORD.c runs the command.
 * Define COMMAND before you include this file, which undefines it. */
#ifndef COMMAND
#define COMMAND(...)
#endif

/* clang-format off */
COMMAND(new, New, "MODEL", 0, "a spec to start from, with comments")
COMMAND(import, Import, "FOLDER ..", 0, "a checkpoint as a spec, and as C")
COMMAND(compile, Compile, "SPEC", 1, "emit C, and compile it where asked")
COMMAND(run, Run, "SPEC", 1, "answer each line of stdin; or compute tensors")
COMMAND(score, Score, "SPEC", 1, "log-probabilities of given answers")
COMMAND(tokens, Tokens, "FILE", 1, "the token ids of each line of stdin")
COMMAND(graph, Graph, "SPEC", 1,
        "the operations, before and after each pass")
COMMAND(plan, Plan, "SPEC", 1,
        "memory, weights, operations, tiles: exact numbers")
COMMAND(diff, Diff, "SPEC [SPEC]", 1,
        "two specs, or one with --set and without: what differs")
COMMAND(tensors, Tensors, "SPEC", 1,
        "the weights, and where in the file each of them is")
COMMAND(verify, Verify, "SPEC", 1,
        "compare the compiled model with double precision")
COMMAND(quantize, Quantize, "SPEC", 1,
        "what weights in fewer bits lose, and which need more")
COMMAND(bench, Bench, "SPEC", 1, "measure speed beside the machine's limit")
COMMAND(watch, Watch, "SPEC [COMMAND [OPTION ..]]", 1,
        "run or bench again when a file changes: what is new")
COMMAND(sweep, Sweep, "SPEC ..", 1,
        "what variants of a spec cost, one beside the other")
COMMAND(compare, Compare, "SPEC ..", 1,
        "kinds of layers over lengths: the paper's Table 1, timed")
COMMAND(tune, Tune, "SPEC", 1,
        "find the tiles that are fastest here, and keep them")
COMMAND(records, Records, "[ACTION [FILE ..]]", 0,
        "show, merge, prune, export, explain what tune found")
COMMAND(cache, Cache, "[ACTION]", 0,
        "list, clean, verify what is kept from run to run")
COMMAND(fields, Fields, "[KEY]", 0, "the reference of the spec's fields")
COMMAND(help, Help, "[COMMAND]", 0, "the commands, or what one of them takes")
COMMAND(completion, Completion, "SHELL", 1,
        "what completes words in bash, zsh or fish")
/* clang-format on */

#undef COMMAND
