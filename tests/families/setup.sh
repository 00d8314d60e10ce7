#!/bin/sh
# Makes build/families and build/families4: Python environments with the two
# versions of transformers that golden.py runs with. On Linux PyPI's PyTorch
# brings CUDA; to have the one for CPUs alone, name PyTorch's index for it in
# PIP_EXTRA_INDEX_URL.
set -eu
cd "$(dirname "$0")/../.."
rm -f build/families/ready
for version in 5.23.0 4.57.6; do
    folder=build/families
    [ "$version" = 5.23.0 ] || folder=build/families4
    sh tests/venv.sh $folder install torch==2.15.0 numpy==2.4.6 \
        safetensors==0.8.0 sentencepiece==0.2.3 protobuf==7.36.2 \
        gguf==0.19.0 peft==0.21.2 "transformers==$version"
done
touch build/families/ready
