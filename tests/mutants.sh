#!/bin/sh
# mutants.sh: plants each fault of tests/mutants in a copy of the project,
# build/mutants/tree, builds it and runs the test that the list names. Prints
# which test failed. `make mutants` starts it.
#   ONLY='emit'  the mutants whose file or test has this word
#   ALL=1        all tests of `make test-fast` until one fails, before that test
# mutants.sh check: prints what is wrong in the list and plants nothing.
# Ends with 1 if the list is wrong, if a mutant is not found, or if less than
# 7 of 8 mutants are found by `make test-fast`.
set -f
unset B MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES
cd "$(dirname "$0")/.." || exit 1
list=tests/mutants M=build/mutants
T=$M/tree
mode=${1:-plant}
bad=0 planted=0 fast=0 slow=0

wrong() { # TEXT
    echo "$list:$number: $1"
    bad=1
}

# Sets `path` to the only file of that name below compiler/ or runtime/.
find_file() { # NAME
    path=$(find compiler runtime -path "$1" -o -path "*/$1")
    [ -f "$path" ] && return
    wrong "$1: $(echo "$path" | grep -c .) files of compiler/ and runtime/ end so; name one"
    return 1
}

check() {
    find_file "$file" || return
    lines=$(grep -cF -e "$before" "$path")
    [ "$lines" -eq 1 ] ||
        wrong "$path: $lines lines have '$before'; quote a part of one line"
    [ "$before" != "$after" ] || wrong "$path: the mutant changes nothing"
    [ -n "$(find tests -path "tests/*$test*")" ] || wrong "no test is named $test"
}

is_fast() { # PATH of a test: as tests/run.sh chooses by names
    found=1
    for name in $FAST; do
        case $1 in *${name#!}*)
            case $name in !*) found=1 ;; *) found=0 ;; esac
        esac
    done
    return $found
}

# Runs tests in the copy. False: one failed.
run() { # NAME ...
    (cd $T && FIRST=1 sh tests/run.sh "$@") > $M/log 2>&1 3<&-
}

build() { # TARGET ...: of the copy
    make -s -j"$(nproc)" -C $T CC="$CC" CFLAGS= "$@" > $M/log 2>&1 3<&-
}

# Writes a file of the copy with a later time than its object, so that make
# compiles it, and notes it for the next run, whose copy has the old time.
write() { # from stdin
    echo "$path" >> $M/touched
    cat > "$T/$path"
}

# True if ONLY names the mutant. Sets `path`.
is_chosen() {
    find_file "$file"
    case "$path $test" in *$ONLY*) ;; *) return 1 ;; esac
}

add_test() {
    ! is_chosen || tests="$tests $test"
}

plant() {
    is_chosen || return
    planted=$((planted + 1))
    BEFORE=$before AFTER=$after awk '
        { at = index($0, ENVIRON["BEFORE"]) }
        at { $0 = substr($0, 1, at - 1) ENVIRON["AFTER"] \
                  substr($0, at + length(ENVIRON["BEFORE"])) }
        { print }' "$path" | write
    by= ran=
    if ! build build/attnc; then
        wrong "$path: the mutant does not compile"
        tail -n 5 $M/log
    elif { [ "$ALL" ] && ! run $FAST; } || ! run "$test"; then
        by=$(sed -n 's/^FAIL \([^ :]*\).*/\1/p' $M/log | head -n 1)
        [ "$by" ] || { wrong "$test: does not build"; tail -n 5 $M/log; }
        ran=$by
    else
        ran=1
    fi
    write < "$path"
    [ "$ran" ] || return
    if [ -z "$by" ]; then
        echo "NOT FOUND  $path: $after"
    elif is_fast "$by"; then
        fast=$((fast + 1))
        echo "test-fast  $path: $by"
    else
        slow=$((slow + 1))
        echo "make test  $path: $by"
    fi
}

# Calls a function for each mutant of the list.
each() { # FUNCTION
    number=0
    while IFS= read -r line <&3; do
        number=$((number + 1))
        case $line in
        '' | '#'*) ;;
        '- '*) before=${line#- } ;;
        '+ '*) after=${line#+ }; $1 ;;
        *' '*) file=${line%% *} test=${line##* } ;;
        *) wrong 'a line is FILE TEST, - BEFORE or + AFTER' ;;
        esac
    done 3< $list
}

each check
[ $bad -eq 0 ] || exit 1
[ "$mode" != check ] || exit 0

# The objects of build/ are those of the copy, but for their debug data, which
# only take time to link.
mkdir -p $T
if [ ! -e $T/build ] && [ -e build/libattnc.a ]; then
    mkdir $T/build
    (cd build && cp -pr attnc compiler embed embedded.c embedded.o kernels kernelset \
         libattnc.a runtime ../$T/build)
    find $T/build -name '*.o' -exec strip -pg {} +
fi
find $T -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
sh tests/files.sh | tar -cf - -T - | tar -C $T -xf - || exit 4
[ ! -e $M/touched ] || (cd $T && xargs touch < ../touched)
mkdir -p $T/build
printf '%s\n' "CC=$CC" CFLAGS= > $T/build/flags
echo 'building a copy, and its tests without a mutant'
tests=
each add_test
[ "$tests" ] || { echo "no mutant's file or test has '$ONLY' in its path"; exit 1; }
if ! build build/attnc || ! run $tests; then
    echo 'the tests fail without a mutant:'
    tail -n 20 $M/log
    exit 1
fi
rm -f $M/touched
each plant
echo "$fast of $planted found by test-fast, $slow by make test"
[ $bad -eq 0 ] && [ $((fast + slow)) -eq $planted ] &&
    { [ "$ONLY" ] || [ $((8 * fast)) -ge $((7 * planted)) ]; }
