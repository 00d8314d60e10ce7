3 compile tests/cli/small.yaml --plain --set=search.suppress=[[5,6]] -o TMP/x.c
