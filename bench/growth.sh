#!/bin/sh
# growth.sh: does time grow as the FLOPs do? Encoders of transformer-base's width
# by rising length, then by rising layers.
#
#   bench/growth.sh [ATTNC]
#
# LENGTHS and LAYERS replace the lists below ("" leaves one out), OPTIONS is
# given to attnc bench. The last column is a point's rate beside the middle one
# of its list: 100 % everywhere is time that follows the FLOPs exactly.
A=${1:-build/attnc}
LENGTHS=${LENGTHS-16 32 64 128 256 512 1024 2048 4096}
LAYERS=${LAYERS-1 2 4 6 12 24}
OPTIONS=${OPTIONS:---threads 1 --seconds 0.5}
SPEC=$(dirname "$0")/../models/transformer-base.yaml

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

if [ -n "$LENGTHS" ]; then
    for n in $LENGTHS; do point "$n" "$n" 6 || exit 1; done |
        table "rows, 6 layers"
    [ -n "$LAYERS" ] && echo
fi
if [ -n "$LAYERS" ]; then
    for n in $LAYERS; do point "$n" 128 "$n" || exit 1; done |
        table "layers, 128 rows"
fi
