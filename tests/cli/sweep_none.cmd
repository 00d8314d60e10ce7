3 sweep models/tiny.yaml --vary h=3,5 --columns=parameters
4 sweep tests/spec/no-such.yaml --columns=parameters
3 sweep models/tiny.yaml --vary h=3,5 --columns=parameters --svg=no-such.svg
3 sweep models/minilm.yaml models/llama-110m.yaml --columns=parameters --sort=parameters --front=parameters,weights --svg=no-such.svg --axes=encode_predicted,step_predicted -t 2
