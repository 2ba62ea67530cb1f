# shellcheck shell=bash
# Chooses between KVM and emulation. That /dev/kvm opens proves nothing (a nested or paravirtual KVM may hang a stock
# kernel), so the real kernel is booted up to its first process once, and the answer is kept until the host reboots.

vm_accel() { # IMAGE -> prints kvm or tcg
    local image=$1 cache
    cache=$image/accel.$(</proc/sys/kernel/random/boot_id)
    if [ ! -s "$cache" ]; then
        if vm_kvm_boots "$image"; then echo kvm; else echo tcg; fi >"$cache"
    fi
    cat "$cache"
}

vm_kvm_boots() { # IMAGE
    local code=0
    [ -r /dev/kvm ] && [ -w /dev/kvm ] || return 1
    [ -d /sys/module/kvm_intel ] || [ -d /sys/module/kvm_amd ] || return 1
    timeout -k 1 10 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
        -machine q35 -accel kvm -cpu host -smp 2 -m 512M \
        -kernel "$1/vmlinux" -initrd "$1/initrd" -append "quiet panic=-1 vm.probe=1" \
        -device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >/dev/null 2>&1 || code=$?
    ((code == 33)) # what isa-debug-exit makes of the byte that vm.d/init writes
}
