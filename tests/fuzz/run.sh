#!/bin/sh
# run.sh [TARGET ...]: gives each target new inputs, from those of its corpus on.
# It fails where one crashes, leaks, has undefined behaviour, takes more than a
# second of the processor or 256 MiB; the input is in build/fuzz then.
#
# The runs are those of the table, and afterwards a target must have reached
# 80 % of the lines of its room, the files of the table. With FUZZ_SECONDS each
# target has its share of so many seconds instead, and no room. Of `vocab` half
# of the inputs must be accepted: what is refused early tests little.
table() { cat << END
spec     50000    4096  $COMPILER
tensors  1000000  4096  runtime/weights/safetensors.c runtime/weights/gguf.c \
runtime/weights/shards.c runtime/weights/convert.c
import   20000    12288  compiler/import/bindings.c compiler/import/chat_template.c \
compiler/import/chat_texts.c compiler/import/jinja_call.c compiler/import/jinja_eval.c \
compiler/import/jinja_parse.c compiler/import/jinja_token.c compiler/import/jinja_value.c \
compiler/import/config.c compiler/import/expr.c compiler/import/expr_parse.c \
compiler/import/functions.c compiler/import/import_gguf.c compiler/import/import.c \
compiler/import/judge.c compiler/import/import_layers.c compiler/import/metadata.c compiler/import/resolve.c \
compiler/import/rules.c compiler/import/rules_check.c compiler/import/spec_text.c compiler/import/tensors.c compiler/import/value.c \
compiler/import/vocabulary.c compiler/tokenizer/tokenizer_gguf.c
vocab    500000  98304  runtime/text/vocab.c runtime/text/vocab_check.c \
$(ls compiler/tokenizer/*.c | grep -v gguf | tr "\n" " ") runtime/text/merges.c runtime/text/tokens.c runtime/text/text.c \
runtime/text/added.c runtime/text/aligned.c runtime/text/charmap.c runtime/text/encoding.c \
runtime/text/normal.c runtime/text/ranks.c runtime/text/replace.c runtime/text/sentencepiece.c \
runtime/text/split.c runtime/text/steps.c runtime/text/trie.c runtime/text/unigram.c \
runtime/text/wordpiece.c
state    1000000  8192  runtime/search/state.c runtime/search/stream.c
records  1000000  2048  compiler/records/records.c compiler/records/line.c \
compiler/records/file.c compiler/records/records_print.c
resume   300000   4096  compiler/sweep/resume_file.c compiler/sweep/row.c \
compiler/sweep/sweep_csv.c compiler/sweep/sweep_json.c compiler/sweep/pareto.c
packed   1000000  4096  runtime/weights/packed.c
shard    1000000  1024  runtime/text/shard_record.c
command  50000    1024  compiler/main.c compiler/cli/options/options.c \
compiler/cli/options/command_line.c compiler/cli/options/model_options.c compiler/cli/options/lines.c \
compiler/cli/run/run_attention.c compiler/cli/command/cmd_compile.c compiler/cli/command/cmd_graph.c \
compiler/cli/command/cmd_tensors.c compiler/cli/command/cmd_plan.c compiler/cli/command/cmd_records.c \
compiler/cli/command/cmd_run.c compiler/cli/command/cmd_score.c compiler/cli/run/answering.c \
compiler/cli/run/run_input.c runtime/text/input_lines.c runtime/program/program_lines.c \
runtime/program/program_parts.c runtime/program/program_stream.c
END
}

here=$PWD failed=0
clang=$(echo "$CC" | awk '{ print $NF }')
version=$("$clang" -dumpversion | cut -d. -f1)
export ASAN_OPTIONS=quarantine_size_mb=16:$ASAN_OPTIONS

wanted() { # TARGET NAME ...
    target=$1; shift
    [ $# -eq 0 ] && return 0
    for name; do [ "$name" = "$target" ] && return 0; done
    return 1
}

# The libFuzzer program of a target, over its corpus and what was found before.
fuzz() { # TARGET RUNS BYTES
    new=$here/build/fuzz/$1 log=build/fuzz/$1.log
    mkdir -p "$new"
    limit=-runs=$2
    [ -z "$FUZZ_SECONDS" ] || limit=-max_total_time=$((FUZZ_SECONDS / share))
    build/asan/tests/fuzz/"$1" "$new" "$here/tests/fuzz/corpus/$1" "$limit" \
        -max_len="$3" -rss_limit_mb=256 -timeout=60 -close_fd_mask=3 \
        -artifact_prefix="$here/build/fuzz/$1-" -print_final_stats=1 \
        > "$log" 2>&1
}

# Lines of the room that the corpus and the new inputs reach, in percent.
covered() { # TARGET FILE ...
    target=$1; shift
    at=build/fuzz/$target
    LLVM_PROFILE_FILE=$here/$at.profraw build/covered/tests/fuzz/"$target"_test \
        "$here/tests/fuzz/corpus/$target" "$here/$at" > /dev/null 2>&1
    "llvm-profdata-$version" merge "$at.profraw" -o "$at.profdata" &&
    "llvm-cov-$version" report build/covered/tests/fuzz/"$target"_test \
        -instr-profile="$at.profdata" "$@" > "$at.lines" &&
    awk '$1 == "TOTAL" { print int(100 * ($8 - $9) / $8) }' "$at.lines"
}

# Jobs that ended with 0, in percent of all.
accepted() { # LOG
    awk '/^fuzz: .* jobs end with 0/ { print int(100 * $2 / $4) }' "$1"
}

# "1234 runs, 56 a second, 789 edges", from libFuzzer's log
figures() {
    awk '/^#[0-9]+/ { for (i = 1; i < NF; i++)
                          if ($i == "cov:") edges = $(i + 1) }
         /number_of_executed_units/ { runs = $2 }
         /average_exec_per_sec/ { speed = $2 }
         END { printf "%9d runs, %6d a second, %5d edges", runs, speed,
                      edges }' "$1"
}

share=$(table | while read -r t rest; do wanted "$t" "$@" && echo; done | wc -l)
mkdir -p build/fuzz
table > build/fuzz/table
while read -r target runs bytes room; do
    wanted "$target" "$@" || continue
    fuzz "$target" "$runs" "$bytes"
    rc=$? lines=
    share_of=$(accepted "build/fuzz/$target.log")
    printf '%-8s %s, %s %% accepted' "$target" \
        "$(figures "build/fuzz/$target.log")" "${share_of:-no}"
    [ "$target" != vocab ] || [ "${share_of:-0}" -ge 50 ] || rc=1
    if [ $rc -ne 0 ]; then
        echo ": FAILED"
        grep -v '^#' "build/fuzz/$target.log" | tail -n 60
    elif [ -z "$FUZZ_SECONDS" ]; then
        lines=$(covered "$target" $room)
        echo ", ${lines:-no} % of its room's lines"
        [ "${lines:-0}" -ge 80 ] || { rc=1; cat "build/fuzz/$target.lines"; }
    else
        echo
    fi
    [ $rc -eq 0 ] || failed=$((failed + 1))
done < build/fuzz/table
[ $failed -eq 0 ]
