#!/bin/sh
# bare.sh [demo|programs|test]: what a newcomer does on a bare Debian, in a
# chroot of debootstrap's minbase with apt's sources of this machine and make:
#   demo      `make demo`, then the first blocks of README.md, with what they
#             print compared
#   programs  that, and the tests that start programs (PROGRAMS below), as this
#             machine built them, with no more programs than install.sh brings
#   test      demo, and `make test` (default)
# The base system is made once, build/bare/base.tar; packages that were
# downloaded stay in build/bare/archives. Mounts live in a mount namespace of
# this script's own, so that nothing stays mounted however it ends.
# TARBALL=1: without .git, as from a tarball. KEEP=1: leaves the chroot's files.
# Ends with 77 if this machine cannot do it.
cd "$(dirname "$0")/.." || exit 1
PATH=$PATH:/usr/sbin:/sbin
what=${1:-test}
D=build/bare R=build/bare/tree/root
# Of the tests those that start compilers, make, git or the shell's tools.
PROGRAMS='errors_test format_test headers_test install_test lint_test
    missing_test promises_test rooms_test tests/run_test backend/ cli/*.cmd'

fail() { echo "check-bare: $*" >&2; exit 1; }
cannot() { echo "check-bare: $*" >&2; exit 77; }

if [ -z "$OWN_NAMESPACE" ]; then
    [ "$(id -u)" -eq 0 ] || cannot 'needs root, for chroot: run it by sudo'
    command -v debootstrap > /dev/null ||
        cannot 'needs debootstrap: apt-get update && apt-get install -y debootstrap'
    unshare --mount true 2> /dev/null ||
        cannot 'may not mount here: a container needs --privileged'
    OWN_NAMESPACE=1 unshare --mount --pid --fork --kill-child sh "$0" "$@"
    rc=$?
    [ "$KEEP" ] || rm -rf --one-file-system $R
    exit $rc
fi

# Prints `deb` lines of the distribution's own packages, as apt has them here.
sources() {
    apt-get indextargets --format \
        '$(ORIGIN) deb $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v id="$ID" 'tolower($1) == id { sub(/^[^ ]* /, ""); print }' |
        sort -u
}

base() {
    . /etc/os-release
    sources > $D/sources
    site=$(awk -v suite="$VERSION_CODENAME" \
        '$3 == suite && $4 == "main" { print $2; exit }' $D/sources)
    [ -n "$site" ] || fail "apt has no sources of $VERSION_CODENAME here"
    debootstrap --variant=minbase "$VERSION_CODENAME" $R "$site" > $D/log 2>&1 ||
        cannot "debootstrap failed: $D/log says why"
    mv $D/sources $R/etc/apt/sources.list
    apt-config dump | grep -E '^Acquire::(Check-|http|https|ftp|Retries)' \
        > $R/etc/apt/apt.conf.d/90host
    rm -f $R/var/cache/apt/archives/*.deb
    tar -C $R -cf $D/base.tar.new . && mv $D/base.tar.new $D/base.tar
}

inside() { # LINE: of shell, in the project's folder
    echo "\$ $1"
    from=$(date +%s)
    (env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb $proxies \
         chroot $R sh -c "cd /root/attnc && $1"
     rc=$?
     times > $D/times
     exit $rc) || fail "this failed: $1"
    echo "($(($(date +%s) - from)) s; processor: $(sed -n 2p $D/times))"
}

mkdir -p $D/archives
rm -rf --one-file-system $R
mkdir -p $R
[ -e $D/base.tar ] || base
rm -rf --one-file-system $R && mkdir -p $R && tar -C $R -xf $D/base.tar || exit 1
mount -t proc proc $R/proc && mount --rbind /dev $R/dev &&
    mount --rbind /sys $R/sys &&
    mount --bind $D/archives $R/var/cache/apt/archives || exit 1
cp /etc/resolv.conf /etc/hosts $R/etc/
proxies=$(env | grep -iE '^(http|https|ftp|no)_proxy=')
mkdir $R/root/attnc
{ sh tests/files.sh; [ "$TARBALL" ] || echo .git; } | tar -cf - -T - | tar -C $R/root/attnc -xf -

inside 'apt-get update -q && apt-get install -y -q make'
inside 'make demo'
inside 'PAGES=README.md sh tests/readme_test'
case $what in
programs)
    mkdir -p $R/root/attnc/build/tests
    cp -r build/tests/backend build/tests/cli $R/root/attnc/build/tests || exit 1
    inside 'sh tests/install.sh test'
    inside "sh tests/run.sh $(echo $PROGRAMS)" ;;
test) inside 'make test' ;;
esac
