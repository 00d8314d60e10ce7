3 sweep models/tiny.yaml --vary h=3,5 --columns=parameters
4 sweep tests/spec/no-such.yaml --columns=parameters
