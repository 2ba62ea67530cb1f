# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are read from the script that sources this
# Starts one guest and waits for its end. Reads what scripts/vm settled: $image $accel $guests $cpus $memory $limit $out
# $append $devices.

vm_guest() { # NODE COMMAND [ARG..] -> exit code of the command, 124 or 125
    local dir=$out/guest$1 node=$1 code
    shift
    mkdir -p "$dir/shared"
    rm -f "$dir/code"
    {
        printf 'cd %q && exec' "$PWD"
        printf ' %q' "$@"
        echo
    } >"$dir/command"
    realpath "$image/modules" | sed 's,^/,,' >"$dir/modules"
    vm_boot "$dir" "$node"
    if [ -s "$dir/code" ]; then
        code=$(<"$dir/code")
        ((code != 124)) || vm_show_console "$dir" "the time limit of ${limit} s was reached"
        return "$code"
    elif [ "$(<"$dir/qemu.code")" = 124 ] || [ "$(<"$dir/qemu.code")" = 137 ]; then
        vm_show_console "$dir" "the guest hung and was ended after ${limit} s"
        return 124
    fi
    vm_show_console "$dir" "the guest died (QEMU's exit code was $(<"$dir/qemu.code"))"
    return 125
}

# QEMU opens the two pipes by /dev/fd, because its stdio backend counts as unplugged when stdin is /dev/null.
vm_boot() { # FOLDER NODE
    local args
    vm_qemu_args "$1" "$2"
    {
        {
            {
                local code=0
                timeout -k 5 "$limit" qemu-system-x86_64 "${args[@]}" </dev/null >"$1/qemu.log" 2>&1 || code=$?
                echo "$code" >"$1/qemu.code"
            } 3>&1 4>&5 | cat >&6
        } 5>&1 | cat >&2
    } 6>&1
}

vm_qemu_args() { # FOLDER NODE -> fills the caller's $args
    local half=$((cpus / 2)) half_memory=$((memory / 2))M
    args=(
        -nodefaults -no-user-config -display none -no-reboot -machine q35
        -smp "$cpus,sockets=2" -m "${memory}M"
        -object "memory-backend-ram,id=memory0,size=$half_memory" -numa "node,nodeid=0,cpus=0-$((half - 1)),memdev=memory0"
        -object "memory-backend-ram,id=memory1,size=$half_memory" -numa "node,nodeid=1,cpus=$half-$((cpus - 1)),memdev=memory1"
        -numa "dist,src=0,dst=1,val=21"
        -kernel "$image/vmlinux" -initrd "$image/initrd"
        -append "console=ttyS0 quiet loglevel=4 panic=-1 oops=panic mitigations=off nokaslr cryptomgr.notests random.trust_cpu=on tsc=reliable vm.limit=$limit vm.node=$2 vm.guests=$guests${append:+ $append}"
        -serial "file:$1/console.log" -device "isa-debug-exit,iobase=0xf4,iosize=4"
        -device virtio-serial-pci
        -chardev "file,id=stdout,path=/dev/fd/3,append=on" -device "virtserialport,chardev=stdout,name=vm.stdout"
        -chardev "file,id=stderr,path=/dev/fd/4,append=on" -device "virtserialport,chardev=stderr,name=vm.stderr"
    )
    case $accel in
        kvm) args+=(-accel kvm -cpu host) ;;
        *) args+=(-accel "tcg,thread=multi" -cpu max) ;;
    esac
    vm_share host / ,readonly=on,multidevs=remap
    vm_share out "$1"
    vm_share shared "$out/shared"
    ((guests == 1)) || vm_join "$2"
    vm_add_devices
}

# The disk has no storage behind it: it reads as zeroes and forgets what is written.
vm_add_devices() {
    local device
    for device in "${devices[@]}"; do
        case $device in
            nic) args+=(-netdev "user,id=outside,restrict=on" -device "vmxnet3,netdev=outside,mac=52:54:00:00:01:00") ;;
            disk) args+=(-blockdev "null-co,node-name=disk,size=16777216,read-zeroes=on" -device "nvme,drive=disk,serial=vm") ;;
        esac
    done
}

vm_share() { # TAG FOLDER [OPTIONS]
    args+=(-fsdev "local,id=$1,path=$2,security_model=none${3-}" -device "virtio-9p-pci,fsdev=$1,mount_tag=$1")
}

# One Ethernet hub inside the first guest's QEMU; the others plug into it over unix sockets.
vm_join() { # NODE
    local other
    args+=(-device "virtio-net-pci,netdev=net,mac=52:54:00:00:00:$(printf %02x $(($1 + 1)))")
    if (($1 > 0)); then
        vm_await_socket "$out/hub.$1"
        args+=(-netdev "stream,id=net,server=off,addr.type=unix,addr.path=$out/hub.$1")
        return
    fi
    args+=(-netdev "hubport,id=net,hubid=0")
    for ((other = 1; other < guests; other++)); do
        args+=(
            -netdev "stream,id=wire$other,server=on,addr.type=unix,addr.path=$out/hub.$other"
            -netdev "hubport,id=port$other,hubid=0,netdev=wire$other"
        )
    done
}

vm_await_socket() { # PATH
    local _
    for _ in {1..200}; do
        [ ! -S "$1" ] || return 0
        sleep 0.05
    done
    echo "vm: the first guest did not open $1" >&2
    return 1
}

vm_show_console() { # FOLDER REASON
    {
        echo "vm: $2; its console ($1/console.log):"
        grep -am1 -A3 -E 'Kernel panic|BUG:|Oops' "$1/console.log" || true
        if grep -qa 'VM: time is up' "$1/console.log"; then
            grep -a -A40 'VM: time is up' "$1/console.log"
        else
            tail -n 12 "$1/console.log"
        fi
        tail -n 5 "$1/qemu.log"
    } >&2
}
