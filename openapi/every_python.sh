#!/bin/sh
# Makes openapi.json with every Python from 3.11 on that this machine has, and says which gave the same document; installs
# the wheel of the Python client into an empty environment of each, from its lock, and runs its command there.
# Each Python has an environment of its own in the cache of this user, kept for the next time. Ends with 1 where a
# document differs; a Python for which the packages cannot be had is named and passed over.
set -u
cd "$(dirname "$0")/.."
export PYTHONDONTWRITEBYTECODE=1

uv=uv
$uv --version >/dev/null 2>&1 || uv=.venv/bin/uv
lock=$(cksum <requirements/api.txt | tr ' ' -)
kept="${XDG_CACHE_HOME:-$HOME/.cache}/surebox-documents/$lock" # not a place where others could leave code to run

# The wheels of the service, whose version the document has, and of the client, built by the locked backend of .venv.
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
.venv/bin/python -m hatchling build --target wheel --directory "$wheels/service" >/dev/null 2>&1
(cd openapi/sdk/python && ../../../.venv/bin/python -m hatchling build --target wheel --directory "$wheels") >/dev/null 2>&1

pythons() {
    for name in python3.11 python3.12 python3.13 python3.14 python3.15; do command -v "$name"; done
    ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python
} 2>/dev/null

version() {
    "$1" -c 'import sys; v = sys.version_info; assert v >= (3, 11); print("%d.%d.%d" % v[:3])' 2>/dev/null
}

environment() { # python, folder
    "$uv" --version >/dev/null 2>&1 || return
    if ! [ -e "$2/.ready" ]; then
        "$uv" venv --quiet --clear --python "$1" "$2" &&
            "$uv" pip install --quiet --python "$2/bin/python" --require-hashes --requirement requirements/api.txt &&
            touch "$2/.ready" || return
    fi
    "$uv" pip install --quiet --python "$2/bin/python" --no-deps --no-index --reinstall "$wheels"/service/*.whl
} >/dev/null 2>&1

client() { # python, folder
    "$uv" venv --quiet --clear --python "$1" "$2" &&
        "$uv" pip install --quiet --python "$2/bin/python" --require-hashes --requirement requirements/client.txt &&
        "$uv" pip install --quiet --python "$2/bin/python" --no-deps --no-index "$wheels"/*.whl
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
    elif "$folder/bin/python" -m app.cli openapi 2>/dev/null | cmp -s - openapi/openapi.json; then
        echo "Python $number: the same document"
    else
        echo "Python $number: ANOTHER DOCUMENT"
        status=1
    fi
    if ! client "$python" "$wheels/$number"; then
        echo "Python $number: the client cannot be installed here, not checked"
    elif ! (cd "$wheels" && "$number/bin/python" -I -c 'import surebox_client; surebox_client.Surebox("http://127.0.0.1:1").close()' &&
        "$number/bin/surebox" --version >/dev/null); then
        echo "Python $number: THE CLIENT DOES NOT RUN"
        status=1
    else
        echo "Python $number: the client runs"
    fi
done
[ "$seen" = " " ] && echo "no Python from 3.11 on was found beside that of .venv"
exit "$status"
