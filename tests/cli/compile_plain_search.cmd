3 compile tests/cli/small.yaml --plain --set=search.repetition_penalty=1.1 -o TMP/x.c
3 compile tests/cli/small.yaml --plain --set=search.no_repeat_ngram=2 -o TMP/x.c
3 compile tests/cli/small.yaml --plain --set=search.min_length=4 -o TMP/x.c
3 compile tests/cli/small.yaml --plain --set=search.min_total=4 -o TMP/x.c
