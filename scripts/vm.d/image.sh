# shellcheck shell=bash
# Makes a bootable image of a Debian kernel package without installing it: target/vm/VERSION/{vmlinux,initrd,modules}.
# The kernel is uncompressed (booted by PVH, it saves 6 to 10 s of emulated decompression); the initrd holds busybox and
# the few modules that reach the host's /, everything else is loaded from the module tree once / is there.

vm_home=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/target/vm
vm_init=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/init
vm_boot_modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay)
PATH=$PATH:/usr/sbin:/sbin

vm_image() { # PACKAGE|FILE.deb -> prints the image folder
    mkdir -p "$vm_home"
    local name pointer
    name=$(basename "$1" .deb)
    pointer=$vm_home/$name.image
    exec 9>"$vm_home/.lock"
    flock 9 # two guests started at once build it once
    if [ ! -s "$pointer" ] || ! vm_image_is_current "$(<"$pointer")"; then
        vm_build_image "$1" >&2 # names the folder it made in $vm_built
        echo "$vm_built" >"$pointer"
    fi
    exec 9>&-
    cat "$pointer"
}

vm_image_is_current() { # IMAGE
    [ -s "$1/vmlinux" ] && [ -s "$1/initrd" ] && [ -d "$1/modules" ] && [ ! "$vm_init" -nt "$1/initrd" ]
}

vm_build_image() { # PACKAGE|FILE.deb
    local work deb version
    work=$(mktemp -d "$vm_home/build.XXXXXX")
    deb=$(vm_kernel_deb "$1" "$work")
    echo "vm: making an image of $(basename "$deb")"
    dpkg-deb -x "$deb" "$work/root"
    version=$(basename "$work"/root/boot/vmlinuz-*)
    version=${version#vmlinuz-}
    vm_built=$vm_home/$version
    rm -rf "$vm_built"
    mkdir "$vm_built"
    vm_uncompress "$work/root/boot/vmlinuz-$version" "$vm_built/vmlinux"
    mkdir -p "$work/root/usr" "$work/base/lib"
    [ -d "$work/root/lib/modules" ] || ln -s usr/lib "$work/root/lib"
    mv "$work/root/lib/modules" "$work/base/lib/modules"
    depmod -b "$work/base" "$version"
    vm_pack_initrd "$work/base" "$version" "$work/initrd" "$vm_built/initrd"
    mv "$work/base/lib/modules/$version" "$vm_built/modules"
    rm -rf "$work"
}

vm_kernel_deb() { # PACKAGE|FILE.deb FOLDER -> prints the file
    [ -f "$1" ] && { realpath "$1"; return; }
    local package
    package=$(apt-cache depends "$1" 2>/dev/null | awk '/Depends: linux-image-[0-9]/ {print $2; exit}')
    (cd "$2" && apt-get -q download "${package:-$1}" >&2) ||
        { echo "vm: could not download ${package:-$1}; is \`apt-get update\` done and the network there?" >&2; return 1; }
    echo "$2"/*.deb
}

vm_uncompress() { # VMLINUZ VMLINUX
    local magic tool offset
    while read -r magic tool; do
        while IFS=: read -r offset _; do
            tail -c +$((offset + 1)) "$1" | $tool -dcq >"$2" 2>/dev/null || true # trailing bytes are not its own
            [ "$(head -c 4 "$2" | tr -d '\177')" = ELF ] && return
        done < <(LC_ALL=C grep -aboP "$magic" "$1")
    done <<'MAGIC'
\x28\xb5\x2f\xfd zstd
\xfd7zXZ\x00 xz
\x1f\x8b\x08 gzip
MAGIC
    echo "vm: found no zstd, xz or gzip kernel in $1" >&2
    return 1
}

vm_pack_initrd() { # MODULE_BASE VERSION FOLDER INITRD
    local root=$3 module file name
    mkdir -p "$root"/{bin,dev,proc,sys,modules,lower,upper,root}
    cp "$(command -v busybox)" "$root/bin/busybox"
    install -m 755 "$vm_init" "$root/init"
    for module in "${vm_boot_modules[@]}"; do # in dependency order; one that is built in has nothing to insert
        modprobe -d "$1" -S "$2" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
    done | awk '!seen[$0]++' | while read -r file; do
        name=$(basename "$file")
        name=${name%%.ko*}.ko
        case $file in
            *.xz) xz -dcq "$file" ;;
            *.zst) zstd -dcq "$file" ;;
            *) cat "$file" ;;
        esac >"$root/modules/$name"
        echo "$name" >>"$root/modules/order"
    done
    (cd "$root" && find . | LC_ALL=C sort | cpio -o -H newc --quiet -R 0:0) >"$4"
}
