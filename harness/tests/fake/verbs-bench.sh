#!/bin/sh
# Stands in for verbs-bench in the tests of the harness: speaks its command line and gives records whose numbers follow
# from the spec. FAKE says how to misbehave.
set -eu
here=$(dirname "$0")
if [ "$1" = --version ]; then
    case ${FAKE:-} in
    unlinked) echo "verbs-bench: error while loading shared libraries: libnuma.so.1: cannot open shared object file" >&2; exit 127 ;;
    esac
    echo "verbs-bench 0.0.0 (fake)"
    exit 0
fi
echo "$*" >> "$here/calls"
command=$1
while [ $# -gt 0 ]; do
    if [ "$1" = --token-file ]; then
        [ "$(stat -L -c %a "$2")" = 600 ] && [ "$(wc -c < "$2")" = 64 ] || exit 9
        echo "$2" >> "$here/tokens"
    fi
    shift
done
if [ "$command" = serve ]; then
    case ${FAKE:-} in
    mute) exec sleep 600 ;;
    chatty) echo "hello there"; exec sleep 600 ;;
    stillborn) echo "verbs-bench: no device" >&2; exit 3 ;;
    esac
    echo '{"listening":"127.0.0.1:18515"}'
    exit 0
fi
spec=$(cat)
case ${FAKE:-} in
garbage) echo "this is no record"; exit 0 ;;
silent) echo "verbs-bench: something broke" >&2; exit 3 ;;
refused) echo "verbs-bench: --tx-depth (tx_depth: 0 is outside 1..=32768)" >&2; exit 2 ;;
killed) kill -9 $$ ;;
hanging) echo $$ >> "$here/hanging"; exec sleep 600 ;;
slow) sleep 0.3 ;;
failing) outcome='{"status":"failed","stage":"connect","side":"responder","cause":"no path","advice":"look at the link"}' ;;
esac
case $spec in
*'"tx_depth":1,'*) record=$here/shallow.json ;;
*) record=$here/deep.json ;;
esac
if [ -n "${outcome:-}" ]; then
    printf '{"outcome":%s,"points":[],"spec":%s,' "$outcome" "$spec"
    cat "$here/bare.json"
    exit 3
fi
printf '{"spec":%s,' "$spec"
# The first deep run's thread leaves its CPU.
if [ "${FAKE:-}" = straying ] && [ "$record" = "$here/deep.json" ] && [ ! -e "$here/strayed" ]; then
    touch "$here/strayed"
    sed 's/"cpus_seen":\[2\]/"cpus_seen":[2,7]/' "$record"
    exit 0
fi
cat "$record"
