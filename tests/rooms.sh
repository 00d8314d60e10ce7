#!/bin/sh
# rooms.sh: is the house as it says it is? Its rooms are the folders of compiler/
# in the order of the Makefile's ROOMS, above runtime/ and below compiler/main.c.
# A room includes and calls only rooms below it, by their public headers, and
# the files in a room include and call each other in no circle. The floors of a
# room, its folders in the order of FLOORS, include and call only floors below
# them. A room of NARROW uses nothing but what the Makefile lists there, ROOM:USED:
# rooms, or headers and their functions. No two files have one name, nor have two static functions of a room.
#
#   tests/rooms.sh           what is wrong, a line each: `make lint`
#   tests/rooms.sh --svg     rooms and floors drawn, docs/rooms.svg: `make rooms`
#   tests/rooms.sh --text    the functions that read text, by room, and why
#   tests/rooms.sh --public  the public headers
#
# Public is ROOM/ROOM.h (runtime/rt.h) and what its first comment names behind
# `Public beside it:`, `Other public headers:` or `See also`. A circle in a room
# may be where a comment there says why:
#
#     /* circle: table.c and find.c, a table and its look-up */
#
# Nothing is decided by reading text but in parsers: who reads some stands in
# tests/text.allow, `FILE:FUNCTION why`, or `FILE why` for all of a parser. Calls
# are those of the objects in $B that are not older than their sources.
cd "$(dirname "$0")/.." || exit 1
B=${B:-build}
export LC_ALL=C
listed() { # VARIABLE: its words in the Makefile
    sed -e ':more' -e '/\\$/{N;s/\\\n//;b more' -e '}' Makefile |
        sed -n "s/^$1 *:= *//p"
}
rooms="runtime $(listed ROOMS) main.c"
floors=$(listed FLOORS)
narrow=$(listed NARROW)
sources=$(find runtime compiler -name '*.[ch]' | sort)

facts() { # what is there, a line each: tests/rooms/facts.awk
    awk -f tests/rooms/facts.awk $sources
    objects=
    for c in $sources; do
        o=$B/${c%.c}.o
        [ -e "$o" ] && [ ! "$o" -ot "$c" ] && objects="$objects $o"
    done
    [ -n "$objects" ] && nm -A -P $objects | awk -v skip=$((${#B} + 2)) '
        { sub(/[.]o:$/, ".c", $1); file = substr($1, skip) }
        $3 ~ /^[TDBRC]$/ { home[$2] = file }
        $3 == "U"        { user[++n] = file; name[n] = $2 }
        END { for (i = 1; i <= n; i++)
                  if (name[i] in home)
                      print "arrow", user[i], home[name[i]], user[i], "uses",
                            name[i], "of", home[name[i]] }'
}

readers() { # `FILE:FUNCTION WHAT ..` of each that reads text
    awk -f tests/rooms/text.awk $(echo "$sources" | grep '^compiler.*[.]c$')
}

# A line of `readers` without a reason, or a reason without one; --text: all.
reasons() {
    readers | awk -v all="$1" -v allow=tests/text.allow '
        BEGIN { while ((getline line < allow) > 0)
                    if (line !~ /^#/ && i = index(line, " ")) {
                        key = substr(line, 1, i - 1)
                        if (key in why)
                            print allow ": " key " stands there twice"
                        why[key] = substr(line, i + 1)
                    } }
        { file = $1; sub(/:.*/, "", file)
          key = $1 in why ? $1 : file in why ? file : ""
          used[key]
          reads = $0; sub(/^[^ ]* /, "", reads) }
        !key       { print $1 ": reads text: " reads }
        key && all { print $1 ": " reads ": " why[key] }
        END { for (key in why)
                  if (!(key in used))
                      print allow ": " key " reads no text" }'
}

draw() {
    facts | awk -v rooms="$rooms" -v floors="$floors" -f tests/rooms/draw.awk
}

faults() {
    facts | awk -v rooms="$rooms" -v floors="$floors" -v narrow="$narrow" \
        -f tests/rooms/faults.awk
    reasons
    draw | cmp -s - docs/rooms.svg ||
        echo 'docs/rooms.svg: the rooms are not so: make rooms'
}

case $1 in
--svg)    draw ;;
--text)   reasons all ;;
--public) facts | sed -n 's/^public //p' ;;
*)        bad=$(faults)
          [ -z "$bad" ] && echo "rooms: clean" && exit 0
          echo "$bad"
          exit 1 ;;
esac
