#!/usr/bin/env bash
# Inside a guest with a multi-queue NIC and a disk with managed vectors: what a tuning is tried on, then the command.
# rxe0 and rxe1 on a clean veth pair of MTU 1500, rxe2 and rxe3 on one that loses 1 % one way, rxe4 on the NIC.
#
#   scripts/vm -d nic -d disk -a "isolcpus=3 nohz_full=3" -- bash scripts/guest/tuning.sh COMMAND [ARG..]
set -euo pipefail
# shellcheck source=scripts/guest/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
modprobe nvme
rxe_pair 1500
rxe_lossy_pair 1% 1500
rxe_multi_queue
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 cgroup2 /sys/fs/cgroup
mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
exec "$@"
