/* synonyms.h: other tools' names for the options of attnc and of emitted
 * programs, from llama.cpp, llama2.c, CTranslate2, fairseq, transformers, ONNX
 * Runtime, gcc and clang. These names are never accepted; a message gives the
 * answer.
 *
 * SYNONYM(answer, names): names are separated by blanks; "--ctx-size" also
 * stands for --ctx_size, -ctx-size and --CTX-SIZE. The first row whose answer
 * begins with an option or operand of the command is used. An answer in lower
 * case is a sentence and is always usable. */

/* Included without SYNONYM, the table is empty. */
#ifndef SYNONYM
#define SYNONYM(answer, names)
#endif

/* clang-format off */
/* the model */
SYNONYM("< FILE",
    "-f --file --prompt-file --input --input-file --src --source-file -i --in")
SYNONYM("SPEC without an option",
    "-m --model --model-path --model-file --model-dir --model-name --config "
    "--spec -f --file")
SYNONYM("FILE.weights without an option",
    "-m --model --model-path --model-file --weights --checkpoint -w")
SYNONYM("--weights",
    "--checkpoint --ckpt --state-dict --weights-file --safetensors --params -w")
SYNONYM("--emit=obj", "-c --compile-only --obj --object")
SYNONYM("--emit=so", "--shared --fpic --dylib --library")
SYNONYM("--emit=exe", "--exe --executable --program --standalone --link")
SYNONYM("--emit=c", "-S --emit-c --c-source --source")
SYNONYM("--set max_len=N",
    "-c --ctx-size --context-size --n-ctx --max-model-len --max-seq-len "
    "--block-size --seq-length")
SYNONYM("--set dtype=NAME",
    "--dtype --torch-dtype --compute-type --quantization --quantize --quant "
    "--precision --weight-format --outtype --ftype --fp16 --bf16 --int8 --int4 "
    "--load-in-8bit --load-in-4bit")
SYNONYM("--set KEY=VALUE", "--define --override-kv --param --option -D")
SYNONYM("--lora", "--adapter --lora-adapter --peft")
SYNONYM("--families", "--list-models --list-families --architectures")

/* lines and answers */
SYNONYM("--prompt", "-p --text --query --in-prompt")
SYNONYM("--chat",
    "-i --interactive --conversation --cnv --interactive-first --instruct")
SYNONYM("--system", "--system-prompt --sys --system-message")
SYNONYM("--stop",
    "-r --reverse-prompt --stop-words --stop-strings --stop-sequences "
    "--antiprompt")
SYNONYM("--max-output",
    "--max-tokens --max-new-tokens --max-length --max-decoding-length "
    "--max-target-length --max-gen-len --max-len-b --n-predict --num-predict "
    "--predict --gen-len -l")
SYNONYM("-n",
    "--max-tokens --max-new-tokens --n-predict --num-predict --predict --n-gen "
    "--gen-len --output-len --decode-steps")
SYNONYM("--max-input",
    "-c --ctx-size --context-size --n-ctx --max-seq-len --max-source-length "
    "--max-input-length --max-source-positions --truncate")
SYNONYM("--min-length",
    "--min-decoding-length --min-tokens --min-new-tokens --min-len")
SYNONYM("--ids", "--token-ids --input-ids --tokens")
SYNONYM("--pairs", "--text-pair --cross-encoder --rerank")
SYNONYM("--prefix", "--target-prefix --prefix-text --forced-bos-token")
SYNONYM("--save-state", "--prompt-cache --save-session --slot-save-path")
SYNONYM("--attention", "--output-attentions --attentions")
SYNONYM("--tap", "--output-hidden-states --hidden-states --dump-tensor")

/* the search, and sampling */
SYNONYM("--beam",
    "--beams --num-beams --n-beams --beam-size --beam-width --beam-search -k")
SYNONYM("--nbest",
    "--n-best --num-hypotheses --num-return-sequences --num-results --best-of")
SYNONYM("--scores",
    "--with-scores --with-score --return-scores --print-scores --logprobs")
SYNONYM("--length-penalty", "--len-penalty --lenpen --length-normalization")
SYNONYM("--repetition-penalty", "--repeat-penalty --rep-penalty --rep-pen")
SYNONYM("--no-repeat-ngram", "--no-repeat-ngram-size")
SYNONYM("--suppress",
    "--logit-bias --bad-words --suppress-tokens --suppress-sequences "
    "--disable-unk --ban-tokens")
SYNONYM("--end-token", "--eos --eos-id --eos-token --eos-token-id")
SYNONYM("--draft",
    "--lookup --prompt-lookup --prompt-lookup-num-tokens --speculative "
    "--speculate --draft-max")
SYNONYM("--temperature",
    "--tmp --do-sample --sampling-temperature --softmax-temp")
SYNONYM("--top-k", "-k --topk --sampling-topk")
SYNONYM("--top-p", "--topp --sampling-topp --nucleus")
SYNONYM("--min-p", "--minp")
SYNONYM("--seed",
    "-s --random-seed --rng-seed --rand-seed --manual-seed --sampling-seed")

/* the machine, and code for it */
SYNONYM("--threads",
    "-t -j --jobs --num-threads --n-threads --nthreads --nproc --num-cores "
    "--threads-batch --intra-threads --inter-threads --cpu-threads "
    "--intra-op-num-threads --inter-op-num-threads")
SYNONYM("attnc computes on the CPU alone",
    "--device --gpu --cuda --use-gpu --use-cuda --ngl --gpu-layers "
    "--n-gpu-layers --main-gpu --tensor-split --device-map --fa --flash-attn")
SYNONYM("--march TARGET",
    "--arch --target --mcpu --mtune --cpu --isa --target-cpu --mavx2 "
    "--mavx512f --mfma --target-triple")
SYNONYM("--backend",
    "--provider --providers --execution-provider --engine --runtime --ep")
SYNONYM("-O LEVEL", "--opt-level --optimize --optimization-level")
SYNONYM("--cc", "--compiler --host-cc --with-cc")
SYNONYM("--save-temps", "--keep-temps --keep --keep-intermediates")
SYNONYM("--embed", "--embed-weights --bundle --static --single-file")
SYNONYM("--freestanding", "--ffreestanding --bare-metal --baremetal --no-libc")
SYNONYM("--plain", "--readable --scalar --no-simd --no-vectors")
SYNONYM("--skip", "--disable --disable-pass --disabled-optimizers --no-pass")
SYNONYM("--after", "--stop-after --until")
SYNONYM("--dump", "--print-after --print-ir --print-ir-after --dump-graph")
SYNONYM("--list-passes", "--passes --print-passes")
SYNONYM("--explain",
    "--remarks --rpass --fopt-info --fsave-optimization-record")
SYNONYM("-###", "--dry-run --just-print --print-commands")
SYNONYM("--no-check", "--no-verify --skip-check --no-checksum")

/* measurements */
SYNONYM("-p",
    "--n-prompt --prompt-length --seq-len --sequence-length --input-length "
    "--input-len --src-len")
SYNONYM("-b", "--batch --batch-size --ubatch-size --bs")
SYNONYM("-r",
    "--repetitions --repeat --iterations --iters --runs --reps --num-runs")
SYNONYM("--seconds", "--min-time --duration --times")
SYNONYM("--budget", "--time-limit --timeout --max-time --trials")
SYNONYM("--cases", "--samples --num-samples --n-samples --trials")
SYNONYM("--vary", "--grid --param-grid --parameters")
SYNONYM("--records", "--tuning-file --tuning-records --database")

/* output and messages */
SYNONYM("> FILE", "-o --output --out --outfile --output-file")
SYNONYM("-o FILE",
    "--output --out --outfile --output-file --out-file --output-path "
    "--output-dir --export --save")
SYNONYM("--format=svg", "--svg --picture --png --plot --image")
SYNONYM("--format=dot", "--dot --graphviz")
SYNONYM("--format=csv", "--csv --tsv")
SYNONYM("--format=md", "--md --markdown --html")
SYNONYM("--format=json", "--json --print-json --output-format")
SYNONYM("--format",
    "--output-format --out-format --outfmt --type --style -f -T")
SYNONYM("--color=never", "--no-color --no-colour --monochrome --nocolor")
SYNONYM("--color", "--colour --fdiagnostics-color --colors")
SYNONYM("--quiet",
    "-q --silent --no-verbose --log-disable --no-progress --no-display-prompt "
    "--no-perf")
SYNONYM("--verbose", "--debug --log-level --verbosity --log-verbose --vv")
SYNONYM("--help", "-? --usage --man --h")
/* clang-format on */

#undef SYNONYM
