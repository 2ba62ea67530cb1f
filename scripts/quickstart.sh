#!/usr/bin/env bash
# From a fresh clone to a first report: installs what is missing, builds, measures scenarios/quickstart.toml on the
# software NIC (under a minute) and says what came out. A second run needs no network.
#
#   scripts/quickstart.sh [REPORT_DIR]      default ./report-quickstart
set -euo pipefail
# shellcheck source=scripts/lib/deps.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib/deps.sh"

report=$(realpath -m "${1:-report-quickstart}")
cd "$repo_root"
need build
say "building (some minutes the first time)"
cargo build --release --locked --package verbs-bench --package rdma-harness
mkdir -p "$report"
exec "${CARGO_TARGET_DIR:-target}/release/rdma-harness" run scenarios/quickstart.toml --store "$report/store.db" --report "$report"
