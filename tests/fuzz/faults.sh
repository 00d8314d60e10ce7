#!/bin/sh
# faults.sh [TARGET ...]: plants a fault for each target, a bound that is missing
# in a copy of one file, and fails where 60 s of fuzzing do not find it. It is
# started by make fuzz-faults, which says how to compile.
#
# TARGET FILE SED: the edit that removes the bound
faults() { cat << 'END'
spec     compiler/spec/values/field_value.c  s/(double)value < f->least ||/false \&\&/
tensors  runtime/weights/safetensors.c   s/n > f->size - LengthBytes/n > HeaderLimit/
import   compiler/import/import.c s/!key || key->value.kind != ValueText/!key/
vocab    runtime/text/vocab.c         s/v->sorted\[i\] >= size/0/
state    runtime/search/state.c         s/if (bytes != state_size(.*/if (0)/
records  compiler/records/line.c s/if (n < tail)/if (n == 0)/
resume   compiler/sweep/row.c    s/ \&\& bound < (double)Bounds//
packed   runtime/weights/packed.c        s/|| part > bytes - at)/)/
shard    runtime/text/shard_record.c s/ || i > n || n > ATTN_SHARDS/ || n > ATTN_SHARDS/
command  runtime/text/input_lines.c     s/!attn_number_ends(at, end) || id >= s->size/!attn_number_ends(at, end)/
END
}

at=build/fuzz/faults failed=0
export ASAN_OPTIONS=quarantine_size_mb=16:$ASAN_OPTIONS

wanted() { # TARGET NAME ...
    target=$1; shift
    [ $# -eq 0 ] && return 0
    for name; do [ "$name" = "$target" ] && return 0; done
    return 1
}

# The target with the faulty file in the place of the library's.
build() { # TARGET FILE SED
    sed "$3" "$2" > "$at/$1.c"
    if cmp -s "$2" "$at/$1.c"; then
        echo "$1: $2 has no such bound: $3"
        return 1
    fi
    extra=
    [ "$1" != command ] || extra=$F/main.o
    [ "$1" != vocab ] ||
        extra="$F/tokenizers.o $F/tokenizer_json.o $F/maker.o"
    $COMPILE -Wno-error -I"$(dirname "$2")" -c -o "$at/$1.o" "$at/$1.c" &&
    $LINK -fsanitize=fuzzer -o "$at/$1" "$F/$1.o" "$F/support.o" "$F/held.o" $extra \
        "$at/$1.o" "$B/libattnc.a" $LDLIBS
}

mkdir -p $at
faults > $at/table
while read -r target file edit; do
    wanted "$target" "$@" || continue
    rm -rf "${at:?}/$target.new"
    mkdir -p "$at/$target.new"
    from=$(date +%s)
    build "$target" "$file" "$edit" || { failed=$((failed + 1)); continue; }
    $at/"$target" "$PWD/$at/$target.new" "$PWD/tests/fuzz/corpus/$target" \
        -max_total_time=60 -max_len=16384 -rss_limit_mb=256 -close_fd_mask=3 \
        -artifact_prefix="$PWD/$at/$target-" > "$at/$target.log" 2>&1
    found=$(grep -E '^fuzz:|^SUMMARY:' "$at/$target.log" | head -n 1)
    if [ -n "$found" ]; then
        echo "$target: found within $(($(date +%s) - from)) s: $found"
    else
        echo "$target: NOT found: $file, $edit"
        failed=$((failed + 1))
    fi
done < $at/table
[ $failed -eq 0 ]
