# draw.awk: the rooms as SVG, the floor below, and the floors of each room that
# has some. A room has a line to its left and a column upwards; where the line of
# one crosses the column of another is a dot if the one includes the other.
# Nothing in it changes with the sizes of files.
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

# The folder of a file.
function floor(file) {
    sub(/^compiler\//, "", file)
    sub(/\/[^\/]*$/, "", file)
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

# Draws name[1] to name[n], which are folders, from `top` down.
function house(n, name, top,   i, j, x, y, line, column) {
    for (i = 1; i <= n; i++) {
        x[i] = Left + (i - 1) * Column
        y[i] = top + (n - i) * Row + Row / 2
        line = line sprintf("M%d %dH%d", Left, y[i], x[i])
        column = column sprintf("M%d %dV%d", x[i] + 8, y[i] - 11, top + Row / 2)
    }
    printf "<path d=\"%s\" stroke=\"#ddd\" fill=\"none\"/>\n", line
    printf "<path d=\"%s\" stroke=\"#bbb\" fill=\"none\"/>\n", column
    for (i = n; i >= 1; i--) {
        j = length(name[i]) * 7 + 12
        j = j < Box - 8 ? Box - 8 : j
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"22\" rx=\"3\" " \
               "fill=\"#e6f0f8\" stroke=\"#0072b2\"/>\n", x[i], y[i] - 11, j
        at(x[i] + 6, y[i] + 4, name[i], " font-weight=\"bold\"")
        sentence(x[i] + j + 8, y[i], says[name[i]])
        for (j = 1; j <= n; j++)
            if ((name[i], name[j]) in includes)
                printf "<circle cx=\"%d\" cy=\"%d\" r=\"5\" fill=\"%s\">" \
                       "<title>%s includes %s</title></circle>\n", x[j] + 8,
                       y[i], j < i ? "#0072b2" : "#d55e00", name[i], name[j]
    }
}

BEGIN {
    n = split(rooms, name, " ")
    Row = 34; Column = 26; Left = 24; Top = 74; Box = 68; Columns = 72; Gap = 46
    says["main.c"] = "runs the command that it is called with."
    n_floors = split(floors, each, " ")
    for (i = 1; i <= n_floors; i++)
        floor_of[room(each[i]), ++high[room(each[i])]] = each[i]
}
$1 == "says" {
    room_of = $2
    sub(/^says [^ ]+ /, "")
    says[room_of] = $0
}
$1 == "arrow" && $5 == "includes" {
    if (room($2) != room($3))
        includes[room($2), room($3)]
    else if (floor($2) != floor($3))
        includes[floor($2), floor($3)]
}
END {
    width = Left + n * Column + Box + Columns * 6.7
    height = Top + n * Row
    for (i = 1; i <= n; i++)
        if (name[i] in high)
            height += Gap + high[name[i]] * Row
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" " \
           "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" " \
           "font-size=\"11\">\n", width, height, width, height
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    at(Left, 24, "The rooms of attnc", " font-size=\"15\" font-weight=\"bold\"")
    at(Left, 44, "A dot: the room of this line includes the room at the foot " \
                 "of this column. Nothing includes what is above it.", "")
    house(n, name, Top)
    top = Top + n * Row
    for (i = n; i >= 1; i--) {
        if (!(name[i] in high))
            continue
        for (j = 1; j <= high[name[i]]; j++)
            storey[j] = floor_of[name[i], j]
        at(Left, top + Gap - 12, "The floors of " name[i],
           " font-size=\"13\" font-weight=\"bold\"")
        house(high[name[i]], storey, top + Gap)
        top += Gap + high[name[i]] * Row
    }
    print "</svg>"
}
