#!/bin/sh
# check.sh PYTHON ATTNC [NAME ..]: imports each folder here, or those whose names
# begin so, and compares it with the transformers of PYTHON, by attnc import
# --check. A line each, with the largest difference, and all that is said of
# those that differ.
python=$1 attnc=$2
shift 2
cd "$(dirname "$0")/../.." || exit 1
to=$(mktemp -d) || exit 1
trap 'rm -rf "$to"' EXIT
bad=0
for config in tests/families/*/config.json; do
    folder=${config%/config.json}
    name=${folder##*/}
    if [ $# -gt 0 ]; then
        wanted=
        for begin; do
            case $name in "$begin"*) wanted=1 ;; esac
        done
        [ -n "$wanted" ] || continue
    fi
    if "$attnc" import "$folder" -o "$to/model.yaml" --quiet \
           "--check=$python" > "$to/log" 2>&1; then
        echo "$name: $(sed -n 's/.*difference .*, \(.*\) of the scale/\1/p' \
                           "$to/log" | sort -g | tail -n 1) of the scale"
    else
        echo "$name: DIFFERS"
        grep -v '^  [a-z_]* .* [0-9]' "$to/log"
        bad=1
    fi
done
exit $bad
