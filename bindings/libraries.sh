#!/bin/sh
# libraries.sh DIR NAME ..: builds the libraries that attnc uses, all or those
# named (tcc, libyaml, jansson, xxhash, utf8proc), as position-independent code
# for the machine of CC (cc): DIR/libtcc.a, DIR/libyaml.a and so on, their
# headers in DIR/include, their licences in DIR/licences. The sources are those
# of Debian's packages, fetched by apt-get to build/sources, and stay as they
# are. `make lib` needs libtcc, since Debian's libtcc.a is not
# position-independent; a wheel needs all. Prints one line and ends with 77 if a
# source or what builds it is missing.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
mkdir -p "$1/include" "$1/licences" && D=$(cd "$1" && pwd) || exit 1
shift
[ $# -gt 0 ] || set -- tcc libyaml jansson xxhash utf8proc
S=$top/build/sources
log=$D/libraries.log
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
: > "$log"

lacks() { echo "libraries.sh: $*"; exit 77; }

# ---- sources ----

# Asks Debian or Ubuntu for the sources of packages, by lists of this script's
# own.
fetch() { # NAME ..
    for c in apt-get dpkg-source patch; do
        command -v $c > /dev/null || lacks "no $c: apt-get install dpkg-dev patch"
    done
    . /etc/os-release
    case $ID in
    debian) parts=main fallback=http://deb.debian.org/debian ;;
    ubuntu) parts='main universe' fallback=http://archive.ubuntu.com/ubuntu ;;
    *)      lacks "$ID is neither Debian nor Ubuntu" ;;
    esac
    mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
        /etc/apt/sources.list.d/*.sources /etc/apt/sources.list \
        /etc/apt/sources.list.d/*.list 2> /dev/null | grep "/$ID/*\$" | head -n 1)
    mkdir -p "$work/lists/partial" "$S"
    echo "deb-src ${mirror:-$fallback} $VERSION_CODENAME $parts" > "$work/list"
    (cd "$work" && apt update && apt source "$@") >> "$log" 2>&1 ||
        lacks "no source of $*: see $log"
    for name; do
        mv "$work/$name"-*/ "$S/" || exit 1
    done
}

apt() {
    apt-get -q -o Dir::Etc::sourcelist="$work/list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$work/lists" -o APT::Sandbox::User= "$@"
}

missing=
for name; do
    ls -d "$S/$name"-*/ > /dev/null 2>&1 || missing="$missing $name"
done
[ -z "$missing" ] || fetch $missing

# ---- libraries ----

# Compiles C files of the current folder and makes a library of them.
library() { # LIBRARY 'FLAGS' FILE.c ..
    mkdir -p "$work/$1" && rm -f "$D/$1.a"
    to=$1 flags=$2; shift 2
    for file; do
        ${CC:-cc} -O2 -g0 -fPIC -fvisibility=hidden -w $flags -c "$file" \
            -o "$work/$to/$(basename "$file" .c).o" >> "$log" 2>&1 ||
            lacks "$to does not build: see $log"
    done
    ar rcs "$D/$to.a" "$work/$to"/*.o
}

config() { # FILE: text of stdin, in a folder of its own
    mkdir -p "$work/config" && cat > "$work/config/$1"
}

build() { # NAME, in its source's folder
    case $1 in
    tcc)
        config config.h << END
#define LIBTCCAPI __attribute__((visibility("default")))
#define CONFIG_TCCDIR "/usr/lib/tcc"
#define TCC_VERSION "$(cat VERSION)"
END
        library libtcc "-I$work/config -I. -DONE_SOURCE=1 -fno-strict-aliasing" libtcc.c
        cp libtcc.h "$D/include" && cp COPYING "$D/licences/tcc" ;;
    libyaml)
        v=$(sed -n 's/^m4_define(\[YAML_[A-Z]*\], *\[*\([0-9]*\)\]*)$/\1/p' configure.ac | paste -sd ' ')
        set -- $v
        library libyaml "-Iinclude -DYAML_VERSION_MAJOR=$1 -DYAML_VERSION_MINOR=$2 \
            -DYAML_VERSION_PATCH=$3 -DYAML_VERSION_STRING=\"$1.$2.$3\"" src/*.c
        cp include/yaml.h "$D/include" && cp License "$D/licences/libyaml" ;;
    jansson)
        sed 's/@json_inline@/inline/; s/@json_have_[a-z_]*@/1/' \
            src/jansson_config.h.in | config jansson_config.h
        for h in FCNTL SCHED STDINT SYS_STAT SYS_TIME SYS_TYPES UNISTD; do
            echo "#define HAVE_${h}_H 1"
        done | config jansson_private_config.h
        for f in CLOSE GETPID GETTIMEOFDAY OPEN READ SCHED_YIELD ATOMIC_BUILTINS; do
            echo "#define HAVE_$f 1"
        done >> "$work/config/jansson_private_config.h"
        library libjansson "-I$work/config -DHAVE_CONFIG_H" src/*.c
        cp src/jansson.h "$work/config/jansson_config.h" "$D/include" &&
            cp LICENSE "$D/licences/jansson" ;;
    xxhash)
        library libxxhash '' xxhash.c
        cp xxhash.h xxh3.h "$D/include" && cp LICENSE "$D/licences/xxhash" ;;
    utf8proc)
        library libutf8proc -DUTF8PROC_STATIC utf8proc.c
        cp utf8proc.h "$D/include" && cp LICENSE.md "$D/licences/utf8proc" ;;
    *)
        echo "libraries.sh: what is $1?" >&2; exit 2 ;;
    esac
}

for name; do
    cd "$S/$name"-*/ && build "$name" || exit
done
