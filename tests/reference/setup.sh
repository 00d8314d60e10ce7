#!/bin/sh
# Makes build/reference-torch: a Python environment with PyTorch, for
# against_torch.py. On Linux PyPI's PyTorch brings CUDA; to have the one for
# CPUs alone, name PyTorch's index for it in PIP_EXTRA_INDEX_URL.
set -eu
cd "$(dirname "$0")/../.."
folder=build/reference-torch
rm -f $folder/ready
python3 -m venv $folder
$folder/bin/pip -q --disable-pip-version-check install torch==2.13.0 \
    numpy==2.4.6
touch $folder/ready
