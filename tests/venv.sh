#!/bin/sh
# venv.sh FOLDER PIP-ARGUMENT ...: makes a Python environment in FOLDER, unless
# it is there, and calls its pip; prints one line that says what to do if either
# fails.
folder=$1; shift
log=$folder.log
mkdir -p "$(dirname "$folder")"
if ! [ -x "$folder/bin/pip" ] &&
    ! python3 -m venv --clear "$folder" > "$log" 2>&1; then
    echo "$folder needs Python with venv: on Debian or Ubuntu, as root:" \
        "apt-get update && apt-get install -y python3-venv" >&2
    exit 1
fi
"$folder/bin/pip" -q --disable-pip-version-check --retries 1 "$@" \
    > "$log" 2>&1 && exit
echo "$folder: pip failed, $log says why; it needs PyPI, or the mirror that" \
    "PIP_INDEX_URL names" >&2
exit 1
