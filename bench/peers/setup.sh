#!/bin/sh
# Makes build/peers, a Python environment with the peers in fixed versions.
set -eu
cd "$(dirname "$0")/../.."
python3 -m venv build/peers
build/peers/bin/pip install -q -r bench/peers/requirements.txt
build/peers/bin/pip list
