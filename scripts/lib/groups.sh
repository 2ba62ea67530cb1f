# shellcheck shell=bash
# Test groups: each runs to its end whatever the others did, its output goes to the terminal and to artifacts/NAME.log,
# and its counts go into one summary. A group that cannot run here is skipped with its reason, and counted as that.

artifacts=${ARTIFACTS:-$repo_root/artifacts}
summary=()
total_passed=0 total_failed=0 total_skipped=0

group() { # NAME COMMAND..
    local name=$1 log=$artifacts/$1.log code started=$SECONDS counts
    shift
    printf '\n== %s\n' "$name"
    "$@" 2>&1 | tee "$log"
    code=${PIPESTATUS[0]}
    counts=$(count_tests "$log")
    if [ -z "$counts" ]; then
        counts=$( ((code == 0)) && echo "1 0 0" || echo "0 1 0") # a check, not a runner of tests
    elif ((code != 0)) && [[ $counts == *" 0 "* ]]; then
        counts=${counts/ 0 / 1 } # failed without naming a test: a build error, a crash
    fi
    record "$name" "$counts" "$((SECONDS - started)) s"
}

skip_group() { # NAME REASON
    record "$1" "0 0 1" "skipped: $2"
}

record() { # NAME "PASSED FAILED SKIPPED" REMARK
    local passed failed skipped
    read -r passed failed skipped <<<"$2"
    total_passed=$((total_passed + passed))
    total_failed=$((total_failed + failed))
    total_skipped=$((total_skipped + skipped))
    summary+=("$(printf '%-22s %6d %6d %7d  %s' "$1" "$passed" "$failed" "$skipped" "$3")")
}

# Sums the closing lines of cargo test and cargo nextest in a log; prints nothing when there are none.
count_tests() { # LOG -> "PASSED FAILED SKIPPED"
    awk '
        /^(\[[0-9]+\] )?test result: / {
            seen = 1
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) passed += $(i - 1)
                if ($i ~ /^failed/) failed += $(i - 1)
                if ($i ~ /^ignored/) skipped += $(i - 1)
            }
        }
        /^ *Summary \[/ {
            seen = 1
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^passed/) passed += $(i - 1)
                if ($i ~ /^(failed|timed)/) failed += $(i - 1)
                if ($i ~ /^skipped/) skipped += $(i - 1)
            }
        }
        END { if (seen) print passed + 0, failed + 0, skipped + 0 }' "$1"
}

summarise() { # exits with the verdict
    printf '\n%-22s %6s %6s %7s  %s\n' group passed failed skipped remark
    printf '%s\n' "${summary[@]}"
    printf '\n%d passed, %d failed, %d skipped\n' "$total_passed" "$total_failed" "$total_skipped"
    ((total_failed == 0))
}
