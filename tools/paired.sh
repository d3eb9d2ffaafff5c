# Sourced by the measurements of CPU time beside another tool: the two take turns, and user and system time of whole commands are
# compared, with what they need to start and end. The client has processor 0, the server processor 1. unblink sleeps while there is
# nothing to do (--pacing frugal), as the others do: the other modes poll.
#
# The one that sources it says which `tool` the other is, needs `needed` programs of `packages`, starts `server`, and defines
# `theirs` and `ours`, which ask for $requests over $c connections with $m places each.

# What is measured here is no part of the user's history.
export UNBLINK_STORE=none

bin=${UNBLINK_BIN:-${CARGO_TARGET_DIR:-target}/release/unblink}
[ -x "$bin" ] || {
    echo "$0: there is no $bin; build it: make build" >&2
    exit 2
}
for program in $needed; do
    command -v "$program" >/dev/null || {
        echo "$0: there is no $program; install it: $packages" >&2
        exit 2
    }
done
port=${PORT:-18100}
pairs=${PAIRS:-15}

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM

# User and system time of a command, in s.
cpu() {
    (
        code=0
        taskset -c 0 "$@" >"$folder/said" 2>&1 || code=$?
        # The figures of a busy machine are invalid (3), and the requests were made all the same.
        [ $code = 0 ] || [ $code = 3 ] || {
            cat "$folder/said" >&2
            exit 1
        }
        times
    ) | awk 'END { split($1, u, /[ms]/); split($2, s, /[ms]/); printf "%.3f", 60 * (u[1] + s[1]) + u[2] + s[2] }'
}

# CPU time of unblink, closed and without a pause, with what else is given.
unblink_cpu() {
    rm -rf "$folder/run"
    cpu "$bin" run "$@" --closed $((c * m)) -n "$requests" -c "$c" --streams "$m" -t 1 -q --json --pacing frugal --no-preflight \
        -o "$folder/run"
}

# The median of the numbers that come in, with the quarter below and above which the rest lies.
quartiles() {
    sort -n | awk '{ v[NR] = $1 }
        function at(q,    i, r) { r = 1 + q * (NR - 1); i = int(r); return v[i] + (r - i) * (v[i < NR ? i + 1 : i] - v[i]) }
        END { printf "%.3f (quartiles %.3f and %.3f)", at(0.5), at(0.25), at(0.75) }'
}

# A server of the lab that answers after 200 us, on processor 1, once it listens; for scripts of bash.
serve_lab() {
    taskset -c 1 "$bin" lab serve --scenario fast --listen "127.0.0.1:$port" >"$folder/served" 2>&1 &
    server=$!
    i=0
    until (: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
        i=$((i + 1))
        [ $i -lt 100 ] || {
            cat "$folder/served" >&2
            exit 2
        }
        sleep 0.1
    done
}

# One line for $requests over $c connections with $m places each.
measure_pairs() {
    : >"$folder/pairs"
    i=0
    while [ $i -lt "$pairs" ]; do
        if [ $((i % 2)) = 0 ]; then
            a=$(ours) b=$(theirs)
        else
            b=$(theirs) a=$(ours)
        fi
        echo "$a $b" >>"$folder/pairs"
        i=$((i + 1))
    done
    us() { awk -v n="$requests" -v f="$1" '{ print $f / n * 1e6 }' "$folder/pairs" | quartiles; }
    ratio=$(awk '{ print $1 / $2 }' "$folder/pairs" | quartiles)
    echo "$c connections x $m streams, $requests requests, $pairs pairs: unblink $(us 1) us, $tool $(us 2) us, ratio $ratio"
}
