#!/bin/sh
# format.sh [check|have]: writes all C as .clang-format says, or says where it
# is not so, or ends with 77 where the formatter is not here. Each clang-format
# makes something else of one style: 19's counts.
cd "$(dirname "$0")/.." || exit 1
for c in clang-format-19 clang-format; do
    "$c" --version 2> /dev/null | grep -q 'version 19\.' && formatter=$c && break
done
if [ -z "$formatter" ]; then
    echo 'clang-format 19 is not here: apt-get install clang-format-19'
    exit 77
fi
files() { sh tests/files.sh | grep -E '^(compiler|runtime|tests|bench)/.*\.[ch]$'; }
case $1 in
have) ;;
check)
    ! files | xargs "$formatter" --dry-run -Werror 2>&1 |
        sed -n 's/^\([^ :]*:[0-9]*\):.*error: code should be.*/\1/p' |
        sort -t : -k 1,1 -u |
        sed 's/$/: is not as `make format` writes it/' | grep . ;;
*)  files | xargs "$formatter" -i ;;
esac
