#!/bin/sh
# run.sh: runs the tests and says how many passed.
#
#   tests/run.sh [--rewrite] [NAME ...]    all, or those whose path has a NAME
#
# A test is a cmocka program, $B/tests/NAME_test; or tests/readme_test; or a
# golden file, whose suffix says what it is compared with:
#   spec/X.err         messages of `attnc graph` for X.yaml
#   graph/X.PASS.txt   the graph of X.yaml after PASS (built: before all)
#   emit/X.c           the C file of X.yaml
#   cli/X.cmd          a line of arguments, one a call; stdin is X.in. Output:
#                      X.out, X.err, X.rc (the last call's; absent: 0, and
#                      nothing), X.ls: the files left in TMP
# Lines of stderr that tell a speed are left out.
# --rewrite writes the golden files: read the difference before a commit.
set -f
B=${B:-build}
A=$B/attnc T=$B/tmp LOG=$B/log rewrite=
[ "$1" = --rewrite ] && rewrite=1 && shift
mkdir -p "$B"
passed=0 failed=0
export CMOCKA_MESSAGE_OUTPUT=TAP XDG_CACHE_HOME="$PWD/$B/cache"
export ATTNC="$PWD/$A" LC_ALL=C

wanted() {
    [ $# -eq 1 ] && return 0
    path=$1; shift
    for name; do case $path in *"$name"*) return 0 ;; esac; done
    return 1
}

count() { # NAME failed?
    if [ "$2" = 0 ]; then passed=$((passed + 1))
    else failed=$((failed + 1)); echo "FAIL $1"; fi
}

run_program() {
    timeout "${LIMIT:-900}" "$1" > "$LOG" 2>&1
    rc=$?
    bad=$(grep '^not ok' "$LOG" | grep -vc '# SKIP')
    good=$(grep '^ok' "$LOG" | grep -vc '# SKIP')
    [ $rc -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    passed=$((passed + good)) failed=$((failed + bad))
    [ "$bad" -eq 0 ] || { echo "FAIL $1 (exit code $rc)"; tail -n 40 "$LOG"; }
}

same() { # EXPECTED FOUND: equal, where an absent file is an empty one
    [ -n "$rewrite" ] && { if [ -s "$2" ]; then cp "$2" "$1"
                           else rm -f "$1"; fi; return 0; }
    if [ -e "$1" ]; then diff -u "$1" "$2"; else diff -u /dev/null "$2"; fi
}

golden() { # EXPECTED ARGUMENTS: stdout; stderr for .err
    expected=$1; shift
    case $expected in
    *.err) "$A" "$@" < /dev/null 2> "$LOG" > /dev/null ;;
    *)     "$A" "$@" < /dev/null > "$LOG" 2>&1 ;;
    esac
    same "$expected" "$LOG"; count "$expected" $?
}

run_cli() {
    x=${1%.cmd} bad=0 rc=0
    rm -rf "$T" && mkdir -p "$T"
    [ -e "$x.in" ] && in=$x.in || in=/dev/null
    : > "$B/out"; : > "$B/err"; : > "$B/rc"
    while read -r line; do
        "$A" $(echo "$line" | sed "s|TMP|$T|g") \
            < "$in" >> "$B/out" 2>> "$B/err"
        rc=$?
    done < "$1"
    [ $rc -eq 0 ] || echo $rc > "$B/rc"
    sed -i "s|$T|TMP|g" "$B/out" "$B/err"
    sed -i "/ tokens per second; /d" "$B/err"
    same "$x.out" "$B/out" || bad=1
    same "$x.err" "$B/err" || bad=1
    same "$x.rc" "$B/rc" || bad=1
    ls -A "$T" > "$B/ls"
    same "$x.ls" "$B/ls" || bad=1
    count "$1" $bad
}

for p in $(find "$B"/tests tests -name '*_test' -o -name '*.cmd' -o \
           -path '*/spec/*.err' -o -path '*/graph/*.txt' -o \
           -path '*/emit/*.c' | sort); do
    wanted "$p" "$@" || continue
    y=${p%/*}/$(basename "$p" | cut -d. -f1).yaml
    pass=$(basename "$p" .txt | cut -d. -f2)
    case $p in
    */readme_test) if [ -n "$rewrite" ]; then "$p" --rewrite
                   else run_program "$p"; fi ;;
    *_test)      [ -n "$rewrite" ] || run_program "$p" ;;
    *.cmd)       run_cli "$p" ;;
    *.err)       golden "$p" graph "$y" ;;
    *.build.txt) golden "$p" graph "$y" --stage=built ;;
    *.txt)       golden "$p" graph "$y" --after="$pass" ;;
    *.c)         golden "$p" compile "$y" --march=x86-64-v3 -o - ;;
    esac
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
