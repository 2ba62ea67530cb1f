#!/usr/bin/env bash
# Inside two guests, each with rxe0: the first serves as responder, the second runs the command, which finds the
# responder's address in E2E_PEER and its token in E2E_TOKEN_FILE.
#
#   scripts/vm -n 2 -- bash scripts/guest/two-hosts.sh COMMAND [ARG..]
set -euo pipefail
# shellcheck source=scripts/guest/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
: "${E2E_BIN_DIR:=target/release}"
port=18515
export E2E_PEER=10.0.0.1:$port E2E_TOKEN_FILE=/run/vm/shared/token

rxe_host 4200
if ((VM_NODE == 0)); then
    head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$E2E_TOKEN_FILE"
    "$E2E_BIN_DIR/verbs-bench" serve --listen "0.0.0.0:$port" --device rxe0 --token-file "$E2E_TOKEN_FILE" &
    server=$!
    await_listener "$port"
    barrier serving
    barrier finished
    kill "$server"
else
    barrier serving
    code=0
    "$@" || code=$?
    barrier finished
    exit "$code"
fi
