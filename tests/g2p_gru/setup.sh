#!/bin/sh
# Makes build/g2p_gru: a Python environment for make_g2p.py, and the wheel of
# g2p-en 2.1.0, of which it reads two files; nothing of that is installed.
set -eu
cd "$(dirname "$0")/../.."
rm -f build/g2p_gru/ready
sh tests/venv.sh build/g2p_gru install numpy==2.4.6 safetensors==0.8.0
sh tests/venv.sh build/g2p_gru download g2p-en==2.1.0 --no-deps -d build/g2p_gru
touch build/g2p_gru/ready
