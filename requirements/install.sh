#!/bin/sh
# Brings .venv to what a lock says: requirements/install.sh demo|dev
# uv is used where it is found; elsewhere pip fetches it into .venv first, which is still faster than pip alone by a
# minute. Where it cannot be had, pip installs everything. Every file is checked by its hash.
set -eu
cd "$(dirname "$0")/.."
lock=$1
venv=.venv
log=$(mktemp)
trap 'rm -f "$log"' EXIT

recent() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        recent "$PYTHON" && printf '%s' "$PYTHON" && return
        echo "PYTHON=$PYTHON is not a Python of 3.11 or newer." >&2
        exit 1
    fi
    for name in python3 python3.11 python3.12 python3.13 python3.14 python; do
        recent "$name" && printf '%s' "$name" && return
    done
    echo "Python 3.11 or newer is needed and was not found; name one: make install PYTHON=/path/to/python3" >&2
    exit 1
}

quietly() {
    "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

uv=uv
$uv --version >/dev/null 2>&1 || uv=

if ! recent "$venv/bin/python"; then
    python=$(find_python)
    rm -rf "$venv"
    echo "Making $venv with $("$python" --version)"
    if [ -n "$uv" ]; then
        quietly "$uv" venv --quiet --python "$python" "$venv"
    else
        "$python" -m venv "$venv" >"$log" 2>&1 || {
            cat "$log" >&2
            rm -rf "$venv"
            echo "This Python cannot make virtual environments (Debian: install python3-venv), and uv was not found." >&2
            exit 1
        }
    fi
fi

if [ -z "$uv" ]; then
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || quietly "$venv/bin/python" -m ensurepip
    if ! "$venv/bin/uv" --version >/dev/null 2>&1; then
        echo "Fetching uv into $venv, which installs the rest"
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
            --requirement requirements/uv.txt >"$log" 2>&1 || echo "uv cannot be had here; pip goes on without it"
    fi
    if "$venv/bin/uv" --version >/dev/null 2>&1; then uv=$venv/bin/uv; fi
fi

echo "Installing requirements/$lock.txt ($(grep -c '==' "requirements/$lock.txt") packages)"
# For people everything is compiled now, so that the first start is as fast as the next. Tests load a part of dev only:
# what they load is compiled then.
if [ "$lock" = demo ]; then uv_compile=--compile-bytecode pip_compile=--compile
else uv_compile=--no-compile-bytecode pip_compile=--no-compile; fi
if [ -n "$uv" ]; then
    install() { quietly "$uv" pip install --quiet "$uv_compile" --python "$venv/bin/python" "$@"; }
else
    install() {
        quietly "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$pip_compile" "$@"
    }
fi
install --require-hashes --requirement "requirements/$lock.txt"
# Two distributions of one source: the service, and what its readers have.
install --no-deps --no-build-isolation --editable . --editable ./verify

# Kernels of versions before lay here.
rm -rf .numba_cache

# The dev lock holds the demo lock, in the same versions.
touch "$venv/.$lock"
[ "$lock" = dev ] && touch "$venv/.demo"
exit 0
