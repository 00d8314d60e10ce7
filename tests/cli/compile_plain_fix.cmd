3 compile tests/cli/small.yaml --plain --fix source=4,batch=1 --set search.beam=1 -o TMP/x.c
