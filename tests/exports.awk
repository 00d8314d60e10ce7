# exports.awk: the C reference for docs/c-api.md, from the rows of
# runtime/exports.h; or, with -v errors=1, the errors from compiled_model.h.
#     awk -f tests/exports.awk runtime/exports.h          a section each
#     awk -v errors=1 -f tests/exports.awk FILE           a table
# Names begin with NAME_, as users of a model see them.
BEGIN {
    files["Always"] = "every model"
    files["Encodes"] = "models that encode"
    files["EncodesIds"] = "encoders of ids"
    files["EncodesText"] = "encoders with a vocabulary"
    files["EncodesRows"] = "encoders of rows of numbers"
    files["Attends"] = "a block of attention alone"
    files["Decodes"] = "models that generate"
    files["Answers"] = "models that generate from ids"
    files["AnswersText"] = "models that generate, with vocabularies"
    files["Chats"] = "models whose spec has a `chat`, with a vocabulary"
    files["TranslatesIds"] = "encoder-decoders of ids"
    files["TranslatesText"] = "encoder-decoders with vocabularies"
    files["Texts"] = "models with a vocabulary"
    files["Writes"] = "models that generate, with a vocabulary"
    if (errors)
        print "| error | value | what is wrong |\n|---|---|---|"
}

function trim(s) {
    gsub(/^[ \t]+|[ \t]+$/, "", s)
    return s
}

# The type and the name, with a blank between them where no * stands.
function declared(type, name) {
    return type (type ~ /\*$/ ? "" : " ") name
}

# "void *bound, const void *file" of P(type, name) in the row's parameters.
function parameters(text,   list, pair, at) {
    while (match(text, /P\([^()]*\)/)) {
        pair = substr(text, RSTART + 2, RLENGTH - 3)
        text = substr(text, RSTART + RLENGTH)
        at = index(pair, ", ")
        list = list (list ? ", " : "") \
            declared(trim(substr(pair, 1, at - 1)), trim(substr(pair, at + 2)))
    }
    return list
}

# The signature, cut at commas into lines of at most 80 columns.
function put_signature(head, list,   part, n, i, line, margin) {
    n = split(list, part, ", ")
    line = head "("
    margin = sprintf("%" length(line) "s", "")
    for (i = 1; i <= n; i++) {
        part[i] = part[i] (i < n ? "," : ");")
        if (length(line) + length(part[i]) > 79) {
            sub(/ $/, "", line)
            print line
            line = margin
        }
        line = line part[i] (i < n ? " " : "")
    }
    print line
}

function put_row(row,   kind, at, when, result, name, head, comment) {
    kind = row ~ /^OPENED/ ? "opened" : "core"
    if (kind != last) {
        print (last ? "\n" : "") (kind == "opened" ? "## An open model" \
                                                   : "## The lower level")
        last = kind
    }
    sub(/^[A-Z]+\(/, "", row)
    at = index(row, ",")
    when = substr(row, 1, at - 1)
    row = trim(substr(row, at + 1))
    at = index(row, ",")
    result = substr(row, 1, at - 1)
    row = trim(substr(row, at + 1))
    at = index(row, ",")
    name = substr(row, 1, at - 1)
    at = match(row, / "/)
    head = declared(result, "NAME_" name)
    comment = substr(row, at + 2)
    sub(/"\)$/, "", comment)
    gsub(/" +"/, "", comment)
    gsub(/\\"/, "\"", comment)
    gsub(/\$rows/, "A row for each goes", comment)
    gsub(/\$columns/, "NAME_OUTPUT", comment)
    gsub(/\$/, "NAME_", comment)
    printf "\n### NAME_%s\n\nIn %s.\n\n", name, files[when]
    put_signature("    " head, parameters(substr(row, 1, at)))
    print ""
    put_text(comment)
}

# The text in lines of at most 80 columns; its errors are a paragraph.
function put_text(text,   word, n, i, line) {
    sub(/ Errors/, " @Errors", text)
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        if (word[i] ~ /^@/) {
            print line "\n"
            line = substr(word[i], 2)
        } else if (length(line) + length(word[i]) >= 80) {
            print line
            line = word[i]
        } else
            line = line (line == "" ? "" : " ") word[i]
    }
    print line
}

!errors && /^(EXPORT|OPENED)\(/ { row = $0; next }
!errors && row { row = row " " trim($0) }
!errors && row ~ /"\)$/ { put_row(row); row = "" }

errors && /^    ATTN_ERROR_/ { put_error(); text = $0; next }
errors && text { text = text " " trim($0) }
errors && /^};/ { put_error() }

function put_error(   name, value) {
    if (!text)
        return
    name = trim(substr(text, 1, index(text, "=") - 1))
    value = text
    sub(/.*= */, "", value)
    sub(/[^-0-9].*/, "", value)
    sub(/.*\/\* */, "", text)
    sub(/ *\*\/.*/, "", text)
    print "| `" name "` | " value " | " text " |"
    text = ""
}
