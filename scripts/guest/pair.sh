#!/usr/bin/env bash
# Inside a guest: rxe0 and rxe1 joined by a veth pair, then the command.
#
#   scripts/vm -- bash scripts/guest/pair.sh COMMAND [ARG..]
set -euo pipefail
# shellcheck source=scripts/guest/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rxe_pair 4200
exec "$@"
