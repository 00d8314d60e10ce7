/* page_rows.h: the text of help and manual pages that is not in commands.h and
 * option_table.h: a paragraph and three examples per command. An example is a
 * shell command and its purpose. It works in a directory that contains models/.
 * Define PAGE before you include this file, which undefines it. */
#ifndef PAGE
#define PAGE(...)
#endif

/* clang-format off */
PAGE(New,
     "Writes the spec of a known form to stdout or a file: all fields that one "
     "may want to change, each with a comment. Sizes are those of a published "
     "model.",
     "attnc new gpt > gpt.yaml", "a decoder, with GPT-2's sizes",
     "attnc new bert -o bert.yaml", "an encoder, into a file",
     "attnc new --list", "what there is")
PAGE(Import,
     "Reads a checkpoint's folder as Hugging Face's tools write it: "
     "config.json, model.safetensors or its index, tokenizer files. Writes its "
     "spec, with the names of its tensors; the weights stay where they are. "
     "With --compile the C too.",
     "attnc import --families", "what is known, and what is not",
     "attnc import --families --format=json", "the same for a program",
     "attnc import --families --format=md > import.md",
     "the same as a page")
PAGE(Compile,
     "Writes the model as C11 that needs no library but libm: NAME.c, NAME.h "
     "and, where there are weights, NAME.weights. With -DATTNC_MAIN the C file "
     "is a program. --emit also compiles it. The text depends on the spec, the "
     "options, the records of attnc tune and attnc's version alone.",
     "attnc compile models/tiny.yaml -o tiny.c", "tiny.c and tiny.h",
     "attnc compile models/g2p-en/g2p-en.yaml --emit=exe -o g2p",
     "a program, and its weights beside it",
     "attnc compile models/tiny.yaml --plain -o tiny.c",
     "plain C to be read: loops, one function a kind of layer")
PAGE(Run,
     "Compiles the model in memory and answers each line of stdin by a line. "
     "--prompt answers one text, as it comes. --input and --output compute "
     "tensors, --attention draws which token looks at which.",
     "echo attention | attnc run models/g2p-en/g2p-en.yaml",
     "the phonemes of a word",
     "echo read | attnc run models/g2p-en/g2p-en.yaml --nbest=3 --scores",
     "its three best answers, with their scores",
     "attnc run models/gpt-nano-sort.yaml --ids --prompt '2 0 1' -n 3",
     "go on with a text, here of ids, by random weights")
PAGE(Score,
     "Reads lines of an input, a tab and an output. Each is answered by the "
     "logarithm of the output's probability, a tab, and those of its tokens, "
     "the end among them.",
     "printf 'read\\tR EH D\\n' | attnc score models/g2p-en/g2p-en.yaml",
     "how probable an answer is",
     "printf 'read\\tR IY D\\n' | attnc score models/g2p-en/g2p-en.yaml",
     "and another one",
     "printf '5 6\\t7 8\\n' | attnc score models/tiny.yaml --ids",
     "the same with token ids")
PAGE(Tokens,
     "Answers each line of stdin by its token ids. FILE is a spec (.yaml), a "
     "checkpoint's folder, or a vocabulary: tokenizer.json, vocab.txt, "
     "SentencePiece's .model, NAME.vocab, a list of tokens. No weights are "
     "read.",
     "echo attention | attnc tokens models/g2p-en/g2p-en.yaml",
     "the ids of a word",
     "echo attention | attnc tokens models/g2p-en/letters.txt --offsets",
     "of a file of tokens; with the bytes where each stands",
     "echo 3 22 22 | attnc tokens models/g2p-en/letters.txt --decode",
     "the text of ids")
PAGE(Graph,
     "Prints the operations of the model, one a line: as built, or as the "
     "passes left them, which fold scales, merge projections and fuse "
     "attention, norms and epilogues.",
     "attnc graph models/tiny.yaml", "after all passes",
     "attnc graph models/tiny.yaml --explain --skip=fuse-attention",
     "what each pass did, and what happens without one of them",
     "attnc graph models/transformer-base.yaml --format=svg -o base.svg",
     "as a picture")
PAGE(Plan,
     "Prints what the compiled model costs, without compiling it: parameters, "
     "bytes of weights and of the arena, FLOPs, the tiling of each product.",
     "attnc plan models/transformer-base.yaml", "the paper's base model",
     "attnc plan models/transformer-base.yaml --set N=12 --set dtype=bf16",
     "what a variant costs",
     "attnc plan models/tiny.yaml --format=json -o plan.json",
     "for a program")
PAGE(Diff,
     "Prints what differs between two specs, A and B, or between a spec, A, "
     "and the same with --set or --skip, B: fields, cost, fusions, operations "
     "by their names, functions, tilings. Layers that differ alike come once. "
     "Exit code 1 says that something differs.",
     "attnc diff models/transformer-base.yaml models/transformer-big.yaml",
     "two specs",
     "attnc diff models/tiny.yaml --set h=4", "what h changes",
     "attnc diff models/tiny.yaml --skip=fuse-attention", "what a pass does")
PAGE(Tensors,
     "Lists the weights that the model needs, and where in the spec's files "
     "each of them is: missing and misshapen ones are errors, idle ones are "
     "named.",
     "attnc tensors models/g2p-en/g2p-en.yaml",
     "the tensors, their shapes and their places",
     "attnc tensors models/tiny.yaml", "those that files would have to have",
     "attnc tensors models/tiny.yaml --set d_model=64", "and of a variant")
PAGE(Verify,
     "Runs the model, compiled by libtcc and by a C compiler, fused and not "
     "fused, on hard inputs, and compares every operation with the same in "
     "double precision. Exit code 1 says that one is outside of its gate.",
     "attnc verify models/tiny.yaml", "all cases",
     "attnc verify models/tiny.yaml --cases=1 --backend=jit",
     "one case, by libtcc alone",
     "attnc verify models/tiny.yaml --backend=jit --set dtype=bf16",
     "a variant")
PAGE(Quantize,
     "Prints what each matrix in fewer bits than f32 loses, worst first: the "
     "spec's dtype says which these are. With --text, what the model loses, "
     "beside the same with f32 weights: perplexity, KL divergence, flips, "
     "cosines. With --keep, which matrices need more bits: a dtype for the "
     "spec; where none does, exit code 1.",
     "attnc quantize models/g2p-en/g2p-en.yaml --set dtype=bf16",
     "each matrix",
     "printf '3\\t4 5\\n' > ids; "
     "attnc quantize models/tiny.yaml --ids --text ids",
     "and the model, here of f32 alone",
     "attnc quantize models/tiny.yaml --set dtype=bf16 --format=json",
     "for a program")
PAGE(Bench,
     "Measures tokens per second, and each step of the model, beside what the "
     "machine can do at most: the roofline. Let nothing else run meanwhile.",
     "attnc bench models/tiny.yaml -t 1", "on one core",
     "attnc bench models/tiny.yaml -p 8 -n 8 --format=json",
     "with sources and answers of these lengths, for a program",
     "attnc bench models/tiny.yaml -t 1 --svg roofline.svg", "as a picture")
PAGE(Watch,
     "Runs the model again when its spec is saved, or a file that it reads: "
     "extended specs, vocabularies, weights. Shows what is new beside the run "
     "before: fields, memory, time, fusions, the graph. What follows SPEC is "
     "for bench (default) or run. Ctrl-C ends it.",
     "attnc watch models/tiny.yaml", "cost and time of each version",
     "attnc watch models/tiny.yaml run --ids --prompt '3 4' -n 4",
     "the answer of each version",
     "attnc watch models/tiny.yaml bench -t 1 -n 0",
     "on one core, sources alone")
PAGE(Sweep,
     "Makes every combination of the values of --vary, of every spec, and "
     "shows what each costs: parameters, memory, FLOPs, time. A combination "
     "that fits no model is a line that says why. Where no column is of "
     "times, nothing runs.",
     "attnc sweep models/tiny.yaml --vary h=1,2,4 --vary N=1..3",
     "nine variants, timed",
     "attnc sweep models/table3/*.yaml --columns=parameters,weights,flops",
     "several specs, nothing runs",
     "attnc sweep models/tiny.yaml --vary p=8..64..x2 -t 1 --svg sweep.svg",
     "one model at several lengths, as a picture too")
PAGE(Compare,
     "Sets kinds of layers side by side as the paper's Table 1 does: "
     "operations of a layer, those that wait for each other, the longest path "
     "between two rows; and beside them what a call takes here at each length, "
     "and with which power of the length that grows. Layers have no "
     "feed-forward network, unless --set layers.ffn=dense gives them one.",
     "attnc compare models/tiny.yaml", "five kinds, n 16 to 4,096",
     "attnc compare models/tiny.yaml --vary layers.mix=window,gru "
     "--vary p=8,16",
     "other kinds: window, recurrent, simple, convolution, separable",
     "attnc compare models/tiny.yaml --vary p=8..64..x2 --svg table1.svg",
     "a picture too, both sides logarithmic")
PAGE(Tune,
     "Times the tilings of each task that promise most, and records those that "
     "are faster than the default beyond chance. compile, run and bench take "
     "them from there. Tunings change no bit of a result.",
     "attnc tune models/tiny.yaml --budget=5s -t 1", "for one core",
     "attnc tune models/tiny.yaml --budget=2s --backend=jit",
     "for libtcc's code alone",
     "attnc tune models/tiny.yaml --budget=2s --records=tiny.records",
     "into a file of its own")
PAGE(Records,
     "The records are a file of text in the user's cache, a line each. "
     "Actions: show (default), merge FILE .., prune, export, explain.",
     "attnc records", "what was found on this machine",
     "attnc records export -o mine.records", "for others of the same kind",
     "attnc records merge mine.records", "take what another one exported")
PAGE(Cache,
     "What attnc makes and may need again is kept in the user's cache: models "
     "that a C compiler compiled. Actions: ls (default), clean, verify. clean "
     "removes what is not sound, and what was used longest ago beyond the "
     "limit: ATTNC_CACHE_LIMIT, 2G.",
     "attnc cache", "what is there, the last used first",
     "attnc cache clean --older-than=30d", "what was not used for 30 days",
     "attnc cache verify --remove", "reads all, removes what was damaged")
PAGE(Fields,
     "Prints the reference of the spec. For each field it has the values, the "
     "default, the meaning, and the kinds of model that have it. Other pages "
     "describe layers, formulas and weights.",
     "attnc fields", "all pages",
     "attnc fields positions", "one field, or a group of fields",
     "attnc fields --page=spec -o spec.md",
     "one page, as Markdown because of the file's ending")
PAGE(Help,
     "Prints what a command takes, with examples and its exit codes.",
     "attnc help", "the commands",
     "attnc help run", "one of them, the same as attnc run --help",
     "attnc help --format=man run > attnc-run.1", "its page of the manual")
PAGE(Completion,
     "Prints a script that completes commands, options and their values, in a "
     "shell: bash, zsh or fish. make install puts it where they look for it; "
     "without that it goes into a file that the shell reads when it starts.",
     "attnc completion bash > attnc.bash", "then: . attnc.bash, in ~/.bashrc",
     "attnc completion zsh > _attnc", "into a folder of $fpath",
     "attnc completion fish > attnc.fish", "into ~/.config/fish/completions")
/* clang-format on */

#undef PAGE
