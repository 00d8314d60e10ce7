# ops.awk: the op table for README.md and docs/ops.md, from compiler/graph/ops.h.
#     awk -f tests/ops.awk compiler/graph/ops.h            a row of Markdown each
#     awk -v short=1 -f tests/ops.awk compiler/graph/ops.h names by class
BEGIN {
    if (!short)
        print "| op | inputs | class | formula |\n|---|---|---|---|"
}
/^OP\(/ { row = $0 }
/^   [^ ]/ { row = row $0 }
row ~ /^OP\(.*\)$/ {
    split(row, part, "\"")
    split(part[3], field, / *, */)
    class = field[4]
    inputs = field[2] == field[3] ? field[2] : field[2] " to " field[3]
    gsub(/\|/, "\\|", part[4])
    row = ""
    if (!short)
        printf "| `%s` | %s | %s | %s |\n", part[2], inputs, class, part[4]
    if (!(class in line))
        order[++n] = class
    used[class] += length(part[2]) + 1
    if (used[class] > 70) {
        line[class] = line[class] "\n        "
        used[class] = length(part[2]) + 1
    }
    line[class] = line[class] " " part[2]
}
END {
    for (i = 1; i <= n && short; i++)
        printf "%-8s%s\n", order[i], line[order[i]]
}
