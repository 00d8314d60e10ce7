# man.awk: prints the manual page attnc(3) from attnc.h, so that both say the
# same. `title` is the line .TH of attnc(1), with date and version.
#
#     awk -v title=".TH ..." -f compiler/library/man.awk compiler/library/attnc.h
#
# A comment in column 1 is text, in which indented lines are code; a line with
# dashes begins a section; all else is a declaration.
function escape(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    return s ~ /^[.']/ ? "\\&" s : s
}

function set_mode(to)
{
    if (to == mode)
        return
    if (mode == "code")
        print ".fi\n.RE"
    if (to == "code")
        print (first ? "" : ".PP\n") ".RS 4\n.nf"
    first = 0
    mode = to
}

function put_code(s)
{
    if (s == "" && mode != "code")
        return
    set_mode("code")
    if (s == "")
        blank = 1
    else {
        if (blank)
            print ""
        blank = 0
        print escape(s)
    }
}

function put_text(s)
{
    if (s ~ /^    /) {
        put_code(substr(s, 5))
        return
    }
    if (s == "") { # a paragraph ends
        set_mode("text")
        pending = 1
        return
    }
    if (mode != "text")
        pending = 1
    set_mode("text")
    if (pending && !first)
        print ".PP"
    blank = pending = first = 0
    print escape(s)
}

BEGIN {
    sub(/"ATTNC" 1/, "\"ATTNC\" 3", title)
    print title
    print ".SH NAME\nattnc \\- compiles a Transformer and calls it"
    print ".SH SYNOPSIS\n.nf\n#include <attnc.h>\n"
    print "cc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs attnc)\n.fi"
    print ".SH DESCRIPTION"
    mode = "text"
    first = 1
}

/^\/\* ----/ {
    set_mode("text")
    gsub(/[-\/* ]*----[-\/* ]*/, "")
    print ".SH " toupper($0)
    first = 1
    next
}

/^#if.*GNUC/ { skipping = 1 }
/^#/ || /^extern "C"/ || skipping || /^}$/ {
    if (/^#endif/)
        skipping = 0
    next
}

/^\/\*/ { in_comment = pending = 1 }
in_comment {
    s = $0
    ends = s ~ /\*\//
    sub(/^\/\* (attnc\.h: )?/, "", s)
    sub(/^ \* ?/, "", s)
    sub(/ *\*\/.*$/, "", s)
    put_text(s)
    if (ends)
        in_comment = 0
    next
}

{
    # a prototype's other lines stand below its parenthesis
    if (sub(/^ATTNC_API /, ""))
        in_prototype = 1
    else if (in_prototype)
        sub(/^          /, "")
    if (/;/)
        in_prototype = 0
    put_code($0)
}

END {
    set_mode("text")
    print ".SH SEE ALSO\n.BR attnc (1)"
}
