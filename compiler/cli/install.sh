#!/bin/sh
# install.sh [remove]: what `make install` and `make uninstall` do. Puts attnc,
# its manual, completions, documents and models into PREFIX (/usr/local), below
# DESTDIR where packages are made. What was put where, folders that were not
# there before among it, stands in share/attnc/installed: that is removed, and
# nothing else.
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
A=$B/attnc
TO=${DESTDIR}${PREFIX:-/usr/local}
list=share/attnc/installed
new=$(mktemp -d) || exit 1
trap 'rm -rf "$new"' EXIT

fail() { echo "install.sh: $*" >&2; exit 1; }

folder() { # PATH below PREFIX: it and those above it, each listed if it is new
    [ -d "$TO/$1" ] && return
    case $1 in */*) folder "${1%/*}" ;; esac
    mkdir -p "$TO" && mkdir -m 755 "$TO/$1" || fail "no folder $TO/$1"
    echo "$1/" >> "$new/list"
}

put() { # MODE FILE PATH
    case $3 in */*) folder "${3%/*}" ;; esac
    # the old file may be running: it keeps its inode
    rm -f "$TO/$3"
    cp "$2" "$TO/$3" && chmod "$1" "$TO/$3" || fail "cannot write $TO/$3"
    echo "$3" >> "$new/list"
}

# What a program prints, as a file.
put_text() { # PATH COMMAND ..
    path=$1; shift
    "$@" > "$new/text" || fail "$*"
    put 644 "$new/text" "$path"
}

# What programs in C need, if `make lib` was called.
install_library() {
    put 644 bindings/cmake/attncConfig.cmake lib/cmake/attnc/attncConfig.cmake
    put_text lib/cmake/attnc/attncConfigVersion.cmake \
        sed "s/@VERSION@/$version/" bindings/cmake/attncConfigVersion.cmake.in
    [ -f "$B/libattnc.so" ] || return 0
    put 644 "$B/libattnc.so" lib/libattnc.so.1
    ln -sf libattnc.so.1 "$TO/lib/libattnc.so" || fail "no $TO/lib/libattnc.so"
    echo lib/libattnc.so >> "$new/list"
    put 644 compiler/library/attnc.h include/attnc.h
    put 644 "$B/static/libattnc.a" lib/libattnc.a
    put_text lib/pkgconfig/attnc.pc pkg_config
    put_text share/man/man3/attnc.3 awk \
        -v title="$("$A" help --format=man | head -n 1)" \
        -f compiler/library/man.awk compiler/library/attnc.h
    for f in $(sed -n 's/^    \(attnc_[a-z_]*\);$/\1/p' compiler/library/attnc.map); do
        [ "$f" = attnc_main ] || put_text "share/man/man3/$f.3" echo '.so man3/attnc.3'
    done
}

pkg_config() { # the prefix follows the file, so that the folder can be moved
    cat << EOF
prefix=\${pcfiledir}/../..
Name: attnc
Description: compiles a Transformer and runs it
Version: $version
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lattnc
Libs.private: -lyaml -ljansson -lxxhash -lutf8proc -lm -ldl -lpthread
EOF
}

install_all() {
    [ -x "$A" ] || fail "there is no $A: make"
    version=$("$A" --version | sed 's/attnc //')
    : > "$new/list"
    put 755 "$A" bin/attnc
    for c in '' $("$A" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
        put_text "share/man/man1/attnc${c:+-$c}.1" "$A" help --format=man $c
    done
    install_library
    put_text share/bash-completion/completions/attnc "$A" completion bash
    put_text share/zsh/site-functions/_attnc "$A" completion zsh
    put_text share/fish/vendor_completions.d/attnc.fish "$A" completion fish
    for file in LICENSE README.md docs/*; do
        [ ! -f "$file" ] || put 644 "$file" "share/doc/attnc/$file"
    done
    for file in models/*.yaml models/*/*.yaml models/g2p-en/*; do
        [ ! -f "$file" ] || put 644 "$file" "share/attnc/$file"
    done
    folder share/attnc
    # what an older attnc put there is still attnc's
    [ ! -f "$TO/$list" ] || cat "$TO/$list" >> "$new/list"
    echo "$list" >> "$new/list"
    sort -u "$new/list" > "$TO/$list" && chmod 644 "$TO/$list" ||
        fail "cannot write $TO/$list"
    echo "attnc is $TO/bin/attnc; make uninstall removes it"
}

# Files first, then folders, the deepest first, but for those that others use.
remove_all() {
    [ -f "$TO/$list" ] || fail "nothing is installed there: no $TO/$list"
    cp "$TO/$list" "$new/list"
    grep -v '/$' "$new/list" | while IFS= read -r file; do
        rm -f "$TO/$file"
    done
    grep '/$' "$new/list" | sort -r | while IFS= read -r folder; do
        rmdir "$TO/$folder" 2> /dev/null
    done
    echo "attnc is gone from $TO"
}

case $1 in
remove) remove_all ;;
'')     install_all ;;
*)      fail "what is $1?" ;;
esac
