# draw.awk: the rooms as SVG, the floor below. A room has a line to its left and
# a column upwards; where the line of one crosses the column of another is a dot
# if the one includes the other. Nothing in it changes with the sizes of files.
function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}

function room(file) {
    sub(/^compiler\//, "", file)
    sub(/\/.*/, "", file)
    return file
}

function at(x, y, text, more) {
    printf "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, more, escaped(text)
}

# A sentence, in two lines where one would be too long.
function sentence(x, y, text,   cut) {
    if (length(text) <= Columns) {
        at(x, y + 4, text, "")
        return
    }
    for (cut = int(length(text) / 2); substr(text, cut, 1) != " "; cut++)
        ;
    at(x, y - 3, substr(text, 1, cut - 1), "")
    at(x, y + 11, substr(text, cut + 1), "")
}

BEGIN {
    n = split(rooms, name, " ")
    Row = 34; Column = 26; Left = 24; Top = 74; Box = 68; Columns = 72
    says["main.c"] = "runs the command that it is called with."
}
$1 == "says" {
    room_of = $2
    sub(/^says [^ ]+ /, "")
    says[room_of] = $0
}
$1 == "arrow" && $5 == "includes" && room($2) != room($3) {
    includes[room($2), room($3)]
}
END {
    width = Left + n * Column + Box + Columns * 6.7
    height = Top + n * Row
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" " \
           "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" " \
           "font-size=\"11\">\n", width, height, width, height
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    at(Left, 24, "The rooms of attnc", " font-size=\"15\" font-weight=\"bold\"")
    at(Left, 44, "A dot: the room of this line includes the room at the foot " \
                 "of this column. Nothing includes what is above it.", "")
    for (i = 1; i <= n; i++) {
        x[i] = Left + (i - 1) * Column
        y[i] = Top + (n - i) * Row + Row / 2
        line = line sprintf("M%d %dH%d", Left, y[i], x[i])
        column = column sprintf("M%d %dV%d", x[i] + 8, y[i] - 11, Top + Row / 2)
    }
    printf "<path d=\"%s\" stroke=\"#ddd\" fill=\"none\"/>\n", line
    printf "<path d=\"%s\" stroke=\"#bbb\" fill=\"none\"/>\n", column
    for (i = n; i >= 1; i--) {
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"3\" " \
               "fill=\"#e6f0f8\" stroke=\"#0072b2\"/>\n", x[i], y[i] - 11, Box - 8
        at(x[i] + 6, y[i] + 4, name[i], " font-weight=\"bold\"")
        sentence(x[i] + Box, y[i], says[name[i]])
        for (j = 1; j <= n; j++)
            if ((name[i], name[j]) in includes)
                printf "<circle cx=\"%d\" cy=\"%d\" r=\"5\" fill=\"%s\">" \
                       "<title>%s includes %s</title></circle>\n", x[j] + 8,
                       y[i], j < i ? "#0072b2" : "#d55e00", name[i], name[j]
    }
    print "</svg>"
}
