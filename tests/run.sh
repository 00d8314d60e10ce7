#!/bin/sh
# run.sh: runs the tests, side by side, and says how many passed.
#
#   tests/run.sh [--rewrite] [NAME ...]    all, or those whose path has a NAME:
#                                          spec/ search_test 'cli/run_*.cmd'
#                                          !NAME leaves some out: spec/ !yaml
#
# Before that make builds attnc and the test programs that will run, with the
# compiler and flags that $B/flags records: the Makefile writes that file when
# it links attnc. A folder without that file is left as it is.
#
# A test is a program, $B/tests/ROOM/NAME_test, made of the file of that name
# with cmocka, or a script, tests/NAME_test or tests/ROOM/NAME_test. Both print
# TAP; a skip has a reason: `ok N - NAME # SKIP WHY`, or, since
# cmocka prints none, a line `skip: WHY` before. Or a golden file, whose suffix
# says what it is compared with:
#   spec/X.yaml        X.err has the messages of `attnc graph`, which ends well
#                      where there are none
#   graph/X.PASS.txt   the graph of X.yaml after PASS (built: before all)
#   emit/fragments/    X.txt has functions, structs and tables of an emitted
#                      file: /* attnc compile ARGUMENTS: NAME .. */ says which
#   cli/X.cmd          a call a line, its exit code before its arguments; stdin
#                      is X.in. Output: X.out, X.err (absent: nothing), X.ls:
#                      the files left in TMP
# Lines of stderr that tell a speed are left out, sizes of files written masked.
# --rewrite writes the golden files: read the difference before a commit.
# EMULATOR=qemu-aarch64: programs of $B are run by it.
# JOBS=2: so many at once (else one more than there are cores, since some wait
# at times).
# A test ends after 60 s or the limit that its source names in a comment,
# `limit: 300 s`; later on a machine that is busy.
# CACHE=build/cache: the cache of compiled objects, in place of $B/cache.
# SLOW=10 multiplies these limits, LIMIT=900 replaces them.
# TIMES=1: prints the seconds of processor time of each test.
# FIRST=1: starts no further test once one has failed.
set -f
here=$(cd "$(dirname "$0")" && pwd)
export B="${B:-build}" CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C
A=$B/attnc
passed=0 failed=0 skipped=0

# ------------------------------------------------------------- one test ---
# Runs a command that ends with the time, or with this script: `timeout` has a
# process group, which Ctrl-C does not reach; a command in the background would
# ignore it, and read nothing.
limited() {
    timeout "${LIMIT:-$limit}" env --default-signal=INT,QUIT "$@" <&3 3<&- &
    job=$!
    wait $job
}

count() { # failed?
    if [ "$1" = 0 ]; then passed=1; else failed=1; echo "FAIL $path"; fi
}

run_program() { # PROGRAM [ARGUMENT ...]
    limited "$@" > "$R/log" 2>&1
    rc=$?
    awk -v path="$path" '
        /^skip: / { why = substr($0, 7) }
        /^(not )?ok.*# SKIP/ {
            name = $0
            sub(/.*# SKIP */, "", name)
            if (!why && / - .*# SKIP ./) {
                why = name
                name = $0
                sub(/^(not )?ok *[0-9]* - */, "", name)
                sub(/ *# SKIP.*/, "", name)
            }
            print why ? "SKIP " path ": " name ": " why \
                      : "not ok: " path ": " name ": skipped without a reason"
            why = ""
        }' "$R/log" > "$R/skips"
    cat "$R/skips"
    skipped=$(grep -c '^SKIP' "$R/skips")
    passed=$(grep '^ok' "$R/log" | grep -vc '# SKIP')
    failed=$(cat "$R/log" "$R/skips" | grep '^not ok' | grep -vc '# SKIP')
    [ $rc -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
    if [ "$failed" -ne 0 ]; then
        echo "FAIL $path (exit code $rc)"
        grep -A 8 '^not ok' "$R/log" | head -n 40
        tail -n 40 "$R/log"
    fi
}

same() { # EXPECTED FOUND: equal, where an absent file is an empty one
    [ -n "$rewrite" ] && { if [ -s "$2" ]; then cp "$2" "$1"
                           else rm -f "$1"; fi; return 0; }
    if [ -e "$1" ]; then diff -u "$1" "$2"; else diff -u /dev/null "$2"; fi
}

run_graph() { # GOLDEN ARGUMENT ...
    expected=$1; shift
    limited "$A" graph "$@" > "$R/out" 2>&1
    same "$expected" "$R/out"; count $?
}

# The parts of C text on stdin that define these names, with their comments: what
# stands between empty lines, but that those within braces end nothing.
fragments() { # NAME ...
    awk -v names="$*" '
        function take() {
            if (part ~ /(^|\n)[^ \/#][^\n]*[ *]?[{=(]/ && part ~ /\n}/)
                for (i = 1; i <= n; i++)
                    if (part ~ "(^|\n)[^ /#\n][^\n]*[ *]" name[i] "( =| \\{|\\()")
                        found[i] = part
            part = ""
        }
        BEGIN { n = split(names, name, " ") }
        /^$/ && !inside { take(); next }
        { part = part $0 "\n" }
        /^}/ { inside = 0 }
        /^[^ \/#}].*{$/ || /^{/ { inside = 1 }
        END {
            take()
            for (i = 1; i <= n; i++) {
                printf "\n%s", found[i] ? found[i] : name[i] ": not there\n"
                missing += !found[i]
            }
            exit missing
        }'
}

run_fragments() {
    read -r words < "$path"
    words=${words#/\* attnc } && words=${words% \*/}
    head -n 1 "$path" > "$R/fragments"
    limited "$A" ${words%%: *} -o - > "$R/c" 2> "$R/err" || cat "$R/err"
    fragments ${words##*: } < "$R/c" >> "$R/fragments"
    bad=$?
    same "$path" "$R/fragments" || bad=1
    [ $bad -eq 0 ] || echo "${path}: attnc $words"
    count $bad
}

run_spec() {
    limited "$A" graph "$path" > /dev/null 2> "$R/err"
    rc=$? bad=0
    same "${path%.yaml}.err" "$R/err" || bad=1
    [ -s "$R/err" ] && code=3 || code=0
    [ $rc -eq $code ] || { bad=1; echo "$path: exit code $rc"; }
    count $bad
}

run_cli() {
    x=${path%.cmd} T=$R/TMP bad=0
    mkdir "$T"
    [ -e "$x.in" ] && in=$x.in || in=/dev/null
    : > "$R/out"; : > "$R/err"; : > "$R/cmd"
    while read -r code line; do
        case $code in [0-9]*) ;; *) line="$code${line:+ $line}" ;; esac
        limited "$A" $(echo "$line" | sed "s|TMP|$T|g") \
            3< "$in" >> "$R/out" 2>> "$R/err"
        rc=$?
        echo "$rc${line:+ $line}" >> "$R/cmd"
        case $rc in
        [0-6]) ;;
        *) bad=1; echo "docs/errors.md has no exit code $rc: attnc $line" ;;
        esac
    done < "$path"
    sed -i "s|$T|TMP|g" "$R/out" "$R/err"
    sed -i -E -e '/ tokens per second; /d' \
        -e '/^(wrote|     ) /s/ +[0-9.]+ (bytes|[kMG]B)$/  SIZE/' "$R/err"
    ls -A "$T" > "$R/ls"
    for kind in cmd out err ls; do
        same "$x.$kind" "$R/$kind" || bad=1
    done
    count $bad
}

# Prints where a test is written.
source_of() { # PATH
    case $1 in
    "$B"/tests/fuzz/*) c=tests/${1#"$B"/tests/}; echo "${c%_test}.c" ;;
    "$B"/*)            echo "tests/${1#"$B"/tests/}.c" ;;
    *)                 echo "$1" ;;
    esac
}

# Prints the seconds that a test may take: its limit, times the number of
# programs that share a core beyond the tests' own.
limit_of() { # PATH
    read -r load _ 2> /dev/null < /proc/loadavg || load=0
    busy=$((${load%.*} / (cores + 1))) found=
    case $1 in *_test)
        found=$(sed -n 's/^[ #\/*]* limit: \([0-9]*\) s\>.*/\1/p' "$(source_of "$1")")
    esac
    echo $((${found:-60} * ${SLOW:-1} * (busy > 1 ? busy : 1)))
}

run_one() { # NUMBER PATH: what it says, and its counts, are in $R/NUMBER
    path=$2 R=$R/$1 job= limit=$(limit_of "$2") name=${2##*/}
    y=${2%/*}/${name%%.*}.yaml pass=${name#*.}
    trap '[ -z "$job" ] || kill "$job"; exit 130' INT TERM HUP
    mkdir -p "$R/tmp"
    export TMPDIR="$R/tmp"
    exec 3< /dev/null
    case $2 in
    */readme_test) run_program "$2" $rewrite ;;
    "$B"/*_test)   run_program $EMULATOR "$2" ;;
    *_test)        run_program "$2" ;;
    *.cmd)         run_cli ;;
    */fragments/*) run_fragments ;;
    *.yaml)        run_spec ;;
    *.build.txt)   run_graph "$2" "$y" --stage=built ;;
    *.txt)         run_graph "$2" "$y" --after="${pass%.txt}" ;;
    esac > "$R/said" 2>&1
    times > "$R/times"
    [ -z "$TIMES" ] || awk -v path="$path" '
        NR == 2 { gsub(/s/, ""); split($0, t, /[m ]/)
                  printf "%7.1f s  %s\n", 60 * (t[1] + t[3]) + t[2] + t[4], path
                }' "$R/times" >> "$R/said"
    [ "$failed" -eq 0 ] || : > "$R/../failed"
    echo $passed $failed $skipped > "$R/new" && mv "$R/new" "$R/counts"
    echo "$1"
}

stopped() { [ "$FIRST" ] && [ -e "$R/failed" ]; }

[ "$1" = --one ] && { stopped || run_one "$2" "$3"; exit 0; }

# ------------------------------------------------------------ all of them ---
cores=$(nproc)
export cores rewrite= XDG_CACHE_HOME="$PWD/${CACHE:-$B/cache}" ATTNC="$PWD/$A" ATTNC_BACKEND=jit
[ "$1" = --rewrite ] && rewrite=--rewrite && shift
[ -z "$rewrite" ] || export ATTNC_REWRITE=1

# The last of the names that fits counts.
wanted() { # PATH NAME ...
    [ $# -eq 1 ] && return 0
    path=$1 found=1; shift
    for name; do
        case $path in *${name#!}*)
            case $name in !*) found=1 ;; *) found=0 ;; esac
        esac
    done
    return $found
}

# A program that has files of its own to rewrite asks for ATTNC_REWRITE.
rewrites() {
    case $1 in
    */readme_test) ;;
    "$B"/*_test) grep -qs ATTNC_REWRITE "$(source_of "$1")" ;;
    *_test) false ;;
    esac
}

# Whether a program's source is still there, or it is no program.
current() {
    [ -e "$(source_of "$1")" ]
}

# Prints the test programs that can be built and are wanted.
programs() {
    { find tests -mindepth 2 -maxdepth 2 -name '*_test.c'
      ls tests/fuzz/corpus | sed 's|.*|tests/fuzz/&_test.c|'
    } | while read -r c; do
        p=$B/${c%.c}
        wanted "$p" "$@" && { [ -z "$rewrite" ] || rewrites "$p"; } && echo "$p"
    done
}

# Builds attnc and these programs as $B was built.
rebuild() { # PROGRAM ...
    [ -e "$B/flags" ] && command -v make > /dev/null || return 0
    while IFS= read -r flag; do set -- "$flag" "$@"; done < "$B/flags"
    env -u MAKEFLAGS -u MAKELEVEL make -s -j"$cores" "B=$B" "$A" "$@"
}

# Those that have to be run, numbered in the order of their paths.
list() {
    for p in $(find "$B"/tests tests -name '*_test' -type f -o -name '*.cmd' \
               -o -path 'tests/spec/*.yaml' -o -path 'tests/graph/*.txt' \
               -o -path 'tests/emit/fragments/*.txt' | sort); do
        wanted "$p" "$@" && current "$p" || continue
        [ -n "$rewrite" ] && ! rewrites "$p" || echo "$p"
    done | awk '{ print NR, $0 }'
}

take() { # NUMBER: what a test said, and its counts
    if [ -e "$R/$1/counts" ]; then
        cat "$R/$1/said"
        read -r p f s < "$R/$1/counts"
    elif stopped; then
        return
    else
        echo "FAIL $(sed -n "${1}p" "$R/list"): it did not end"
        p=0 f=1 s=0
    fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

# The numbers of tests come in as they end; they are taken in the list's order.
report() {
    next=1
    while read -r _; do
        while [ -e "$R/$next/counts" ]; do
            take $next
            next=$((next + 1))
        done
    done
    while [ $next -le "$total" ]; do
        take $next
        next=$((next + 1))
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ] && [ $passed -gt 0 ]
}

mkdir -p "$B"
R=$(mktemp -d) && export R || exit 4
trap 'rm -rf "$R"' EXIT
trap 'exit 130' INT TERM HUP
rebuild $(programs "$@") || exit 1
list "$@" > "$R/list"
total=$(wc -l < "$R/list")
xargs -P "${JOBS:-$((cores + 1))}" -n 2 sh "$here/run.sh" --one < "$R/list" | report
