# text.awk: the functions that read text, `FILE FUNCTION WHAT ..`: that compare
# strings or memory, look for a string or a character in one, ask for a
# literal's length, or compare a character with one of their own.
BEGIN {
    calls = "(str(n?(case)?cmp|n?casecmp|str|chr|rchr|spn|cspn|pbrk|tok|to[a-z]+" \
            ")|mem(cmp|chr|mem)|sscanf|is(alpha|digit|alnum|space|upper|lower)" \
            ")[(]"
}

# The line without comments; literals are empty.
function code(line,   out, q) {
    for (;;) {
        if (in_comment) {
            if (!(q = index(line, "*/")))
                return out
            line = substr(line, q + 2)
            in_comment = 0
        }
        if (!match(line, /["']|\/\*/))
            return out line
        q = substr(line, RSTART, 1)
        out = out substr(line, 1, RSTART - 1)
        line = substr(line, RSTART + 1)
        if (q == "/")
            in_comment = 1
        else {
            match(line, "^([^\\\\" q "]|\\\\.)*" q)
            line = substr(line, RLENGTH + 1)
            out = out q q
        }
    }
}

function found(what) {
    if (index(" " list " ", " " what " ") == 0)
        list = list " " what
}

FNR == 1 { in_comment = 0; head = ""; inside = 0 }
{ text = code($0) }
/^[A-Za-z]/ && !inside { head = "" }
!inside { head = head " " text }
/^{/ {
    inside = 1
    sub(/[(].*/, "", head)
    sub(/.*[ *]/, "", head)
    list = ""
}
inside {
    if (text ~ /([=!]=|[<>]=?|case) *''|'' *([=!]=|[<>])/)
        found("characters")
    while (match(text, /[A-Za-z_0-9]+[(]("")?/)) {
        call = substr(text, RSTART, RLENGTH)
        text = substr(text, RSTART + RLENGTH)
        if (call ~ ("^" calls "$") || call == "strlen(\"\"")
            found(substr(call, 1, index(call, "(") - 1))
    }
}
/^}/ {
    if (inside && list)
        print FILENAME ":" head list
    inside = 0
    head = ""
}
