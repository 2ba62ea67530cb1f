# The everyday commands; scripts/test.sh is all of them with one summary.

set shell := ["bash", "-euo", "pipefail", "-c"]

# format, lints, shell scripts, licences
check:
    scripts/test.sh check

# unit, property and end-to-end tests on the software NIC
test:
    scripts/test.sh unit e2e

# the tests on a real rdma_rxe, in guests
test-rxe:
    scripts/test.sh guest

# micro-benchmarks of the hot loop, of recording and of rendering
bench *args:
    source scripts/lib/deps.sh; need build; cargo bench {{args}}

# simulate campaigns and write how often their verdicts are right into docs/measurement.md; `--check` compares only
calibrate campaigns="10000" *flags:
    source scripts/lib/deps.sh; need build; cargo run --release -p reports --example calibrate -- docs/measurement.md {{campaigns}} {{flags}}

# simulate clusters with planted faults and write how often the findings are right into docs/measurement.md; `--check` compares only
cluster-rates cases="200" *flags:
    source scripts/lib/deps.sh; need build; cargo run --release -p reports --example cluster_rates -- docs/measurement.md {{cases}} {{flags}}

# build, measure the quickstart scenario and write its report
report dir="report-quickstart":
    scripts/quickstart.sh {{dir}}
