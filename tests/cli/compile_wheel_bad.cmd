2 compile tests/cli/small.yaml --emit=wheel,c
2 compile tests/cli/small.yaml --emit=wheel --parts=model
2 compile tests/cli/small.yaml --emit=wheel --freestanding
2 compile tests/cli/small.yaml --emit=wheel --plain
2 compile tests/cli/small.yaml --emit=wheel --runtime=beside
2 compile tests/cli/small.yaml --emit=wheel --save-temps
2 compile tests/cli/small.yaml --emit=wheel -o -
2 compile tests/cli/small.yaml --emit=wheel --march=wasm32
2 compile tests/cli/small.yaml -o model.whl
2 compile tests/cli/small.yaml --emit=wheel -o model.whl
