# faults.awk: prints the facts that break a rule: arrows up, arrows out of a
# room of NARROW, arrows to a header that is another room's own, circles in a room, two files or two static
# functions of a room with one name. A circle of rooms has an arrow that goes up.
function room(file) {
    sub(/^compiler\//, "", file)
    sub(/\/.*/, "", file)
    return file
}

# The folder of a file in a room; none of the headers that stand in the room
# itself, its interface, which floors include and which include floors.
function floor(file) {
    sub(/^compiler\//, "", file)
    sub(/\/?[^\/]*$/, "", file)
    return file in level ? "" : file
}

function base(file) {
    sub(/.*\//, "", file)
    return file
}

# By the arrows in a room, `from` reaches all files of reach[from, ..].
function walk(from, at,   i, to) {
    for (i = 1; i <= arrows[at]; i++) {
        to = head[at, i]
        if (!((from, to) in reach)) {
            reach[from, to]
            walk(from, to)
        }
    }
}

# Says the circle that `file` is in, unless a comment has the same names.
function circle(file,   i, j, n, in_it, names) {
    for (i = 1; i <= files; i++)
        if ((file, name[i]) in reach && (name[i], file) in reach) {
            in_it[++n] = name[i]
            names = names " " base(name[i])
            said[name[i]]
        }
    for (i = 1; i <= comments; i++) {
        for (j = 1; j <= n; j++)
            if (!index(comment[i] " ", " " base(in_it[j]) " "))
                break
        if (comment_of[i] == room(file) && comment_n[i] == n && j > n) {
            used[i]
            return
        }
    }
    print room(file) ": a circle:" names
    for (i = 1; i <= n; i++)
        for (j = 1; j <= n; j++)
            if ((in_it[i], in_it[j]) in why)
                print "    " why[in_it[i], in_it[j]]
}

# True unless `from` is in a room of NARROW, which may use only what stands there:
# a room, or a header and the functions whose names begin with its name.
function allowed(from, to, how,   i, n, use, header) {
    if (!((from = room(from)) in narrowed) || from == room(to))
        return 1
    n = split(narrowed[from], use, " ")
    for (i = 1; i <= n; i++) {
        header = base(use[i])
        sub(/[.]h$/, "", header)
        if (use[i] == room(to) || to == "compiler/" use[i] ||
            use[i] ~ /[.]h$/ && room(to) == room(use[i]) &&
            how ~ (" uses " header "_"))
            return 1
    }
    return 0
}

BEGIN {
    n = split(narrow, order, " ")
    for (i = 1; i <= n; i++) {
        split(order[i], part, ":")
        narrowed[part[1]] = narrowed[part[1]] " " part[2]
    }
    n = split(rooms, order, " ")
    for (i = 1; i <= n; i++)
        level[order[i]] = i
    n = split(floors, order, " ")
    for (i = 1; i <= n; i++)
        height[order[i]] = i
}
$1 == "file" {
    name[++files] = $2
    if (base($2) in of_name)
        print $2 ": " of_name[base($2)] " has the same name"
    of_name[base($2)] = $2
    if (room($2) in level && floor($2) && !(floor($2) in height))
        print $2 ": in no floor of the Makefile"
    if (!(room($2) in level))
        print $2 ": in no room of the Makefile"
}
# A program has one of two kernels, handles or programs of one name, by its
# machine and its kind of model.
$1 == "function" && floor($2) !~ /^(emit.kernels|runtime.(handle|program))$/ {
    key = room($2) SUBSEP $3
    if (key in home && home[key] != $2 && (one[key] || $4))
        print $2 ": " home[key] " has a function " $3 " too"
    home[key] = $2
    one[key] = $4
}
$1 == "public" { public[$2] }
$1 == "circle" {
    comment_of[++comments] = $2
    comment_n[comments] = NF - 2
    comment[comments] = substr($0, length($1 $2) + 2)
}
$1 == "arrow" { line[++n_lines] = $0 }
END {
    for (l = 1; l <= n_lines; l++) {
        split(line[l], part, " ")
        from = part[2]
        to = part[3]
        how = substr(line[l], length(part[1] from to) + 4)
        if (level[room(from)] < level[room(to)])
            print how ": " room(to) " is above " room(from)
        else if (!allowed(from, to, how))
            print how ": " room(from) " may use only" narrowed[room(from)]
        else if (room(from) != room(to)) {
            if (to ~ /[.]h$/ && !(to in public))
                print how ": it is " room(to) "'s own"
        } else if (floor(from) && floor(to) &&
                   height[floor(from)] < height[floor(to)]) {
            print how ": " floor(to) " is above " floor(from)
        } else if (from != to && !((from, to) in why)) {
            why[from, to] = how
            head[from, ++arrows[from]] = to
        }
    }
    for (i = 1; i <= files; i++)
        walk(name[i], name[i])
    for (i = 1; i <= files; i++)
        if ((name[i], name[i]) in reach && !(name[i] in said))
            circle(name[i])
    for (i = 1; i <= comments; i++)
        if (!(i in used))
            print comment_of[i] ": a comment says a circle, and there is none:" \
                  comment[i]
}
