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

compile dev ${UPGRADE:+--upgrade} pyproject.toml openapi/sdk/python/pyproject.toml --all-extras --group dev --group build
same="--constraint requirements/dev.txt --no-annotate"
# shellcheck disable=SC2086
{
    compile demo $same pyproject.toml --extra worker --extra embedded --extra s3 --extra demo --group build
    compile worker $same pyproject.toml --extra worker --extra s3
    compile api $same pyproject.toml --extra s3
    compile build $same --group build
    compile verify $same verify/pyproject.toml
    compile verify-ranges $same verify/pyproject.toml --extra ranges
    compile client $same openapi/sdk/python/pyproject.toml
}
compile uv --no-annotate ${UPGRADE:+--upgrade} --group bootstrap
