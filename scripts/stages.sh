# Sourced by the set-up scripts: `stage WHAT COMMAND...` says what is done, dots while it lasts, and its seconds.
# The command's output is shown only when it fails.

stage() {
    what=$1
    shift
    began=$(date +%s)
    output=$(mktemp)
    printf 'setup  %s ' "$what"
    (while sleep 3; do printf '.'; done) &
    dots=$!
    "$@" >"$output" 2>&1 && code=0 || code=$?
    kill "$dots"
    wait "$dots" 2>/dev/null || true
    printf ' %d s\n' "$(($(date +%s) - began))"
    [ "$code" = 0 ] || cat "$output" >&2
    rm -f "$output"
    return "$code"
}

stop() {
    echo "setup: $1" >&2
    exit 1
}
