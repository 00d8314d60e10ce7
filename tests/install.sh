#!/bin/sh
# install.sh [fuzz|format|arm]: installs what attnc needs, or what `make fuzz`,
# `make format` or `make check-arm` need too, where apt-get is; else says what
# that is. Quick and silent when nothing is missing.
need=$1
headers='yaml.h libtcc.h jansson.h xxhash.h utf8proc.h setjmp.h'
packages='libyaml-dev libtcc-dev libjansson-dev libxxhash-dev libutf8proc-dev
    libcmocka-dev'

compiler() {
    for c in clang-19 clang clang-18 clang-17 clang-16 clang-15 clang-14; do
        command -v $c && return
    done
    return 1
}

complete() {
    cc=$(compiler) || return 1
    { for h in $headers; do echo "#include <$h>"; done
      echo '#include <stdarg.h>'
      echo '#include <stddef.h>'
      echo '#include <stdint.h>'
      echo '#include <cmocka.h>'
      echo 'int main(void) { return 0; }'
    } | "$cc" -x c - -o /dev/null -fsyntax-only > /dev/null 2>&1 || return 1
    case $need in
    fuzz)   can_fuzz ;;
    format) can_format ;;
    arm)    can_arm ;;
    esac
}

known() { apt-cache show "$1" > /dev/null 2>&1; }

# libFuzzer, and the tools that say which lines were reached.
can_fuzz() {
    version=$("$cc" -dumpversion | cut -d. -f1)
    packages="$packages libclang-rt-$version-dev llvm-$version"
    command -v "llvm-cov-$version" > /dev/null &&
        echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        "$cc" -fsanitize=fuzzer,address -x c - -o /dev/null 2> /dev/null
}

can_format() {
    packages="$packages clang-format-19"
    sh "$(dirname "$0")/format.sh" have > /dev/null
}

# Compilers, libraries and an emulator of arm64.
can_arm() {
    packages="$packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
        libcmocka-dev:arm64 libxxhash-dev:arm64"
    probe=$(mktemp) || return 1
    { echo '#include <xxhash.h>'
      echo 'int main(void) { return XXH3_64bits("", 0) == 0; }'
    } | "$cc" --target=aarch64-linux-gnu -x c - -Wl,--no-as-needed -lcmocka \
        -lxxhash -o "$probe" 2> /dev/null &&
        command -v aarch64-linux-gnu-gcc > /dev/null &&
        qemu-aarch64 "$probe" 2> /dev/null
    rc=$?
    rm -f "$probe"
    return $rc
}

complete && exit 0
clang=clang
if command -v apt-get > /dev/null; then
    sudo=
    [ "$(id -u)" -eq 0 ] || sudo=sudo
    if [ -z "$sudo" ] || command -v sudo > /dev/null; then
        [ "$need" != arm ] || $sudo dpkg --add-architecture arm64
        $sudo apt-get update -q >&2
        compiler > /dev/null && clang= ||
            { known clang-19 && clang=clang-19; }
        known clang-format-19 && packages="$packages clang-format-19"
        DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q \
            --no-install-recommends make libc6-dev $clang $packages >&2
        complete && exit 0
    fi
fi
echo "attnc needs: $clang $packages" >&2
echo "On Debian or Ubuntu, as root: apt-get install $clang $packages" >&2
exit 1
