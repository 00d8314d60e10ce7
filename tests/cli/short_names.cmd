2 graph models/tiny.yaml --skip=fuse-attn
2 graph models/tiny.yaml --skip=dead
2 sweep models/tiny.yaml --columns=params
2 sweep models/tiny.yaml --columns=lat
