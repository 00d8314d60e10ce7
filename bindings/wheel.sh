#!/bin/sh
# wheel.sh [-o DIR] [ARCH ..]: builds the Python package as wheels for Linux
# with glibc 2.28 or later, attnc-VERSION-py3-none-manylinux_2_28_ARCH.whl in DIR
# (build/wheel). ARCH: x86_64, aarch64; both without one. zig, from PyPI's
# package ziglang, compiles all C for that glibc, and the libraries from their
# sources (libraries.sh); clang compiles the kernels, as in every build, since
# their speed and bits are tested with it. For aarch64 on another machine it
# needs libc6-dev-arm64-cross. Prints one line and ends with 77 if zig, a source
# or a compiler is missing.
#
# A wheel has the code once, in libattnc.so.1; the command is a small program
# that is linked with it. libtcc is LGPL, so it is a library of its own,
# libattnc_tcc.so: one that was built from other source and put in its place is
# used from then on.
unset MAKEFLAGS MFLAGS MAKELEVEL
cd "$(dirname "$0")/.." || exit 1
to=build/wheel
ZIG_VERSION=0.17.1

lacks() { echo "wheel.sh: $*"; exit 77; }
fail() { echo "wheel.sh: $*" >&2; exit 1; }

if [ "$1" = -o ]; then
    to=${2:?} && shift 2
fi
[ $# -gt 0 ] || set -- x86_64 aarch64
mkdir -p build/wheel "$to" || exit 1

# Prints the path of zig, in an environment of this script's own if python3 has
# none.
find_zig() {
    where='import os, ziglang; print(os.path.dirname(ziglang.__file__) + "/zig")'
    tools=build/wheel/tools
    python3 -c "$where" 2> /dev/null && return
    "$tools/bin/python" -c "$where" 2> /dev/null && return
    { python3 -m venv "$tools" &&
          "$tools/bin/pip" install -q "ziglang==$ZIG_VERSION"; } \
        > build/wheel/tools.log 2>&1 || return 1
    "$tools/bin/python" -c "$where"
}

command -v python3 > /dev/null || lacks 'no python3'
python3 -c 'import tomllib' 2> /dev/null || lacks 'no python3 of version 3.11 or later'
zig=$(find_zig) || lacks 'no zig: pip install ziglang; see build/wheel/tools.log'
for clang in clang-19 clang; do
    ! command -v $clang > /dev/null || break
done
command -v $clang > /dev/null || lacks 'no clang: apt-get install clang-19'

# Compiles the kernels as build/ does, so that an object there can be copied.
kernel_compiler() { # ARCH
    has=$(sed -n 's/^CC=//p' build/flags 2> /dev/null)
    case $has in *clang*) ;; *) has=$clang ;; esac
    [ "$1" = "$(uname -m)" ] && echo "$has" && return
    echo "$has --target=$1-linux-gnu"
}

build_arch() { # ARCH
    W=build/wheel/$1
    cc="$zig cc -target $1-linux-gnu.2.28"
    kernels=$(kernel_compiler "$1")
    echo '#include <math.h>' | $kernels -fsyntax-only -x c - 2> /dev/null ||
        lacks "$kernels finds no math.h for $1"
    CC=$cc sh bindings/libraries.sh "$W" || exit
    $cc -shared -s -Wl,-soname,libattnc_tcc.so -o "$W/libattnc_tcc.so" \
        -Wl,--whole-archive "$W/libtcc.a" -Wl,--no-whole-archive -lm -ldl -lpthread &&
        make -s B="$W" HOST=build CC="$cc" KERNEL_CC="$kernels" CFLAGS="-I$W/include" \
            LIBTCC="$W/libattnc_tcc.so" LDFLAGS="-s -Wl,-rpath,'\$\$ORIGIN'" \
            LDLIBS="$W/libyaml.a $W/libjansson.a $W/libxxhash.a $W/libutf8proc.a -lm -ldl -lpthread" \
            "$W/libattnc.so" > "$W/make.log" 2>&1 || fail "see $W/make.log"
    echo 'int attnc_main(int, char **);
          int main(int n, char **words) { return attnc_main(n, words); }' |
        $cc -O2 -s -Wl,-rpath,'$ORIGIN' -x c - -x none "$W/libattnc.so" -o "$W/attnc" ||
        fail "no program for $1"
    python3 -B bindings/python/pack.py "$W" "manylinux_2_28_$1" "$to" || exit 1
}

[ -e build/flags ] || make -s build/attnc || fail 'attnc does not build'
make -s CC="$(sed -n 's/^CC=//p' build/flags)" build/embed build/kernelset ||
    fail 'attnc does not build'
for arch; do
    case $arch in
    x86_64|aarch64) build_arch "$arch" ;;
    *) echo "wheel.sh: there are wheels for x86_64 and aarch64, not for $arch" >&2
       exit 2 ;;
    esac
done
