0 sweep - --vary h=1,2,3 --columns=parameters
0 sweep models/tiny.yaml - --vary h=2 --columns=parameters
