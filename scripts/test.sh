#!/usr/bin/env bash
# Installs what the tests need and runs all of them: checks, unit and property tests, the end-to-end tests on the software
# NIC, the report in a browser, and the tests on a real rxe in guests. One summary at the end; logs and results in
# artifacts/. Non-zero when anything failed.
#
#   scripts/test.sh               everything
#   scripts/test.sh GROUP..       only these: check unit e2e quickstart browser guest
set -uo pipefail
# shellcheck source=scripts/lib/deps.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/deps.sh"
set +e # a failing group is counted, not the end
# shellcheck source=scripts/lib/groups.sh
source "$repo_root/scripts/lib/groups.sh"

cd "$repo_root" || exit 3
export CARGO_TERM_COLOR=never RUST_BACKTRACE=1
target=${CARGO_TARGET_DIR:-$repo_root/target}
export E2E_BIN_DIR=$target/release E2E_ARTIFACTS=$artifacts E2E_PYTHON=$target/venv/bin/python

wanted() { # GROUP
    ((${#asked[@]} == 0)) || [[ " ${asked[*]} " == *" $1 "* ]]
}

# The runner is nextest where it is installed; the counts are the same.
run_tests() { # [cargo package options..] -- [test binary options..]
    local options=()
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    if ! cargo nextest --version >/dev/null 2>&1; then
        cargo test --locked "${options[@]}" -- "$@"
    elif [[ " $* " == *" --test-threads=1 "* ]]; then
        cargo nextest run --locked --no-fail-fast --run-ignored all --test-threads 1 "${options[@]}"
    else
        cargo nextest run --locked --no-fail-fast "${options[@]}"
    fi
}

# The tools that read what is exported. Of ReFrame the schema of JUnit files is wanted, not what it needs to run.
python_tools() {
    local wanted=$target/venv/requirements.txt
    cmp -s tests/requirements.txt "$wanted" && return
    python3 -m venv "$target/venv" &&
        "$target/venv/bin/pip" install --quiet --requirement tests/requirements.txt &&
        "$target/venv/bin/pip" install --quiet --no-deps reframe-hpc==4.10.4 &&
        cp tests/requirements.txt "$wanted"
}

shell_scripts() {
    git ls-files scripts .ci | while read -r file; do
        if head -n 1 "$file" | grep -qE '^#!.*bash|shellcheck shell=bash'; then echo "$file"; fi
    done
}

check_shell() {
    mapfile -t files < <(shell_scripts)
    shellcheck -x "${files[@]}" && shellcheck -s dash scripts/vm.d/init
}

check_licences() {
    cargo deny --offline check licenses bans sources
}

browser() {
    local sample
    rm -rf "$artifacts/browser"
    mkdir -p "$artifacts/browser/dashboards" "$artifacts/browser/clusters"
    for sample in several_sizes factors unstable inconclusive failed_runs watched large; do
        cargo run --locked --quiet --package reports --features testing --example sample -- \
            "$sample" "$artifacts/browser/$sample.html" >/dev/null || return
    done
    for sample in NIGHT YEAR; do
        cargo run --locked --quiet --package reports --features testing --example history -- \
            "$sample" "$artifacts/browser/dashboards/${sample,,}.html" >/dev/null || return
    done
    for sample in RACK FINE AWKWARD LARGE; do
        cargo run --locked --quiet --package reports --features testing --example cluster -- \
            "$sample" "$artifacts/browser/clusters/${sample,,}.html" >/dev/null || return
    done
    cp "$artifacts/quickstart/report.html" "$artifacts/browser/quickstart.html" &&
        (cd tests/browser && npm ci --no-audit --no-fund &&
            node report.mjs "$artifacts/browser" "$artifacts/browser"/*.html &&
            node dashboard.mjs "$artifacts/browser/dashboards" "$artifacts/browser/dashboards"/*.html &&
            node cluster.mjs "$artifacts/browser/clusters" "$artifacts/browser/clusters"/*.html)
}

# Built like the other tests; the programs under test are the release build in the guest too.
build_guest_tests() { # FILE UNIT_FILE: where the test binary and that of the engine's own device tests are put
    local built
    cargo build --locked --package e2e --bins || return
    built=$(cargo test --locked --no-run --package e2e --test guest --message-format=json |
        jq -r 'select(.target.name? == "guest" and .profile.test) | .executable') || return
    ln -sf "$built" "$1"
    built=$(cargo test --locked --no-run --package verbs-bench --lib --message-format=json |
        jq -r 'select(.target.name? == "verbs_bench" and .profile.test) | .executable') || return
    ln -sf "$built" "$2"
}

guest() { # NAME GUESTS SECONDS SCRIPT [ARG..]
    local name=$1 guests=$2 limit=$3
    shift 3
    scripts/vm -n "$guests" -t "$limit" -o "$artifacts/$name" -- env E2E_BIN_DIR="$E2E_BIN_DIR" E2E_ARTIFACTS=/run/vm bash "$@"
}

tuning_guest() { # NAME SECONDS FILTER.. -- the knobs of a host, on a NIC with a vector per CPU and with CPU 3 isolated
    local name=$1 limit=$2
    shift 2
    scripts/vm -d nic -d disk -a "isolcpus=3 nohz_full=3" -t "$limit" -o "$artifacts/$name" -- env E2E_BIN_DIR="$E2E_BIN_DIR" \
        E2E_ARTIFACTS=/run/vm bash scripts/guest/tuning.sh "$target/debug/guest-tests" "$@" --include-ignored --test-threads=1
}

groups_check() {
    group format cargo fmt --all --check
    group shellcheck check_shell
    group clippy cargo clippy --locked --workspace --all-targets -- -D warnings
    if cargo deny --version >/dev/null 2>&1; then
        group licences check_licences
    else
        skip_group licences "cargo-deny is not installed"
    fi
}

groups_guest() {
    local tests=$target/debug/guest-tests unit=$target/debug/guest-unit-tests against=$target/debug/against-perftest
    group guest-build build_guest_tests "$tests" "$unit"
    group guest-device guest guest-device 1 300 scripts/guest/pair.sh "$unit" on_device:: --include-ignored --test-threads=1
    group guest-pair guest guest-pair 1 900 scripts/guest/pair.sh "$tests" pair:: --include-ignored --test-threads=1
    group guest-operations guest guest-operations 1 900 scripts/guest/pair.sh "$tests" operations:: --include-ignored --test-threads=1
    group guest-hosts guest guest-hosts 2 400 scripts/guest/two-hosts.sh "$tests" hosts:: --include-ignored --test-threads=1
    group guest-cluster guest guest-cluster 1 900 scripts/guest/four.sh "$tests" cluster:: --include-ignored --test-threads=1
    group guest-tuning tuning_guest guest-tuning 900 audit:: tuning::
    group guest-tuned-runs tuning_guest guest-tuned-runs 1500 tuned_runs::
    group against-perftest guest against-perftest 1 1500 scripts/guest/pair.sh "$against" --out /run/vm \
        --pairs "${AGAINST_PERFTEST_PAIRS:-5}" --tools "${AGAINST_PERFTEST_TOOLS:-ib_write_bw,ib_write_lat,ib_read_bw}"
}

asked=("$@")
mkdir -p "$artifacts"
need build test cluster browser guest || exit
group build cargo build --locked --release --package verbs-bench --package rdma-harness
if wanted check; then groups_check; fi
if wanted unit; then group unit run_tests --workspace --exclude e2e -- ; fi
if wanted e2e; then
    python_tools
    need_promtool
    group e2e run_tests --package e2e --test all -- --include-ignored --test-threads=1
fi
if wanted quickstart; then group quickstart scripts/quickstart.sh "$artifacts/quickstart"; fi
if wanted browser; then group browser browser; fi
if wanted guest; then groups_guest; fi
summarise
