#!/usr/bin/env bash
# Installs what building and testing need and finds the libclang that bindgen can read. When everything is present it
# touches neither apt nor the network, so a second run works offline.
#
#   source scripts/lib/deps.sh; need build     inside our scripts: exports LIBCLANG_PATH when needed
#   scripts/lib/deps.sh build guest browser    by hand
set -euo pipefail

repo_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin

# PROBE=PACKAGE, one a line; a probe is a command, or a file (a glob) when it begins with a slash.
declare -A deps=(
    [build]='cc=build-essential
        pkg-config=pkg-config
        /usr/include/infiniband/verbs.h=libibverbs-dev
        /usr/include/rdma/rdma_cma.h=librdmacm-dev
        /usr/include/numa.h=libnuma-dev'
    [test]='python3=python3
        /usr/lib/python3*/ensurepip=python3-venv
        prlimit=util-linux
        jq=jq
        /usr/sbin/sshd=openssh-server
        ssh=openssh-client
        shellcheck=shellcheck'
    [browser]='node=nodejs
        npm=npm
        chromium=chromium'
    [cluster]='python3=python3
        munged=munge
        slurmctld=slurmctld
        slurmd=slurmd
        srun=slurm-client
        /usr/lib/*/slurm*/auth_munge.so=slurm-wlm-basic-plugins'
    [guest]='qemu-system-x86_64=qemu-system-x86
        busybox=busybox-static
        cpio=cpio
        xz=xz-utils
        zstd=zstd
        depmod=kmod
        ip=iproute2
        irqbalance=irqbalance
        numactl=numactl
        ib_write_bw=perftest
        ibv_devinfo=ibverbs-utils
        /etc/libibverbs.d/rxe.driver=ibverbs-providers'
)

say() { printf '%s\n' "$*" >&2; }

die() {
    say "$@"
    exit 3
}

present() { # PROBE
    case $1 in
        /*) compgen -G "$1" >/dev/null ;;
        *) command -v "$1" >/dev/null ;;
    esac
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "this needs root and there is no sudo; run as root: $*"
    fi
}

install_packages() { # PACKAGE..
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq)
    command -v apt-get >/dev/null || die "missing packages and no apt-get to install them: $*"
    say "installing: $*"
    as_root "${apt[@]}" update || die "apt-get update failed; is there a network?"
    as_root "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null || die "apt-get could not install: $*"
}

need_cargo() {
    present cargo || PATH=$PATH:$HOME/.cargo/bin
    present cargo || die "cargo is not installed; get Rust from https://rustup.rs (or your distribution, 1.89 or newer) and run this again"
}

# rdma-sys generates its bindings with a bindgen that libclang 16 and newer break.
libclang_dir() { # prints the folder of a usable libclang, or nothing
    local version file
    for version in 15 14 13; do
        # libclang-cpp, which other packages bring along, has another interface and does not serve.
        for file in "/usr/lib/llvm-$version/lib"/libclang{,-"$version"*}.so* /usr/lib/*/"libclang-$version.so"*; do
            [ -e "$file" ] || continue
            dirname "$file"
            return
        done
    done
}

need_libclang() {
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    local dir wheel=$repo_root/target/libclang
    dir=$(libclang_dir)
    if [ -z "$dir" ] && apt-cache show libclang1-14 >/dev/null 2>&1; then
        install_packages libclang1-14 libclang-common-14-dev
        dir=$(libclang_dir)
    fi
    if [ -z "$dir" ]; then
        dir=$wheel/lib/python/clang/native
        [ -e "$dir/libclang.so" ] || fetch_libclang_wheel "$wheel"
    fi
    export LIBCLANG_PATH=$dir
    # Without clang's own headers beside the library (the wheel has none), gcc's serve.
    if ! present "$dir/clang/*/include/stddef.h"; then
        BINDGEN_EXTRA_CLANG_ARGS=-I$(cc -print-file-name=include)
        export BINDGEN_EXTRA_CLANG_ARGS
    fi
}

fetch_libclang_wheel() { # FOLDER
    say "no libclang of version 15 or older among the packages; fetching the wheel libclang 14.0.6"
    present python3 || install_packages python3
    python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
    python3 -m pip install --quiet --no-deps --break-system-packages --target "$1/lib/python" libclang==14.0.6 2>/dev/null ||
        python3 -m pip install --quiet --no-deps --target "$1/lib/python" libclang==14.0.6
}

# The checker of Prometheus' files, out of its package: installing that would start a daemon.
need_promtool() {
    [ -z "${PROMTOOL:-}" ] || return 0
    local folder=$repo_root/target/promtool
    if present promtool; then
        PROMTOOL=$(command -v promtool)
    else
        [ -x "$folder/usr/bin/promtool" ] || fetch_promtool "$folder"
        PROMTOOL=$folder/usr/bin/promtool
    fi
    export PROMTOOL
}

fetch_promtool() { # FOLDER
    command -v apt-get >/dev/null || die "no promtool and no apt-get to get it; install Prometheus' promtool"
    say "fetching promtool"
    apt-cache show prometheus >/dev/null 2>&1 || as_root apt-get -qq update || die "apt-get update failed; is there a network?"
    rm -rf "$1" && mkdir -p "$1"
    (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download prometheus >/dev/null) || die "apt-get could not download: prometheus"
    dpkg-deb --fsys-tarfile "$1"/prometheus_*.deb | tar -x -C "$1" ./usr/bin/promtool
    rm "$1"/prometheus_*.deb
}

need() { # GROUP..
    local group probe package missing=()
    for group in "$@"; do
        while IFS='= ' read -r probe package; do
            present "$probe" || missing+=("$package")
        done <<<"${deps[$group]}"
    done
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
    if [[ " $* " == *" build "* ]]; then
        need_cargo
        need_libclang
    fi
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    need "$@"
    [ -z "${LIBCLANG_PATH:-}" ] || say "LIBCLANG_PATH=$LIBCLANG_PATH"
fi
