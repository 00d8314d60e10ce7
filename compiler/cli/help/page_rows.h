/* page_rows.h: the text of help and manual pages that is not in commands.h and
 * option_table.h: a paragraph and three examples per command. An example is a
 * shell command and its purpose. It works in a directory that contains models/.
 * Define PAGE before you include this file, which undefines it. */
#ifndef PAGE
#define PAGE(...)
#endif

/* clang-format off */
PAGE(New,
     "Prints a spec to start from: a known architecture in a published size, "
     "with a comment on each field that you may want to change.",
     "attnc new gpt > gpt.yaml", "a decoder of GPT-2's size",
     "attnc new bert -o bert.yaml", "an encoder, into a file",
     "attnc new --list", "list the models")
PAGE(Import,
     "Converts a Hugging Face checkpoint (a folder with config.json, "
     "model.safetensors or its index, and tokenizer files) or a .gguf file of "
     "llama.cpp to a spec and a vocabulary. The weights stay where they are. "
     "With --compile it also writes C.",
     "attnc import --families",
     "list the families that are supported and those that are not",
     "attnc import --families --format=json", "the same list for a program",
     "attnc import --families --format=md > import.md",
     "the same list as Markdown, with an explanation of the import")
PAGE(Compile,
     "Writes the model as C11 that needs only libc and libm: NAME.c, NAME.h "
     "and, unless --embed is given, NAME.weights. With -DATTNC_MAIN the C file "
     "is a program. --emit also compiles it. The C depends only on the spec, "
     "the options, the records of attnc tune and the version of attnc.",
     "attnc compile models/tiny.yaml -o tiny.c", "tiny.c and tiny.h",
     "attnc compile models/g2p-en/g2p-en.yaml --emit=exe -o g2p",
     "a program, with its weights in a file next to it",
     "attnc compile models/tiny.yaml --plain -o tiny.c",
     "plain C to read: loops, one function for each kind of layer")
PAGE(Run,
     "Compiles the model in memory and answers each line of stdin with a line. "
     "--prompt answers one text, token by token. --input and --output compute "
     "tensors. --attention draws the attention weights of a line.",
     "echo attention | attnc run models/g2p-en/g2p-en.yaml",
     "print the phonemes of a word",
     "echo read | attnc run models/g2p-en/g2p-en.yaml --nbest=3 --scores",
     "print its three best answers with their scores",
     "attnc run models/gpt-nano-sort.yaml --ids --prompt '2 0 1' -n 3",
     "continue a prompt, here of token ids and with random weights")
PAGE(Merge,
     "Joins the files that attnc run --shard=I/N, or a program, has written. "
     "FILE is one of them, such as out.1-of-2; its record, out.1-of-2.shard, "
     "is beside it. All N must be given, in any order. OUTPUT gets the bytes "
     "that one run would have written.",
     "attnc merge all.txt out.1-of-2 out.2-of-2", "join two shards",
     "attnc merge all.txt out.*-of-2", "the same: their order does not matter",
     "attnc merge - out.*-of-2 | head -n 1", "print the answers")
PAGE(Score,
     "Reads lines of an input, a tab and an output. For each line it prints "
     "the log-probability of the output, a tab, and the log-probabilities of "
     "its tokens, including the end token.",
     "printf 'read\\tR EH D\\n' | attnc score models/g2p-en/g2p-en.yaml",
     "score an answer",
     "printf 'read\\tR IY D\\n' | attnc score models/g2p-en/g2p-en.yaml",
     "score another answer",
     "printf '5 6\\t7 8\\n' | attnc score models/tiny.yaml --ids",
     "score an answer of token ids")
PAGE(Tokens,
     "Prints the token ids of each line of stdin. FILE is a spec (.yaml), a "
     "checkpoint's folder, or a vocabulary: tokenizer.json, vocab.txt, "
     "SentencePiece's .model, NAME.vocab, a list of tokens. No weights are "
     "read.",
     "echo attention | attnc tokens models/g2p-en/g2p-en.yaml",
     "print the ids of a word",
     "echo attention | attnc tokens models/g2p-en/letters.txt --offsets",
     "use a list of tokens; also print the bytes of each token",
     "echo 3 22 22 | attnc tokens models/g2p-en/letters.txt --decode",
     "print the text of ids")
PAGE(Graph,
     "Prints the operations of the model, one a line, as they were built or "
     "after the passes, which fold scales, merge projections and fuse "
     "attention, norms and epilogues.",
     "attnc graph models/tiny.yaml", "print the graph after all passes",
     "attnc graph models/tiny.yaml --explain --skip=fuse-attention",
     "report what each pass does if one of them is left out",
     "attnc graph models/transformer-base.yaml --format=svg -o base.svg",
     "draw the graph")
PAGE(Plan,
     "Prints the cost of the compiled model without compiling it: parameters, "
     "bytes of weights and of the arena, FLOPs, the tiling of each product. "
     "--ranks and --link estimate the time of one model that is divided over "
     "several machines.",
     "attnc plan models/transformer-base.yaml", "the paper's base model",
     "attnc plan models/tiny.yaml --format=json -o plan.json",
     "write the plan for a program",
     "attnc plan models/llama-1b.yaml --ranks=4 --link=20us,10Gbit/s",
     "the time of steps and prompts over 4 machines")
PAGE(Diff,
     "Compares two specs, A and B, or a spec A and the same spec with --set or "
     "--skip, B. Prints the differences of fields, cost, fusions, operations, "
     "functions and tilings. Layers with the same differences are listed once. "
     "The exit code is 1 if there is a difference.",
     "attnc diff models/transformer-base.yaml models/transformer-big.yaml",
     "compare two specs",
     "attnc diff models/tiny.yaml --set h=4", "show the effect of h",
     "attnc diff models/tiny.yaml --skip=fuse-attention",
     "show the effect of a pass")
PAGE(Tensors,
     "Lists the weights that the model needs, and where each is in the spec's "
     "files. A missing tensor or a wrong shape is an error; unused tensors are "
     "listed.",
     "attnc tensors models/g2p-en/g2p-en.yaml",
     "the tensors, their shapes and their places",
     "attnc tensors models/tiny.yaml",
     "the tensors that a file of weights has to contain",
     "attnc tensors models/tiny.yaml --set d_model=64",
     "the tensors of a variant")
PAGE(Verify,
     "Runs the model on hard inputs, compiled by libtcc and by a C compiler, "
     "fused and unfused, and compares every operation with the graph in double "
     "precision. The exit code is 1 if an operation exceeds its error limit.",
     "attnc verify models/tiny.yaml", "all cases",
     "attnc verify models/tiny.yaml --cases=1 --backend=jit",
     "one case, compiled only by libtcc",
     "attnc verify models/tiny.yaml --backend=jit --set dtype=bf16",
     "a variant")
PAGE(Quantize,
     "Reports the error of each matrix that the spec's dtype stores in fewer "
     "bits than f32, the largest first. With --text it also compares the model "
     "with its f32 weights: perplexity, KL divergence, flips, "
     "cosines. With --keep it finds the matrices that need more bits and "
     "prints a dtype for the spec; the exit code is 1 if there is none.",
     "attnc quantize models/g2p-en/g2p-en.yaml --set dtype=bf16",
     "report the error of each matrix",
     "printf '3\\t4 5\\n' > ids; "
     "attnc quantize models/tiny.yaml --ids --text ids",
     "also compare the results of the model, here all in f32",
     "attnc quantize models/tiny.yaml --set dtype=bf16 --format=json",
     "print the report for a program")
PAGE(Bench,
     "Measures tokens per second and the time of each step of the model, and "
     "compares them with the machine's limit (the roofline). Run nothing else "
     "at the same time.",
     "attnc bench models/tiny.yaml -t 1", "measure on one core",
     "attnc bench models/tiny.yaml -p 8 -n 8 --format=json",
     "set the lengths of sources and answers; print for a program",
     "attnc bench models/tiny.yaml -t 1 --svg roofline.svg",
     "draw the roofline")
PAGE(Watch,
     "Runs the model again whenever you save its spec or a file that it reads "
     "(extended specs, vocabularies, weights). Shows what changed since the "
     "previous run: fields, memory, time, fusions, the graph. The words after "
     "SPEC are a command, bench (default) or run, and its options. Ctrl-C "
     "ends it.",
     "attnc watch models/tiny.yaml", "show the cost and time of each version",
     "attnc watch models/tiny.yaml run --ids --prompt '3 4' -n 4",
     "show the answer of each version",
     "attnc watch models/tiny.yaml bench -t 1 -n 0",
     "measure on one core, without decoding")
PAGE(Sweep,
     "Makes a variant for every combination of the values of --vary, of every "
     "spec, and compares their parameters, memory, FLOPs and time. If a "
     "combination is not a valid model, its line has the reason. If no column "
     "is a time, nothing runs.",
     "attnc sweep models/tiny.yaml --vary h=1,2,4 --vary N=1..3",
     "measure nine variants",
     "attnc sweep models/table3/*.yaml --columns=parameters,weights,flops",
     "compare several specs without running them",
     "attnc sweep models/tiny.yaml --vary p=8..64..x2 -t 1 --svg sweep.svg",
     "measure one model at several lengths, and draw the times")
PAGE(Compare,
     "Compares kinds of layers as the paper's Table 1 does: operations per "
     "layer, sequential operations, and the longest path between two rows. "
     "Measures a call at each length, and the power of the length with which "
     "the time grows. Layers have no feed-forward network unless you give "
     "--set layers.ffn=dense.",
     "attnc compare models/tiny.yaml",
     "compare five kinds at lengths from 16 to 4,096",
     "attnc compare models/tiny.yaml --vary layers.mix=window,gru "
     "--vary p=8,16",
     "compare other kinds, here a window and a GRU",
     "attnc compare models/tiny.yaml --vary p=8..64..x2 --svg table1.svg",
     "also draw the times, with logarithmic axes")
PAGE(Tune,
     "Measures the most promising tilings of each task, and records those that "
     "are faster than the default by more than chance. compile, run and bench "
     "use the records. Tilings change no bit of a result.",
     "attnc tune models/tiny.yaml --budget=5s -t 1", "tune for one core",
     "attnc tune models/tiny.yaml --budget=2s --backend=jit",
     "tune only libtcc's code",
     "attnc tune models/tiny.yaml --budget=2s --records=tiny.records",
     "write the records to a file of their own")
PAGE(Records,
     "The records of attnc tune are lines of a text file in the user's cache. "
     "Actions: show (default), merge FILE .., prune, export, explain.",
     "attnc records", "list the records of this machine",
     "attnc records export -o mine.records",
     "write them to a file for similar machines",
     "attnc records merge mine.records", "add the records of such a file")
PAGE(Cache,
     "attnc keeps models that a C compiler compiled in the user's cache. "
     "Actions: ls (default), clean, verify. clean removes damaged entries. If "
     "the cache is larger than its limit (ATTNC_CACHE_LIMIT, 2G), it also "
     "removes the least recently used entries.",
     "attnc cache", "list the entries, the most recently used first",
     "attnc cache clean --older-than=30d",
     "remove entries that were not used for 30 days",
     "attnc cache verify --remove",
     "check all entries, and remove damaged ones")
PAGE(Fields,
     "Prints the reference of the spec: for each field the values, the "
     "default, the meaning, and the kinds of model that have it. Other pages "
     "describe layers, formulas and weights.",
     "attnc fields", "print all pages",
     "attnc fields positions", "print one field, or a group of fields",
     "attnc fields --page=spec -o spec.md",
     "write one page, as Markdown because the file ends in .md")
PAGE(Help,
     "Prints the options of a command, with examples and exit codes.",
     "attnc help", "list the commands",
     "attnc help run", "the same as attnc run --help",
     "attnc help --format=man run > attnc-run.1", "write the manual page")
PAGE(Completion,
     "Prints a script that completes commands, options and their values in "
     "bash, zsh or fish. `make install` puts it where these shells look for "
     "it. Without that, write it to a file that your shell reads when it "
     "starts.",
     "attnc completion bash > attnc.bash",
     "then add this line to ~/.bashrc: . attnc.bash",
     "attnc completion zsh > _attnc", "write it to a folder of $fpath",
     "attnc completion fish > attnc.fish",
     "write it to ~/.config/fish/completions")
/* clang-format on */

#undef PAGE
