/* option_rows.h: the options of `attnc run` and of emitted programs, one row
 * each. compiler/cli/options/options.c and compiler/emit/file/program_options.c
 * build their tables from it.
 *
 *  use       the uses that take it: bits ATTN_FOR_LINES and others (settings.h)
 *  group     the heading in the help
 *  kind      Flag; Int, Float: a number from `least` to `most`; Text; List: a
 *            text each time it is given; Out: a Text, a file to write
 *  name, takes     as they are written; takes NULL: nothing
 *  place, member   where its value goes: Settings: struct attn_settings;
 *            others: a struct of attnc's, or of the program's
 *  value     Int, Float: the default
 *  help      what it does, in one line
 *
 * PROGRAM_OPTION is a row only for programs. A file includes this after
 * defining one of the two; both are undefined again at the end. */
#ifndef OPTION
#define OPTION(...)
#endif
#ifndef PROGRAM_OPTION
#define PROGRAM_OPTION(...)
#endif

#define LINES ATTN_FOR_LINES
#define PROMPT ATTN_FOR_PROMPT
#define SCORE ATTN_FOR_SCORE
#define CHAT ATTN_FOR_CHAT
#define ENCODE ATTN_FOR_ENCODE
#define NUMBERS ATTN_FOR_NUMBERS
#define ALL (LINES | PROMPT | SCORE | CHAT | ENCODE | NUMBERS)
#define MOST 2147483647.0

/* clang-format off */
OPTION(LINES | PROMPT | SCORE | ENCODE, Lines, Flag, "--ids", NULL,
    Lines, ids, 0, 0, 0, "read and write token ids instead of text")
OPTION(LINES | PROMPT, Lines, Text, "--prefix", "TEXT",
    Settings, prefix, 0, 0, 0, "first tokens of every answer")
OPTION(LINES | PROMPT | ENCODE | NUMBERS, Lines, Int, "--max-input", "N",
    Settings, max_input, 1, MOST, 0, "cut longer inputs to this many tokens")
OPTION(ENCODE, Lines, Flag, "--pairs", NULL,
    Encode, pairs, 0, 0, 0, "lines are pairs, TEXT tab TEXT, as for a reranker")
OPTION(ENCODE, Lines, Text, "--prompt-name", "NAME",
    Encode, prompt_name, 0, 0, 0,
    "begin lines with this prompt of the spec")
PROGRAM_OPTION(ENCODE, Lines, Text, "--task", "NAME",
    Encode, task_name, 0, 0, 0,
    "lines are queries or documents: query, document")
OPTION(LINES | ENCODE | NUMBERS, Lines, Text, "--shard", "I/N",
    Shard, shard, 0, 0, 0, "answer a part of the lines, into a file of its own")
OPTION(LINES | ENCODE | NUMBERS, Lines, Flag, "--resume", NULL,
    Shard, resume, 0, 0, 0, "--shard: go on after a run that was ended")
PROGRAM_OPTION(LINES | ENCODE | NUMBERS, Lines, Out, "-o", "FILE",
    Shard, output, 0, 0, 0, "--shard: the file is FILE.I-of-N")
PROGRAM_OPTION(SCORE, Lines, Flag, "--score", NULL,
    Program, score, 0, 0, 0,
    "print the log-probability of lines INPUT tab OUTPUT")

OPTION(PROMPT, Prompt, Text, "--prompt", "TEXT",
    Prompt, prompt, 0, 0, 0, "answer this text, token by token")
OPTION(PROMPT | CHAT, Prompt, Int, "-n", "N",
    Prompt, tokens, 0, MOST, -1, "at most this many tokens of that answer")
OPTION(PROMPT | CHAT, Prompt, List, "--stop", "TEXT",
    Prompt, stop, 0, 0, 0, "end before this text (--ids: these tokens)")
OPTION(PROMPT, Prompt, Out, "--save-state", "FILE",
    Prompt, save_state, 0, 0, 0, "save the state after the answer; - is stdout")
OPTION(PROMPT, Prompt, Text, "--load-state", "FILE",
    Prompt, load_state, 0, 0, 0,
    "continue from a saved state; --prompt adds text")
OPTION(ALL, Prompt, Flag, "--quiet", NULL,
    Prompt, quiet, 0, 0, 0, "print no notes and no tokens per second")

OPTION(CHAT, Chat, Flag, "--chat", NULL,
    Chat, chat, 0, 0, 0, "lines are turns of one conversation")
OPTION(CHAT, Chat, Text, "--system", "TEXT",
    Chat, system, 0, 0, 0, "text of the system's turn")

OPTION(LINES | PROMPT, Search, Int, "--beam", "N",
    Settings, beam, 1, 1024, 0, "number of hypotheses; 1 is greedy")
OPTION(LINES, Search, Int, "--nbest", "N",
    Settings, nbest, 1, 1024, 0,
    "answers per line, each after the line's number")
OPTION(LINES, Search, Flag, "--scores", NULL,
    Settings, scores, 0, 0, 0, "begin each answer with its score")
OPTION(LINES | PROMPT, Search, Float, "--alpha", "X",
    Settings, alpha, 0, 100, -1, "strength of the length penalty")
OPTION(LINES | PROMPT, Search, Float, "--length-penalty", "X",
    Settings, alpha, 0, 100, -1, "the same as --alpha")
OPTION(LINES | PROMPT, Search, Float, "--patience", "X",
    Settings, patience, 0, 100, 1,
    "rule recorded: stop at --beam times this many")
OPTION(LINES | PROMPT | CHAT, Search, Int, "--min-length", "N",
    Settings, process.min_length, 0, MOST, -1,
    "no end token before this many tokens")
OPTION(LINES | PROMPT | CHAT, Search, Int, "--max-output", "N",
    Settings, max_output, 1, MOST, 0, "at most this many tokens in an answer")
OPTION(LINES | PROMPT | CHAT, Search, Float, "--repetition-penalty", "X",
    Settings, process.repetition_penalty, 0.001, 1000, -1,
    "divide the logits of tokens that came already by X")
OPTION(LINES | PROMPT | CHAT, Search, Int, "--no-repeat-ngram", "N",
    Settings, process.no_repeat_ngram, 0, 1000, -1,
    "repeat no n-gram of this length")
OPTION(LINES | PROMPT | CHAT, Search, List, "--suppress", "TOKENS",
    Suppress, suppress, 0, 0, 0,
    "forbid a token or a sequence of tokens")
OPTION(LINES | PROMPT | CHAT, Search, Text, "--grammar", "FILE",
    Settings, grammar, 0, 0, 0, "answers follow this grammar, in GBNF")
OPTION(LINES | PROMPT | CHAT, Search, Int, "--end-token", "ID",
    Settings, end_token, 0, MOST, -1, "this token ends an answer")
OPTION(PROMPT | CHAT, Search, Text, "--draft", "HOW",
    Settings, draft, 0, 0, 0,
    "guess tokens, read several: ngram, or a model")

OPTION(LINES | PROMPT | CHAT, Sampling, Float, "--temperature", "X",
    Settings, sampling.temperature, 0, 1e6, -1,
    "draw tokens at random; 0: take the best")
OPTION(LINES | PROMPT | CHAT, Sampling, Int, "--top-k", "N",
    Settings, sampling.top_k, 0, MOST, 0,
    "draw from the N most probable tokens")
OPTION(LINES | PROMPT | CHAT, Sampling, Float, "--top-p", "X",
    Settings, sampling.top_p, 0, 1, 0,
    "draw from the fewest tokens with this probability")
OPTION(LINES | PROMPT | CHAT, Sampling, Float, "--min-p", "X",
    Settings, sampling.min_p, 0, 1, 0,
    "draw from tokens X times as probable as the best")

OPTION(LINES, Batch, Int, "--batch", "N",
    Settings, batch, 1, 1024, 32,
    "lines that are answered at the same time")
OPTION(LINES, Batch, Int, "--prompt-rows", "N",
    Settings, prompt_rows, 1, MOST, 512,
    "tokens of new lines read between two steps")
OPTION(LINES, Batch, Int, "--memory", "MIB",
    Settings, memory, 1, MOST, -1,
    "MiB for keys and values; default: half of all")
OPTION(LINES, Batch, Int, "--prefix-cache", "MIB",
    Settings, prefix_cache, 0, MOST, -1,
    "MiB for beginnings of lines; default: 1/16 of all")
OPTION(LINES, Batch, Flag, "--unordered", NULL,
    Settings, unordered, 0, 0, 0,
    "print answers as they end, after line numbers")

OPTION(LINES | PROMPT | CHAT, Model, Int, "--seed", "N",
    Seed, seed, 0, MOST, 1, "seed of all random numbers")
OPTION(ALL, Code, Int, "--threads", "N",
    Threads, threads, 1, ATTN_POOL_MOST, -1,
    "number of threads; default: one per physical core")
PROGRAM_OPTION(ALL, Code, Flag, "--no-check", NULL,
    Program, unchecked, 0, 0, 0, "do not check the hash of the weights")
PROGRAM_OPTION(ALL, Code, Int, "--rank-timeout", "S",
    Program, rank_timeout, 1, 1e6, 60,
    "end all ranks if one waits for another for S seconds")
PROGRAM_OPTION(ALL, Lines, Text, "--input", "FILE",
    Program, input, 0, 0, 0, "read lines from this file, not from stdin")
PROGRAM_OPTION(ALL, Code, Flag, "--collectives", NULL,
    Program, collectives, 0, 0, 0,
    "gather by MPI's collectives, not by shared memory")
PROGRAM_OPTION(ALL, General, Flag, "--help", NULL,
    Program, help, 0, 0, 0, "print this text")
PROGRAM_OPTION(ALL, General, Flag, "--version", NULL,
    Program, version, 0, 0, 0,
    "print the name of the model and attnc's version")
PROGRAM_OPTION(ALL, General, Flag, "-V", NULL,
    Program, version, 0, 0, 0, "the same as --version")
/* clang-format on */

#undef LINES
#undef PROMPT
#undef SCORE
#undef CHAT
#undef ENCODE
#undef NUMBERS
#undef ALL
#undef MOST
#undef OPTION
#undef PROGRAM_OPTION
