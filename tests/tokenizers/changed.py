"""Finds the code points on which libutf8proc, that attnc's tables are made
from, and the `tokenizers` package disagree: they follow other versions of
Unicode. Writes tests/tokenizers/changed.txt; the comparisons leave these out.

    python3 tests/tokenizers/changed.py > tests/tokenizers/changed.txt
"""

import collections
import ctypes
import ctypes.util

import tokenizers
from tokenizers import Regex, normalizers as N, pre_tokenizers as P

u = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
u.utf8proc_unicode_version.restype = ctypes.c_char_p
u.utf8proc_category_string.restype = ctypes.c_char_p
u.utf8proc_decompose_char.restype = ctypes.c_ssize_t
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORY = {c: u.utf8proc_category_string(c).decode() for c in POINTS}


def parts(c, option):
    out, last = (ctypes.c_int32 * 64)(), ctypes.c_int(0)
    n = u.utf8proc_decompose_char(c, out, 64, 16 | option, ctypes.byref(last))
    return "".join(map(chr, out[:n]))


def lower(c):
    return "i\u0307" if c == 0x130 else chr(u.utf8proc_tolower(c))


def normaliser(n):
    return lambda c: n.normalize_str(chr(c))


def removes(n):
    return lambda c: n.normalize_str(chr(c)) == ""


def bert(**which):
    options = dict(
        clean_text=False,
        handle_chinese_chars=False,
        strip_accents=False,
        lowercase=False,
    )
    return N.BertNormalizer(**{**options, **which})


def regex(pattern):
    split = P.Split(Regex(pattern), "removed")
    return lambda c: not split.pre_tokenize_str(chr(c))


def punctuation(c):
    return CATEGORY[c][0] == "P" or 32 < c < 127 and not chr(c).isalnum()


# What a property is to attnc, and to the package.
ROWS = [
    ("NFD", lambda c: parts(c, 0), normaliser(N.NFD())),
    ("NFKD", lambda c: parts(c, 4), normaliser(N.NFKD())),
    ("lower case", lower, normaliser(N.Lowercase())),
    ("marks", lambda c: CATEGORY[c][0] == "M", removes(N.StripAccents())),
    (
        "BERT's accents",
        lambda c: CATEGORY[c] == "Mn",
        removes(bert(strip_accents=True)),
    ),
    (
        "BERT's controls",
        lambda c: CATEGORY[c] in ("Cc", "Cf", "Co", "Cs")
        and c not in (9, 10, 13)
        or c == 0xFFFD,
        removes(bert(clean_text=True)),
    ),
    (
        "BERT's punctuation",
        punctuation,
        lambda c: len(P.BertPreTokenizer().pre_tokenize_str("a" + chr(c) + "a"))
        == 3,
    ),
    ("letters", lambda c: CATEGORY[c][0] == "L", regex(r"\p{L}")),
    ("numbers", lambda c: CATEGORY[c][0] == "N", regex(r"\p{N}")),
    ("marks of expressions", lambda c: CATEGORY[c][0] == "M", regex(r"\p{M}")),
    (
        "punctuation of expressions",
        lambda c: CATEGORY[c][0] == "P",
        regex(r"\p{P}"),
    ),
]


def main():
    why = collections.defaultdict(list)
    for name, ours, theirs in ROWS:
        for c in POINTS:
            if not 0x40000 <= c < 0xE0000 and ours(c) != theirs(c):
                why[c].append(name)
    print(
        "# Code points that the `tokenizers` package %s and libutf8proc %s"
        % (tokenizers.__version__, u.utf8proc_unicode_version().decode())
    )
    print(
        "# (versions of Unicode) know differently, and as what: by changed.py."
    )
    for name, _, _ in ROWS:
        print("# %s: %d" % (name, sum(name in w for w in why.values())))
    print("# together: %d" % len(why))
    runs = []
    for c in sorted(why):
        if runs and runs[-1][1] == c - 1 and why[runs[-1][0]] == why[c]:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    for a, b in runs:
        print(
            "%04X%s # %s"
            % (a, "" if a == b else "..%04X" % b, ", ".join(why[a]))
        )


if __name__ == "__main__":
    main()
