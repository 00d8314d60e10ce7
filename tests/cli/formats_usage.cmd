2 graph models/attention.yaml -o TMP/x.csv
2 graph models/attention.yaml --format=csv
2 run models/tiny.yaml --format=svg
2 new gpt --json
2 fields d_modle
2 fields hidden_size
2 fields d_model h
2 fields d_model --format=schema
0 fields d_k
4 plan models/missing.yaml -o /nowhere/x
4 tensors models/tiny.yaml -o /nowhere/x
4 tensors models/missing.yaml -o TMP/none
0 graph models/attention.yaml -o TMP/x.md
0 fields d_model -o TMP/x.JSON
2 fields --page=specs
2 fields --page=spec h
2 fields --page=spec --json
2 fields --page=spec --format=schema
