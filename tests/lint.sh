#!/bin/sh
# lint.sh: sizes of files, functions and lines, trailing blanks, words that may
# not be there. tests/lint.allow lists what may be larger: `FILE why`. Text that
# is emitted stands in the source as it comes out, so its quotes and indentation
# do not count: the 80 columns are the emitted line's. Python must be parsable.
cd "$(dirname "$0")/.." || exit 1
bad=$(sh tests/files.sh |
      grep -E '^(compiler|runtime|tests|bench)/.*\.[ch]$' |
      xargs awk '
    FNR == 1 { if (n > 600) print file ": " n " lines, at most 600"
               file = FILENAME }
    { n = FNR }
    { text = $0 }
    text ~ /^[^"]*"[^"]*\\n"[,);]*$/ { gsub(/^[^"]*"|\\n"[^"]*$/, "", text) }
    length(text) > 80 { print file ":" FNR ": " length($0) " columns" }
    /[ \t]$/        { print file ":" FNR ": a blank at the end" }
    /\t/            { print file ":" FNR ": a tab" }
    /TODO|FIXME/ { print file ":" FNR ": unfinished" }
    /^\/\* -----/ || (rule && /^ *\*\/$/) {
                      print file ":" FNR ": a section begins with " \
                            "/* ---- its name ---- */, in one line" }
    { rule = /^\/\* ---.*---$/ }
    /^{/            { from = FNR }
    /^}/            { if (from && FNR - from - 1 > 50)
                          print file ":" from ": " FNR - from - 1 \
                                " lines of function, at most 50"
                      from = 0 }
    END             { if (n > 600) print file ": " n " lines" }')
# no shell, nothing that writes past its end
bad="$bad
$(grep -nE '\<(system|popen|alloca|sprintf|gets)\(' compiler/*.c compiler/*/*.c \
    compiler/*/*/*.c runtime/*/*.c)"
# families of checkpoints are data: models/import names them, code does not,
# unless tests/families.allow says why: `FILE why`, or `WORD why` of a word that
# has another sense. llama.cpp is a program.
bad="$bad
$(awk '/^model_type: *\[/ { on = 1 } on { print } /\]/ { on = 0 }' \
      models/import/*.yaml |
  sed 's/^model_type://; s/[],[]/ /g' | tr -s ' ' '\n' |
  awk -v allow=tests/families.allow '
    BEGIN { while ((getline row < allow) > 0) { sub(/ .*/, "", row)
                                                allowed[row] = 1 } }
    FILENAME == "-" { if ($0 && !($0 in allowed)) name[$0] = 1; next }
    FILENAME in allowed { next }
    { gsub(/llama\.cpp/, ""); n = split(tolower($0), word, /[^a-z0-9_-]+/)
      for (i = 1; i <= n; i++)
          if (word[i] in name)
              print FILENAME ":" FNR ": names a family, " word[i] }
  ' - $(sh tests/files.sh | grep -E '^(compiler|runtime)/.*\.[ch]$'))"
# mutants whose line has changed
bad="$bad
$(sh tests/mutants.sh check)"
# comments in words that tests/prose lists
bad="$bad
$(sh tests/files.sh | grep -E '^(compiler|runtime)/.*\.[ch]$' | xargs awk '
    BEGIN { while ((getline row < "tests/prose") > 0)
                if (row ~ /^[0-9]/) { most[++n] = row + 0
                                      sub(/^[0-9]+ /, "", row); rule[n] = row } }
    function count(text) {
        for (i = 1; i <= n; i++)
            if (text ~ rule[i]) found[i]++
    }
    { line = $0
      while (inside || match(line, /(^|[ \t(])\/[*]/)) {
          if (!inside)
              line = substr(line, RSTART + RLENGTH)
          end = index(line, "*/")
          piece = end ? substr(line, 1, end - 1) : line
          sub(/^ *[*]? */, "", piece)
          text = inside ? text " " piece : piece
          inside = !end
          if (inside)
              break
          count(text)
          line = substr(line, end + 2)
      } }
    END { for (i = 1; i <= n; i++)
              if (found[i] > most[i])
                  print "tests/prose: " found[i] " comments have /" rule[i] \
                        "/, at most " most[i] " may" }')"
# what is tested by no rule of the Makefile
bad="$bad
$(ls tests/*.[ch] 2> /dev/null | sed 's/$/: lies in no folder of tests/')"
command -v python3 > /dev/null && bad="$bad
$(sh tests/files.sh | grep '\.py$' |
  xargs python3 -c '
import ast, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ast.parse(text, path)
    for at, line in enumerate(text.split("\n"), 1):
        if len(line) > 80:
            print(f"{path}:{at}: {len(line)} columns")' 2>&1)"
[ -f tests/lint.allow ] &&
    bad=$(echo "$bad" | grep -vFf tests/lint.allow)
bad=$(echo "$bad" | sed '/^$/d')
[ -z "$bad" ] && echo "lint: clean" && exit 0
echo "$bad"
exit 1
