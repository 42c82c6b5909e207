#!/bin/sh
# The images that docker-compose.yml builds on and starts, by digest: a tag may move, a digest does not.
#   requirements/images.sh pin     looks up today's digests and writes them to .env, which docker compose reads
#   requirements/images.sh check   says which image is not pinned; 0 where all are
set -eu
cd "$(dirname "$0")/.."
settings=${IMAGES_ENV:-.env}
digest='sha256:[0-9a-f]\{64\}'

# NAME=image of every variable of the file that names one, with its default.
defaults() {
    sed -n 's/.*\${\([A-Z]*_IMAGE\):-\([^}]*\)}.*/\1=\2/p' docker-compose.yml | sort -u
}

# As compose takes it: the environment first, then the file, then the default.
image_of() {
    eval "given=\${$1:-}"
    [ -n "$given" ] || given=$(sed -n "s/^$1=//p" "$settings" 2>/dev/null | tail -n 1)
    printf '%s' "${given:-$2}"
}

pin() {
    new=$(mktemp "$settings.XXXXXX")
    trap 'rm -f "$new"' EXIT
    grep -v '^[A-Z]*_IMAGE=' "$settings" >"$new" 2>/dev/null || : # none yet, or no other line
    defaults | while IFS='=' read -r name image; do
        image=$(image_of "$name" "$image")
        echo "$name=${image%@*}"
    done >"$new.images"
    while IFS='=' read -r name image; do
        # As JSON: some versions of buildx answer the plain template with a page of text.
        line=$(docker buildx imagetools inspect "$image" --format '{{json .Manifest.Digest}}' </dev/null | tr -d '"')
        if ! printf '%s\n' "$line" | grep -qx "$digest"; then
            rm -f "$new.images"
            echo "No digest of $image: $line" >&2
            exit 1
        fi
        echo "$name=$image@$line" | tee -a "$new"
    done <"$new.images"
    rm -f "$new.images"
    mv "$new" "$settings"
}

check() {
    missing=$(defaults | while IFS='=' read -r name image; do
        image=$(image_of "$name" "$image")
        printf '%s\n' "$image" | grep -q "@$digest\$" || echo "$name: $image is not pinned by its digest"
    done)
    [ -z "$missing" ] && return
    echo "$missing" >&2
    echo "Pin them: requirements/images.sh pin" >&2
    exit 1
}

case ${1:-} in
    pin | check) "$1" ;;
    *) sed -n '2,4s/^# //p' "$0" >&2; exit 2 ;;
esac
