#!/bin/sh
# files.sh: prints the paths of the project's files: those that git does not
# ignore; without git or .git all but build/.
cd "$(dirname "$0")/.." || exit 1
{ git ls-files --cached --others --exclude-standard 2> /dev/null ||
    find . -path ./build -prune -o -type f -print | sed 's|^\./||'; } |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done
