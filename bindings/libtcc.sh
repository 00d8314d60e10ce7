#!/bin/sh
# libtcc.sh FILE.a: builds libtcc as position-independent code, which a shared
# library needs and Debian's libtcc.a is not. The source is Debian's package of
# the same version, fetched by apt-get; it is LGPL and stays as it is. Prints one
# line and ends with 77 if the source or what builds it is missing.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS
to=$(realpath -m "$1") || exit 2
log=$to.log
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$(dirname "$to")" || exit 1

lacks() { echo "libtcc.sh: $*"; exit 77; }

for c in apt-get dpkg-source make cc patch; do
    command -v $c > /dev/null || lacks "no $c: apt-get install dpkg-dev make gcc"
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
chmod 755 "$work"
cd "$work" || exit 1
mkdir -p lists/partial
echo "deb-src ${mirror:-$fallback} $VERSION_CODENAME $parts" > list
apt() {
    apt-get -q -o Dir::Etc::sourcelist="$work/list" -o Dir::Etc::sourceparts=- \
        -o Dir::State::lists="$work/lists" -o APT::Sandbox::User= "$@"
}
{ apt update && apt source tcc; } > "$log" 2>&1 ||
    lacks "no source of tcc: see $log"
cd tcc-*/ || exit 1
{ ./configure --cc=cc --extra-cflags='-O2 -g -fPIC -fvisibility=hidden' &&
      make libtcc.a; } >> "$log" 2>&1 || lacks "libtcc does not build: see $log"
cp libtcc.a "$to"
