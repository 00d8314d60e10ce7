#!/bin/sh
# same.sh OLD [NEW]: builds two revisions (NEW: HEAD) and compares what they
# print, write and end with, over
#
#   models    models/*.yaml and models/*/*.yaml: .c, .h and, of small models,
#             .weights; plain C; the graph as built and after each pass; the plan
#   families  the same of the folders of tests/families, imported
#   random    the same of 300 random specs
#   commands  output, errors, exit codes and files of tests/cli/*.cmd
#
# Both read OLD's models and tests. PARTS='random commands': these alone.
# COUNT=50: so many random specs. The answers are in build/same/OLD and NEW;
# those that differ are printed, and end it with 1.
cd "$(dirname "$0")/.." || exit 4
[ $# -ge 1 ] || { echo 'which revision? tests/same.sh HEAD~1' >&2; exit 2; }
old=$(git rev-parse --verify --quiet "$1^{commit}") &&
    new=$(git rev-parse --verify --quiet "${2:-HEAD}^{commit}") ||
    { echo "same.sh: $*: no such revision" >&2; exit 2; }
S=$PWD/build/same
parts=${PARTS:-models families random commands}
rm -rf "$S/old" "$S/new" "$S/specs"
mkdir -p "$S/specs"

build() { # REVISION old|new: its program, then OLD's models and tests
    git clone -q --no-checkout . "$S/$2.tree.new" &&
    git -C "$S/$2.tree.new" checkout -q "$1" &&
    rm -rf "$S/$2.tree" && mv "$S/$2.tree.new" "$S/$2.tree" &&
    make -s -C "$S/$2.tree" ${CC:+CC="$CC"} build/attnc > "$S/$2.log" 2>&1 &&
    git -C "$S/$2.tree" checkout -q "$old" -- models tests && return
    tail -n 20 "$S/$2.log" >&2
    echo "same.sh: $1 does not build" >&2
    exit 1
}

random_specs() {
    PYTHONPATH=tests/reference python3 -B - "$S/specs" "${COUNT:-300}" << 'END'
import sys
from attnc import yaml
from forms import form
for seed in range(1, 1 + int(sys.argv[2])):
    with open(f"{sys.argv[1]}/{seed}.yaml", "w", encoding="utf-8") as file:
        file.write(yaml(form(seed)))
END
}

say() { # FILE COMMAND ...: its output, errors and exit code
    file=$1; shift
    "$@" > "$file.out" 2> "$file.err"
    echo $? > "$file.rc"
}

# All of one spec; `large`: of its C alone, because weights would be written.
answers() { # FOLDER SPEC [large]
    mkdir -p "$1"
    say "$1/built" $A graph "$2" --stage=built
    say "$1/passes" $A graph "$2" --stage=all --explain
    say "$1/plan" $A plan "$2" --march=x86-64-v3 --no-records --json
    say "$1/plain" $A compile "$2" -o - --plain --no-records
    set -- "$1" "$2" "$1/model.c" $3
    [ "$4" ] && set -- "$1" "$2" -
    say "$1/c" $A compile "$2" -o "$3" --march=x86-64-v3 --no-records --seed=1
}

large() { # SPEC: are there more than 20 million weights?
    $A plan "$1" --json 2> /dev/null | python3 -c 'import json, sys
try: sys.exit(json.load(sys.stdin)["parameters"] < 20e6)
except (KeyError, ValueError): sys.exit(1)'
}

commands() {
    sh tests/run.sh --rewrite 'cli/*.cmd' > /dev/null 2>&1
    mkdir -p "$1" && cp tests/cli/*.out tests/cli/*.err tests/cli/*.ls "$1"
}

answer() { # old|new: in its tree, since messages name files
    cd "$S/$1.tree" || exit 4
    A=build/attnc to=out
    rm -rf $to && mkdir $to
    for part in $parts; do
        case $part in
        models)
            for y in models/*.yaml models/*/*.yaml; do
                answers "$to/$y" "$y" $(large "$y" && echo large)
            done ;;
        families)
            for d in tests/families/*/; do
                name=$(basename "$d")
                mkdir -p "$to/families/$name"
                say "$to/families/$name/import" $A import "$d" \
                    -o "$to/families/$name/spec.yaml"
                answers "$to/families/$name" "$to/families/$name/spec.yaml" large
            done ;;
        random)
            for y in ../specs/*.yaml; do
                answers "$to/random/$(basename "$y" .yaml)" "$y"
            done ;;
        commands) commands "$to/commands" ;;
        *) echo "same.sh: $part: no such part" >&2; exit 2 ;;
        esac
    done
    mv $to "$S/$1"
}

build "$old" old
build "$new" new
case $parts in *random*) random_specs || exit 1 ;; esac
(answer old) && (answer new) || exit
files=$(find "$S/old" -type f | wc -l)
diff -rq "$S/old" "$S/new" > "$S/different"
rc=$?
sed "s|$S/||g" "$S/different" | head -n 40
echo "$files files, $(wc -l < "$S/different") differ: diff -r build/same/old build/same/new"
exit $rc
