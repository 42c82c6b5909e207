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
        quietly "$python" -m venv --without-pip "$venv"
    fi
fi

# The pip of another Python installs into .venv too; giving .venv its own takes four seconds.
pip_of() {
    pip_python=$1
    shift
    "$pip_python" -m pip "$@" --disable-pip-version-check >"$log" 2>&1
}

if [ -z "$uv" ]; then
    if ! "$venv/bin/uv" --version >/dev/null 2>&1; then
        echo "Fetching uv into $venv, which installs the rest"
        fetch="install --quiet --require-hashes --requirement requirements/uv.txt"
        # shellcheck disable=SC2086 # words
        pip_of "${python:-$(find_python)}" --python "$venv/bin/python" $fetch || {
            "$venv/bin/python" -m ensurepip >"$log" 2>&1 || {
                cat "$log" >&2
                rm -rf "$venv"
                echo "This Python cannot make pip (Debian: install python3-venv), and uv was not found." >&2
                exit 1
            }
            # shellcheck disable=SC2086
            pip_of "$venv/bin/python" $fetch || echo "uv cannot be had here; pip goes on without it"
        }
    fi
    if "$venv/bin/uv" --version >/dev/null 2>&1; then uv=$venv/bin/uv; fi
fi

echo "Installing requirements/$lock.txt ($(grep -c '==' "requirements/$lock.txt") packages)"
# Bytecode is made of what is loaded, when it is; `make install` makes it of everything.
if [ -n "$uv" ]; then
    install() { quietly "$uv" pip install --quiet --no-compile-bytecode --python "$venv/bin/python" "$@"; }
else
    install() {
        quietly "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "$@"
    }
fi
# The lock has all that is needed, and not what some package names in vain.
install --no-deps --require-hashes --requirement "requirements/$lock.txt"
# Three distributions of one source: the service, what its readers have, and what its users have.
install --no-deps --no-build-isolation --editable . --editable ./verify --editable ./openapi/sdk/python

# Kernels of versions before lay here.
rm -rf .numba_cache

# The dev lock holds the demo lock, in the same versions.
touch "$venv/.$lock"
[ "$lock" = dev ] && touch "$venv/.demo"
exit 0
