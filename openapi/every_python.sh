#!/bin/sh
# Makes openapi.json with every Python from 3.11 on that this machine has, and says which gave the same document.
# Each Python has an environment of its own in the cache of this user, kept for the next time. Ends with 1 where a
# document differs; a Python for which the packages cannot be had is named and passed over.
set -u
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1

uv=uv
$uv --version >/dev/null 2>&1 || uv=.venv/bin/uv
lock=$(cksum <requirements/api.txt | tr ' ' -)
kept="${XDG_CACHE_HOME:-$HOME/.cache}/surebox-documents/$lock" # not a place where others could leave code to run

pythons() {
    for name in python3.11 python3.12 python3.13 python3.14 python3.15; do command -v "$name"; done
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python
} 2>/dev/null

version() {
    "$1" -c 'import sys; v = sys.version_info; assert v >= (3, 11); print("%d.%d.%d" % v[:3])' 2>/dev/null
}

environment() { # python, folder
    [ -e "$2/.ready" ] && return
    "$uv" --version >/dev/null 2>&1 || return
    "$uv" venv --quiet --clear --python "$1" "$2" &&
        "$uv" pip install --quiet --python "$2/bin/python" --require-hashes --requirement requirements/api.txt &&
        touch "$2/.ready"
} >/dev/null 2>&1

status=0
seen=" "
for python in $(pythons); do
    number=$(version "$python") || continue
    case "$seen" in *" $number "*) continue ;; esac
    seen="$seen$number "
    folder="$kept/$number"
    if ! environment "$python" "$folder"; then
        echo "Python $number: its packages cannot be had here, not checked"
    elif "$folder/bin/python" -m app.cli openapi | cmp -s - openapi/openapi.json; then
        echo "Python $number: the same document"
    else
        echo "Python $number: ANOTHER DOCUMENT"
        status=1
    fi
done
[ "$seen" = " " ] && echo "no Python from 3.11 on was found beside that of .venv"
exit "$status"
