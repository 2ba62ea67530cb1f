# shellcheck shell=bash
# What the scripts that run inside the guest share: rxe devices, a listener to wait for, a barrier between guests.

# Lets RoCE frames between two interfaces of one network namespace really cross the wire: without these the kernel
# refuses frames from its own address, and ARP answers come from the wrong interface.
allow_own_frames() {
    sysctl -qw net.ipv4.conf.{all,default}.{rp_filter=0,accept_local=1} \
        net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2
}

await_gids() { # DEVICE..: their GID tables are filled a moment after the device is there
    local device gid _
    for device in "$@"; do
        for _ in {1..100}; do
            read -r gid <"/sys/class/infiniband/$device/ports/1/gids/1"
            [[ $gid =~ ^[0:]+$ ]] || continue 2
            sleep 0.1
        done
        echo "$device has no IPv4 GID" >&2
        return 1
    done
}

# Two rxe devices on the two ends of a veth pair, in the one network namespace that rxe serves: rxe0 and rxe1 on 10.0.0.1
# and 10.0.0.2, or the pair from FIRST on in another network. An MTU of 4200 carries RDMA path MTU 4096; 1500 carries 1024.
rxe_pair() { # [NETDEV_MTU [FIRST [NETWORK]]]
    local n first=${2:-0} network=${3:-10.0.0}
    modprobe -a veth rdma_rxe ib_uverbs rdma_ucm sch_netem sch_tbf
    allow_own_frames
    ip link add "veth$first" type veth peer name "veth$((first + 1))"
    for n in 0 1; do
        ip addr add "$network.$((n + 1))/24" dev "veth$((first + n))"
        ip link set "veth$((first + n))" mtu "${1:-4200}" up
    done
    for n in 0 1; do rdma link add "rxe$((first + n))" type rxe netdev "veth$((first + n))"; done
    await_gids "rxe$first" "rxe$((first + 1))"
}

# rxe2 and rxe3, whose pair loses frames that rxe2 sends.
rxe_lossy_pair() { # LOSS NETDEV_MTU
    rxe_pair "$2" 2 10.1.0
    tc qdisc add dev veth2 root netem loss "$1"
}

# rxe4 on the vmxnet3 of `scripts/vm -d nic`, which has a queue and a vector per CPU.
rxe_multi_queue() {
    local netdev _
    modprobe vmxnet3
    for _ in {1..100}; do
        netdev=$(compgen -G '/sys/bus/pci/drivers/vmxnet3/0*/net/*') && break
        sleep 0.1
    done
    netdev=${netdev##*/}
    ip addr add 10.0.2.15/24 dev "$netdev"
    ip link set "$netdev" up
    rdma link add rxe4 type rxe netdev "$netdev"
    await_gids rxe4
}

# One guest of several: rxe0 on eth0, at 10.0.0.(VM_NODE + 1).
rxe_host() { # [NETDEV_MTU]
    local _
    modprobe -a virtio_net rdma_rxe ib_uverbs
    for _ in {1..100}; do
        [ ! -e /sys/class/net/eth0 ] || break
        sleep 0.1
    done
    ip addr add "10.0.0.$((VM_NODE + 1))/24" dev eth0
    ip link set eth0 mtu "${1:-4200}" up
    rdma link add rxe0 type rxe netdev eth0
    await_gids rxe0
}

await_listener() { # PORT: reads /proc itself, since a fork costs much under emulation
    local port line file _
    port=$(printf ':%04X' "$1")
    for _ in {1..300}; do
        for file in /proc/net/tcp /proc/net/tcp6; do
            while read -r line; do
                case $line in *"$port "*":0000 0A "*) return 0 ;; esac
            done <"$file"
        done
        sleep 0.1
    done
    echo "nothing listens on port $1" >&2
    return 1
}

barrier() { # NAME: until every guest has come here
    local node _
    touch "/run/vm/shared/$1.$VM_NODE"
    for _ in {1..1200}; do
        for ((node = 0; node < VM_GUESTS; node++)); do
            [ -e "/run/vm/shared/$1.$node" ] || break
        done
        ((node < VM_GUESTS)) || return 0
        sleep 0.1
    done
    echo "not every guest reached \`$1\`" >&2
    return 1
}

# Four nodes on a bridge, as on one switch: rxe0 to rxe3 on 10.0.0.1 to 10.0.0.4, each on its own end nodeN of a cable whose other end
# portN is the switch's. What is shaped on nodeN is what that node sends, on portN what it receives.
rxe_four() { # [NETDEV_MTU]
    local n mtu=${1:-4200}
    modprobe -a veth bridge rdma_rxe ib_uverbs rdma_ucm sch_netem
    allow_own_frames
    ip link add switch mtu "$mtu" type bridge
    ip link set switch up
    for n in 0 1 2 3; do
        ip link add "node$n" mtu "$mtu" type veth peer name "port$n" mtu "$mtu"
        ip link set "port$n" master switch up
        ip addr add "10.0.0.$((n + 1))/24" dev "node$n"
        ip link set "node$n" up
        rdma link add "rxe$n" type rxe netdev "node$n"
    done
    await_gids rxe0 rxe1 rxe2 rxe3
}
