#!/usr/bin/env bash
# Inside a guest: rxe0 to rxe3 joined by a bridge, then the command.
#
#   scripts/vm -- bash scripts/guest/four.sh COMMAND [ARG..]
set -euo pipefail
# shellcheck source=scripts/guest/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rxe_four 4200
exec "$@"
