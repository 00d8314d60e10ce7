#!/bin/sh
# Makes build/peers, a Python environment with the peers in fixed versions: some
# 3 GB, and five minutes in which llama.cpp is built for this CPU. What cannot
# be installed is told, and the rest goes on.
#
# On Linux PyPI's PyTorch brings CUDA; to have the one for CPUs alone, name
# PyTorch's index for it in PIP_EXTRA_INDEX_URL.
set -eu
cd "$(dirname "$0")/../.."
rm -f build/peers/ready
python3 -m venv build/peers
pip="build/peers/bin/pip --disable-pip-version-check"
export CMAKE_ARGS="${CMAKE_ARGS--DGGML_NATIVE=ON}"
grep -v '^#' bench/peers/requirements.txt | while read -r package; do
    echo "$package"
    $pip install -q "$package" || echo "missing: $package"
done
$pip list
touch build/peers/ready
