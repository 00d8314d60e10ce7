#!/bin/sh
# install.sh [test|fuzz|format|arm]: installs what `make demo` needs, or what
# `make test`, `make fuzz`, `make format` or `make check-arm` need too, by
# apt-get. Quick and silent if nothing is missing; if it cannot install, prints
# one line that says what to install.
# install.sh have: prints that line if CC cannot build attnc; installs nothing.
need=$1
# A header, its library, the package of both.
libraries='stdio.h:c:libc6-dev yaml.h:yaml:libyaml-dev libtcc.h:tcc:libtcc-dev
    jansson.h:jansson:libjansson-dev xxhash.h:xxhash:libxxhash-dev
    utf8proc.h:utf8proc:libutf8proc-dev'
programs=cc:gcc
clang=clang
case $need in
have) programs= ;;
# Only a tree with .git has a history to test.
test) programs="$programs gcc g++"
      [ ! -e .git ] || programs="$programs git"
      libraries="$libraries cmocka.h:cmocka:libcmocka-dev" ;;
esac

there() { command -v "$1" > /dev/null; }

compiler() {
    [ "$need" != have ] || { there ${CC%% *} && echo "$CC"; return; }
    for c in clang-19 clang clang-18 clang-17 clang-16 clang-15 clang-14; do
        command -v $c && return
    done
    return 1
}

links() { # LIBRARY ...: whether the compiler finds headers and libraries
    { printf '#include <%s>\n' stdarg.h stddef.h stdint.h setjmp.h
      for l; do echo "#include <${l%%:*}>"; done
      echo 'int main(void) { return 0; }'
    } | $cc -x c - -o /dev/null -no-pie $(for l; do l=${l%:*}; echo "-l${l#*:}"; done) \
        -lm -ldl -lpthread > /dev/null 2>&1
}

# Prints the packages that are missing.
missing() {
    for p in $programs; do
        there "${p%:*}" || echo "${p#*:}"
    done
    cc=$(compiler) || echo "$clang"
    [ -n "$cc" ] && links $libraries ||
        for l in $libraries; do
            [ -n "$cc" ] && links "$l" || echo "${l##*:}"
        done
    [ -n "$cc" ] || return
    case $need in
    fuzz)   can_fuzz || echo "libclang-rt-$version-dev llvm-$version" ;;
    format) sh "$(dirname "$0")/format.sh" have > /dev/null ||
                echo clang-format-19 ;;
    arm)    can_arm || echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
                qemu-user libcmocka-dev:arm64 libxxhash-dev:arm64 ;;
    esac
}

# libFuzzer, and the tools that say which lines were reached.
can_fuzz() {
    version=$($cc -dumpversion | cut -d. -f1)
    there "llvm-cov-$version" &&
        echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        $cc -fsanitize=fuzzer,address -x c - -o /dev/null 2> /dev/null
}

# Compilers, libraries and an emulator of arm64.
can_arm() {
    probe=$(mktemp) || return 1
    { echo '#include <xxhash.h>'
      echo 'int main(void) { return XXH3_64bits("", 0) == 0; }'
    } | $cc --target=aarch64-linux-gnu -x c - -Wl,--no-as-needed -lcmocka \
        -lxxhash -o "$probe" 2> /dev/null &&
        there aarch64-linux-gnu-gcc &&
        qemu-aarch64 "$probe" 2> /dev/null
    rc=$?
    rm -f "$probe"
    return $rc
}

packages=$(missing)
[ -n "$packages" ] || exit 0
sudo=
[ "$need" = have ] || [ "$(id -u)" -eq 0 ] || sudo=sudo
if [ "$need" != have ] && there apt-get && { [ -z "$sudo" ] || there sudo; }
then
    [ "$need" != arm ] || $sudo dpkg --add-architecture arm64
    $sudo apt-get update -q >&2
    apt-cache show clang-19 > /dev/null 2>&1 && clang=clang-19
    # clang's own tools are known by its version, so they come second.
    for step in 1 2; do
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q \
            --no-install-recommends $(missing) >&2
        packages=$(missing)
        [ -n "$packages" ] || exit 0
    done
fi
echo "packages are missing: on Debian or Ubuntu, as root: apt-get update &&" \
    apt-get install -y $packages
exit 1
