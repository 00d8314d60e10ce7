#!/bin/sh
# rank_kills.sh: kills (SIGKILL) or stops (SIGSTOP) one rank of a job of mpirun at
# random moments, by each MPI library that is here, in jobs of 2 and 3 ranks. The
# job must end within 10 s, by a code that is not 0; the program prints at most
# one message, one if the rank stands still, but each rank may print one before
# MPI has started; answers are complete lines, the first of those of one process.
#
#   sh tests/rank_kills.sh      KILLS=100 SEED=1
cd "$(dirname "$0")/.." || exit 1
ATTNC=$PWD/${B:-build}/attnc
G2P=$PWD/models/g2p-en/g2p-en.yaml
KILLS=${KILLS:-100} random=${SEED:-1}
D=$(mktemp -d) || exit 1
pids=
trap 'rm -rf "$D"' EXIT
trap '[ -z "$pids" ] || kill -s KILL $pids; exit 1' INT TERM
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

draw() { # MOST: sets $drawn, 0 to MOST - 1
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 1024 % $1))
}

libraries=
for m in mpich openmpi; do
    command -v mpicc.$m mpirun.$m > /dev/null || continue
    libraries="$libraries $m"
    for r in 2 3; do
        "$ATTNC" compile "$G2P" --ranks=$r --cc=mpicc.$m --emit=exe --quiet \
            -o "$D/$m.$r" || exit 1
    done
done
[ "$libraries" ] || { echo 'rank_kills.sh: needs mpicc and mpirun of MPICH or Open MPI'; exit 77; }
"$ATTNC" compile "$G2P" --emit=exe --quiet -o "$D/one" || exit 1
for i in 1 2 3 4 5 6 7 8; do head -n 250 models/g2p-en/heldout.txt | cut -f 1; done > "$D/words"
"$D/one" "$D/one.weights" < "$D/words" > "$D/want" || exit 1
for i in 1 2 3 4 5 6 7 8 9 10; do cat "$D/want"; done > "$D/all"
for i in 1 2 3 4 5 6 7 8 9 10; do cat "$D/words"; done > "$D/lines"

job() { # LIBRARY RANKS
    oversubscribe=
    [ "$1" = mpich ] || oversubscribe=--oversubscribe
    mpirun.$1 $oversubscribe -n "$2" "$D/$1.$2" "$D/one.weights" \
        --rank-timeout=2 --input="$D/lines" > "$D/out" 2> "$D/err" < /dev/null
    echo $? > "$D/code"
}

# MPICH's mpirun writes what it has to say of a lost rank to stdout, after an
# empty line.
answers() {
    sed '/^$/,$d' "$D/out"
}

# Prints what is wrong with a job that has ended, or not after 10 s.
wrong() { # SIGNAL
    [ -s "$D/code" ] || { echo 'has not ended after 10 s'; return; }
    [ "$(cat "$D/code")" -ne 0 ] || echo 'code 0'
    n=$(grep -c ': error: ' "$D/err")
    [ "$n" -le 1 ] || [ "$(answers | wc -l)" -eq 0 ] || echo "$n messages"
    [ "$1" = KILL ] || [ "$n" -ge 1 ] || echo 'no message'
    head -n "$(answers | wc -l)" "$D/all" > "$D/want"
    answers | cmp -s "$D/want" - || echo 'other answers, or a part of a line'
}

one() { # LIBRARY RANKS SIGNAL
    rm -f "$D/code" "$D/out" "$D/err"
    job "$1" "$2" &
    i=0
    until pids=$(pgrep -f "^$D/$1.$2 ") && [ "$(echo "$pids" | wc -l)" -eq "$2" ]; do
        sleep 0.02
        [ $((i += 1)) -lt 3000 ] || { echo 'no ranks'; return; }
    done
    draw 2000
    sleep "$(printf '%d.%03d' $((drawn / 1000)) $((drawn % 1000)))"
    draw "$2"
    kill -s "$3" "$(echo "$pids" | sed -n "$((drawn + 1))p")" 2> /dev/null ||
        { echo 'had ended before'; return; }
    i=0
    until [ -s "$D/code" ] || [ $i -ge 100 ]; do
        sleep 0.1
        i=$((i + 1))
    done
    [ $i -le "$slowest" ] || slowest=$i
    wrong "$3" > "$D/wrong"
    kill -s KILL $pids 2> /dev/null
    wait
    pids=
    [ -s "$D/wrong" ] || return
    failed=$((failed + 1))
    echo "$1, $2 ranks, SIG$3, rank $drawn: $(paste -s -d, "$D/wrong"); code $(cat "$D/code"), $(answers | wc -l) lines"
    sed 's/^/    /' "$D/err"
}

failed=0 slowest=0 k=0
while [ $k -lt "$KILLS" ]; do
    for m in $libraries; do
        for signal in KILL STOP; do
            [ $k -lt "$KILLS" ] || continue
            draw 2
            one $m $((drawn + 2)) $signal
            k=$((k + 1))
        done
    done
done
echo "$KILLS kills, $failed failed; the slowest job ended after $((slowest / 10)).$((slowest % 10)) s"
[ $failed -eq 0 ]
