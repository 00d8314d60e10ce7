#!/bin/sh
# shards.sh: 100,000 short lines in N = 1, 2, 5 and 64 shards, two at a time, by
# attnc run and by a program. All are killed at 5 random moments and begun again
# with --resume; the merged file must have the bytes of one run. At least one kill
# must leave some blocks answered, and not all.
#
#   sh tests/shards.sh      LINES=100000 KILLS=5 SEED=1 COUNTS='1 2 5 64'
cd "$(dirname "$0")/.." || exit 1
ATTNC=$PWD/${B:-build}/attnc
CC=${CC:-cc}
LINES=${LINES:-100000} KILLS=${KILLS:-5} SEED=${SEED:-1}
D=$(mktemp -d) || exit 1
group=
trap 'rm -rf "$D"' EXIT
trap '[ -z "$group" ] || kill -s KILL -- "-$group"; exit 1' INT TERM

cat > "$D/words.yaml" << E_SPEC
attnc: 1
name: words
kind: encoder
d_model: 64
h: 4
d_ff: 128
N: 2
max_len: 24
vocab: {file: $PWD/models/g2p-en/letters.txt, tokens: {end: 2}, split: characters, append_end: true}
head: {type: pool, pool: mean}
E_SPEC
awk -v n="$LINES" -v seed="$SEED" 'BEGIN { srand(seed)
    for (i = 1; i <= n; i++) {
        s = ""
        for (k = int(9 * rand()); k >= 0; k--)
            s = s substr("abcdefghijklmnopqrstuvwxyz", 1 + int(26 * rand()), 1)
        print s
    } }' > "$D/lines"
"$ATTNC" compile "$D/words.yaml" --quiet --seed=1 -o "$D/p.c" 2> /dev/null &&
    $CC -O2 -std=c11 -march=native -DATTNC_MAIN "$D/p.c" -lm -lpthread \
        -o "$D/p" || exit 1
printf '#!/bin/sh\nexec "%s" run "%s" --seed=1 "$@"\n' "$ATTNC" \
    "$D/words.yaml" > "$D/run"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$D/p" "$D/p.weights" > "$D/program"
chmod +x "$D/run" "$D/program"

head -n 1 "$D/lines" | "$D/run" > /dev/null 2>&1 # compiles, for the cache
now() { date +%s%N; }
from=$(now)
"$D/run" --threads=1 < "$D/lines" > "$D/one" 2> /dev/null || exit 1
span=$((($(now) - from) / 1000000)) # ms of one run
echo "$LINES lines, one run: $span ms"

job() { # HOW N: starts all shards, two at a time; sets $group
    seq "$2" | setsid xargs -P 2 -I I sh -c \
        "exec $D/$1 --threads=1 --shard=I/$2 --resume -o $D/out < $D/lines 2> /dev/null" &
    group=$!
}
random=$SEED
moment() { # sets $moment: seconds until the next kill, at most a third of a run
    random=$(((random * 1103515245 + 12345) % 2147483648))
    moment=$(awk -v r=$random -v s=$span \
        'BEGIN { printf "%.3f", s / 3000 * r / 2147483648 }')
}

failed=0 all=$(((LINES + 1023) / 1024)) # blocks of all shards
for how in run program; do
    for of in ${COUNTS:-1 2 5 64}; do
        rm -f "$D"/out.*
        kept= k=0 between=0
        while [ $((k += 1)) -le "$KILLS" ]; do
            job $how "$of"
            moment
            sleep "$moment"
            kill -s KILL -- "-$group" 2> /dev/null # none if all was done before
            wait $group 2> /dev/null
            blocks=$(cat "$D"/out.*.shard 2> /dev/null | grep -c ^block)
            kept="$kept $blocks"
            [ "$blocks" -gt 0 ] && [ "$blocks" -lt $all ] && between=1
        done
        job $how "$of"
        wait $group
        group=
        "$ATTNC" merge --force "$D/all" "$D"/out.*-of-"$of" &&
            cmp "$D/all" "$D/one" && r=ok || r=FAILED failed=1
        echo "$r: $how, $of shards; blocks after each kill:$kept"
        [ $between -eq 1 ] ||
            { echo "FAILED: no kill was between the first of $all blocks and the last"
              failed=1; }
    done
done
exit $failed
