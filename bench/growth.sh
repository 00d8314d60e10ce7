#!/bin/sh
# growth.sh: does time grow as the FLOPs do, and attnc's own as the layers?
# Encoders of transformer-base's width by rising length, then by rising layers;
# then what attnc takes for graph, plan and C of deep models: seconds of the
# processor, the least of five runs, and the most memory, in MB.
#
#   bench/growth.sh [ATTNC]
#
# LENGTHS, LAYERS and DEPTHS replace the lists below ("" leaves one out),
# OPTIONS is given to attnc bench. The last column of the first tables is a
# point's rate beside the middle one of its list: 100 % everywhere is time that
# follows the FLOPs exactly. A row of layers that takes more than 2.2 times what
# half of them do is said, and the exit code is 1.
A=${1:-build/attnc}
LENGTHS=${LENGTHS-16 32 64 128 256 512 1024 2048 4096}
LAYERS=${LAYERS-1 2 4 6 12 24}
DEPTHS=${DEPTHS-64 128 256 512 1024}
OPTIONS=${OPTIONS:---threads 1 --seconds 0.5}
SPEC=$(dirname "$0")/../models/transformer-base.yaml
FAILED=$(mktemp) || exit 1
trap 'rm -f "$FAILED"' EXIT

point() { # LABEL LENGTH LAYERS: "LABEL MFLOP MS ERROR"
    "$A" bench "$SPEC" --set "kind=encoder,max_len=4096,N=$3" -p "$2" \
        --no-kernels --format csv $OPTIONS |
    awk -F, -v label="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR == 2 { print label, $at["mflop"], $at["p50_ms"],
                        $at["interval_percent"] }'
}

table() { # HEAD, points on stdin
    awk -v head="$1" '
        { label[NR] = $1; mflop[NR] = $2; ms[NR] = $3; error[NR] = $4
          rate[NR] = sorted[NR] = $2 / $3 }
        END {
            for (i = 1; i <= NR; i++)
                for (k = i + 1; k <= NR; k++)
                    if (sorted[k] < sorted[i]) {
                        t = sorted[i]; sorted[i] = sorted[k]; sorted[k] = t
                    }
            middle = sorted[int((NR + 1) / 2)]
            print "| " head " | MFLOP | p50 ms | +- % | GFLOP/s | of the " \
                  "middle |\n|---:|---:|---:|---:|---:|---:|"
            for (i = 1; i <= NR; i++)
                printf "| %s | %s | %s | %s | %.1f | %.1f %% |\n", label[i],
                       mflop[i], ms[i], error[i] == "" ? "-" : error[i],
                       rate[i], 100 * rate[i] / middle
        }'
}

cost() { # COMMAND ..: "SECONDS MB" of its own process
    python3 -c '
import os, sys
best, most = None, 0
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(sys.argv[1], sys.argv[1:])
    _, status, used = os.wait4(pid, 0)
    if status:
        sys.exit("growth.sh: failed: " + " ".join(sys.argv[1:]))
    seconds = used.ru_utime + used.ru_stime
    best = seconds if best is None else min(best, seconds)
    most = max(most, used.ru_maxrss)
print(f"{best:.3f} {most / 1024:.0f}")' "$@"
}

depth() { # KIND LAYERS: "LAYERS" and a pair for each command
    printf '%s' "$2"
    set -- --set "kind=$1,N=$2" "$SPEC"
    for command in graph "plan --march=native --no-records" \
                   "compile --march=native --no-records -o -"; do
        printf ' %s' "$(cost "$A" $command "$@")"
    done
    echo
}

# LABEL; column 1 of stdin is the layers, the columns of `what` may not grow
# faster. Passes the lines on.
linear() {
    awk -v label="$1" -v what="$2" -v failed="$FAILED" '
        BEGIN { n = split(what, column, " ") }
        { print
          for (i = 1; i <= n; i++) {
              at = substr(column[i], 1, index(column[i], ":") - 1) + 0
              name = substr(column[i], index(column[i], ":") + 1)
              value[$1, i] = $at
              if (($1 / 2, i) in value && $at > 2.2 * value[$1 / 2, i])
                  printf "growth.sh: %s: %s: %d layers take %s, %d %s\n",
                         label, name, $1 / 2, value[$1 / 2, i], $1,
                         $at >> failed
          } }'
}

deep_table() { # KIND, points on stdin
    awk -v kind="$1" '
        NR == 1 { print "| layers, " kind " | graph s | MB | plan s | MB " \
                        "| C s | MB |\n|---:|---:|---:|---:|---:|---:|---:|" }
        { printf "| %s | %s | %s | %s | %s | %s | %s |\n", $1, $2, $3, $4,
                 $5, $6, $7 }'
}

if [ -n "$LENGTHS" ]; then
    for n in $LENGTHS; do point "$n" "$n" 6 || exit 1; done |
        table "rows, 6 layers"
    echo
fi
if [ -n "$LAYERS" ]; then
    for n in $LAYERS; do point "$n" 128 "$n" || exit 1; done |
        linear "encoder, 128 rows" "3:ms" | table "layers, 128 rows"
    echo
fi
for kind in ${DEPTHS:+encoder-decoder encoder decoder}; do
    for n in $DEPTHS; do depth $kind "$n" || exit 1; done |
        linear "$kind" "2:graph,s 3:graph,MB 4:plan,s 5:plan,MB 6:C,s 7:C,MB" |
        deep_table $kind
    echo
done
cat "$FAILED" >&2
[ ! -s "$FAILED" ]
