# facts.awk: what the sources say of the rooms, a line each:
#
#     file FILE
#     public FILE                   a header that other rooms may include
#     says ROOM SENTENCE            the first of its public header
#     circle ROOM NAME ..           one that a comment gives a reason for
#     arrow FROM TO PLACE includes NAME
#     function FILE NAME static     or none
BEGIN {
    for (i = 1; i < ARGC; i++) {
        known[ARGV[i]]
        print "file", ARGV[i]
    }
}

# The names at the beginning of a list: `a.h, b.h and c.h. The rest`.
function names(text,   n, i, word, found) {
    n = split(text, word, " ")
    for (i = 1; i <= n && word[i] ~ /^(and|[a-z0-9_]+[.][ch][.,;:]?)$/; i++) {
        sub(/[.,;:]$/, "", word[i])
        if (word[i] != "and")
            found = found " " word[i]
    }
    ends = i > n
    return found
}

# The path of a file of this room; names of files are unique.
function path_of(name,   path) {
    for (path in known)
        if (path ~ ("^(compiler/)?" room "/(.*/)?" name "$"))
            return path
    return folder name
}

function add_public(text,   n, i, list) {
    print "public", FILENAME
    if (match(text, /(Public beside it:|Other public headers?:|See also) /)) {
        n = split(names(substr(text, RSTART + RLENGTH)), list, " ")
        for (i = 1; i <= n; i++)
            print "public", path_of(list[i])
    }
    sub(/^ [a-z_]+[.]h: /, "", text)
    if (match(text, /[.] /))
        text = substr(text, 1, RSTART)
    print "says", room, text
}

function comment_ends(   list) {
    gsub(/[ *\/\n]+/, " ", comment)
    if (sub(/^ circle: /, "", comment)) {
        list = names(comment)
        if (!ends)
            print "circle", room list
    } else if (first && (FILENAME == "compiler/" room "/" room ".h" ||
                         FILENAME == "runtime/rt.h"))
        add_public(comment)
    first = 0
    comment = ""
}

FNR == 1 {
    folder = room = FILENAME
    sub(/[^\/]*$/, "", folder)
    sub(/^compiler\//, "", room)
    sub(/\/.*/, "", room)
    first = 1
    comment = ""
}
/^[A-Za-z]/ { head = "" }
{ head = head " " $0 }
/^{/ {
    if (match(head, /[a-z_0-9]+[(]/))
        print "function", FILENAME, substr(head, RSTART, RLENGTH - 1),
              head ~ /^ static / ? "static" : ""
    head = ""
}
comment || /^ *\/\*/ {
    comment = comment "\n" $0
    if (/\*\//)
        comment_ends()
    next
}
/^# *include "/ {
    split($0, quoted, "\"")
    n = split(folder "|compiler/|", from, "|")
    for (i = 1; i <= n; i++) {
        to = from[i] quoted[2]
        while (sub(/[^\/]+\/[.][.]\//, "", to))
            ;
        if (to in known)
            break
    }
    if (i <= n)
        print "arrow", FILENAME, to, FILENAME ":" FNR ":", "includes", quoted[2]
}
