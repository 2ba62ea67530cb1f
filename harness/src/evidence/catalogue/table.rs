//! The table: one line a counter. It is long because drivers count much.

use schema::evidence::Unit;

use super::{Group, Known, Rises};

use Group::*;
use Rises::*;
use Unit::{Bytes, Events, Microseconds, Packets, Percent};

pub(super) const fn known(group: Group, unit: Unit, rises: Rises, implies: &'static str) -> Known {
    Known { group, unit, factor: 1, rises, implies }
}

/// Bytes in one step of `port_xmit_data` and `port_rcv_data`.
const WORD_BYTES: u64 = 4;

/// Driver's counters of an RDMA port (`hw_counters`), and the standard ones (`counters`).
pub(super) const RDMA: &[(&str, Known)] = &[
    // Standard. Most of the others are InfiniBand's link layer and stay 0 on RoCE for ever: no evidence of anything.
    ("port_xmit_data", Known { factor: WORD_BYTES, ..known(Traffic, Bytes, Either, "") }),
    ("port_rcv_data", Known { factor: WORD_BYTES, ..known(Traffic, Bytes, Either, "") }),
    ("port_xmit_packets", known(Traffic, Packets, Either, "")),
    ("port_rcv_packets", known(Traffic, Packets, Either, "")),
    ("unicast_xmit_packets", known(Traffic, Packets, Either, "")),
    ("unicast_rcv_packets", known(Traffic, Packets, Either, "")),
    ("multicast_xmit_packets", known(Traffic, Packets, Either, "")),
    ("multicast_rcv_packets", known(Traffic, Packets, Either, "")),
    (
        "port_xmit_wait",
        known(Congestion, Events, Either, "the port had something to send and no credit to send it (ticks)"),
    ),
    (
        "port_xmit_discards",
        known(PortDiscard, Packets, Either, "the port dropped packets it should have sent"),
    ),
    ("port_rcv_errors", known(Cable, Packets, Either, "packets arrived broken")),
    ("link_downed", known(LinkDown, Events, Either, "the link went down while the run lasted")),
    ("link_error_recovery", known(LinkDown, Events, Either, "the link recovered from an error")),
    // mlx5
    ("rx_write_requests", known(Traffic, Packets, Responder, "")),
    ("rx_read_requests", known(Traffic, Packets, Responder, "")),
    ("rx_atomic_requests", known(Traffic, Packets, Responder, "")),
    (
        "out_of_sequence",
        known(
            Loss,
            Packets,
            Responder,
            "packets were lost or reordered on the way to this side, and it asked for them again",
        ),
    ),
    (
        "packet_seq_err",
        known(Loss, Packets, Requester, "the peer asked for packets again: they were lost in our direction"),
    ),
    (
        "implied_nak_seq_err",
        known(
            Loss,
            Packets,
            Requester,
            "an acknowledgement skipped an outstanding read or atomic: its answer was lost",
        ),
    ),
    (
        "local_ack_timeout_err",
        known(
            Resent,
            Events,
            Requester,
            "no acknowledgement came in time: the last packet or its acknowledgement was lost, or the timeout is too short",
        ),
    ),
    (
        "duplicate_request",
        known(
            Resent,
            Packets,
            Responder,
            "the other side sent again what had arrived here: an acknowledgement was lost or late",
        ),
    ),
    (
        "roce_adp_retrans",
        known(Resent, Packets, Requester, "the adaptive retransmission sent again after a timeout"),
    ),
    ("roce_adp_retrans_to", known(Resent, Events, Requester, "the adaptive retransmission timed out")),
    (
        "roce_slow_restart",
        known(Resent, Events, Requester, "a queue pair started again slowly, after loss or idleness"),
    ),
    (
        "roce_slow_restart_cnps",
        known(
            Congestion,
            Packets,
            Requester,
            "congestion was signalled because of a slow restart, without a mark of a switch",
        ),
    ),
    ("roce_slow_restart_trans", known(Resent, Events, Requester, "a queue pair changed to slow restart")),
    ("rx_icrc_encapsulated", known(Cable, Packets, Responder, "packets arrived with a wrong checksum")),
    (
        "rnr_nak_retry_err",
        known(
            NotReady,
            Packets,
            Requester,
            "the peer had no receive posted; a plain write needs none and must show 0",
        ),
    ),
    (
        "out_of_buffer",
        known(
            NotReady,
            Packets,
            Responder,
            "a packet found no receive posted; queues of the network device count here too, so it proves nothing of RDMA by itself",
        ),
    ),
    (
        "req_transport_retries_exceeded",
        known(GaveUp, Events, Requester, "a queue pair gave up after its retries"),
    ),
    (
        "req_rnr_retries_exceeded",
        known(GaveUp, Events, Requester, "a queue pair gave up waiting for a receive"),
    ),
    ("resp_local_length_error", known(Refused, Events, Responder, "a message did not fit its receive")),
    (
        "resp_remote_access_errors",
        known(Refused, Events, Responder, "a request named memory it had no right to"),
    ),
    ("req_remote_access_errors", known(Refused, Events, Requester, "the peer refused access to its memory")),
    (
        "req_remote_invalid_request",
        known(Refused, Events, Requester, "the peer refused a request as invalid"),
    ),
    (
        "np_ecn_marked_roce_packets",
        known(Congestion, Packets, Responder, "a switch on the way marked packets: congestion"),
    ),
    ("np_cnp_sent", known(Congestion, Packets, Responder, "this side told the requester to slow down")),
    ("rp_cnp_handled", known(Congestion, Packets, Requester, "this side was told to slow down, and did")),
    (
        "rp_cnp_ignored",
        known(
            Congestion,
            Packets,
            Requester,
            "this side was told to slow down, and is not set to: congestion control is off on one side only",
        ),
    ),
    // rxe
    ("ack_deferred", known(Traffic, Events, Either, "")),
    ("sent_pkts", known(Traffic, Packets, Either, "")),
    ("rcvd_pkts", known(Traffic, Packets, Either, "")),
    ("rdma_sends", known(Traffic, Events, Requester, "")),
    ("rdma_recvs", known(Traffic, Events, Responder, "")),
    (
        "out_of_seq_request",
        known(
            Loss,
            Packets,
            Responder,
            "a later packet arrived than the expected one: packets were lost on the way to this side, and it asked for them again",
        ),
    ),
    (
        "rcvd_seq_err",
        known(Loss, Packets, Requester, "the peer asked for packets again: they were lost in our direction"),
    ),
    (
        "completer_retry_err",
        known(
            Resent,
            Events,
            Requester,
            "this side sent again: it was asked to, or no acknowledgement came in time",
        ),
    ),
    ("rcvd_rnr_err", known(NotReady, Packets, Requester, "the peer had no receive posted")),
    ("send_rnr_err", known(NotReady, Packets, Responder, "a packet found no receive posted")),
    ("retry_exceeded_err", known(GaveUp, Events, Requester, "a queue pair gave up after its retries")),
    (
        "retry_rnr_exceeded_err",
        known(GaveUp, Events, Requester, "a queue pair gave up waiting for a receive"),
    ),
    (
        "send_err",
        known(Stack, Packets, Either, "the network device took a packet not; it was sent again later"),
    ),
    // bnxt_re
    (
        "to_retransmits",
        known(Resent, Packets, Requester, "no acknowledgement came in time, and packets were sent again"),
    ),
    (
        "seq_err_naks_rcvd",
        known(Loss, Packets, Requester, "the peer asked for packets again: they were lost in our direction"),
    ),
    ("oos_drop_count", known(Loss, Packets, Responder, "packets arrived out of order and were dropped")),
    ("dup_req", known(Resent, Packets, Responder, "the requester sent again what had arrived")),
    ("missing_resp", known(Loss, Packets, Requester, "an answer was lost")),
    ("rnr_naks_rcvd", known(NotReady, Packets, Requester, "the peer had no receive posted")),
    ("max_retry_exceeded", known(GaveUp, Events, Requester, "a queue pair gave up after its retries")),
    ("rx_roce_discards", known(PortDiscard, Packets, Responder, "RoCE packets were dropped on arrival")),
    ("tx_pkts", known(Traffic, Packets, Either, "")),
    ("rx_pkts", known(Traffic, Packets, Either, "")),
    ("tx_bytes", known(Traffic, Bytes, Either, "")),
    ("rx_bytes", known(Traffic, Bytes, Either, "")),
    // irdma
    ("RNR sent", known(NotReady, Packets, Responder, "a packet found no receive posted")),
    ("RNR received", known(NotReady, Packets, Requester, "the peer had no receive posted")),
    ("Nak Sequence Error", known(Loss, Packets, Either, "packets were lost, and were asked for again")),
    ("tcpRetransSegs", known(Resent, Packets, Either, "iWARP's TCP sent segments again")),
    ("cnpHandled", known(Congestion, Packets, Requester, "this side was told to slow down, and did")),
    ("cnpIgnored", known(Congestion, Packets, Requester, "this side was told to slow down, and did not")),
    ("cnpSent", known(Congestion, Packets, Responder, "this side told the requester to slow down")),
    ("RxECNMrkd", known(Congestion, Packets, Responder, "a switch on the way marked packets: congestion")),
    // efa
    ("retrans_pkts", known(Resent, Packets, Either, "packets were sent again")),
    ("retrans_timeout_events", known(Resent, Events, Either, "no acknowledgement came in time")),
    ("rx_drops", known(PortDiscard, Packets, Responder, "packets were dropped on arrival")),
    ("unresponsive_remote_events", known(GaveUp, Events, Requester, "the peer stopped answering")),
];

/// Counters of a network device's driver (`ethtool -S`); mlx5's names.
pub(super) const ETHTOOL: &[(&str, Known)] = &[
    (
        "rx_discards_phy",
        known(
            PortDiscard,
            Packets,
            Either,
            "the port had no room: host memory or PCIe took the packets too slowly",
        ),
    ),
    ("tx_discards_phy", known(PortDiscard, Packets, Either, "the port dropped packets it should have sent")),
    (
        "rx_out_of_buffer",
        known(
            NotReady,
            Packets,
            Either,
            "the network device's rings had no buffer: traffic of the kernel's stack",
        ),
    ),
    ("dev_out_of_buffer", known(NotReady, Packets, Either, "the device's receive queues had no buffer")),
    (
        "rx_buffer_passed_thres_phy",
        known(PortDiscard, Events, Either, "the port's buffer was more than 85 % full"),
    ),
    ("rx_crc_errors_phy", known(Cable, Packets, Either, "frames arrived broken: cable or optics")),
    ("rx_symbol_err_phy", known(Cable, Events, Either, "symbols arrived broken: cable or optics")),
    (
        "rx_pcs_symbol_err_phy",
        known(Cable, Events, Either, "symbols arrived broken after correction: cable or optics"),
    ),
    (
        "rx_oversize_pkts_phy",
        known(Cable, Packets, Either, "frames were larger than this side's MTU: the peer's is larger"),
    ),
    (
        "rx_out_of_range_len_phy",
        known(Cable, Packets, Either, "frames had an impossible length: the peer's MTU is larger"),
    ),
    ("link_down_events_phy", known(LinkDown, Events, Either, "the link went down while the run lasted")),
    (
        "rx_global_pause_duration",
        known(PauseTime, Microseconds, Either, "this side was told to stop sending altogether (802.3x)"),
    ),
    (
        "tx_global_pause_duration",
        known(
            PauseTime,
            Microseconds,
            Either,
            "this side told the other to stop sending altogether (802.3x)",
        ),
    ),
    (
        "tx_pause_storm_warning_events",
        known(PauseStorm, Events, Either, "this side paused the other for long: a stuck receiver"),
    ),
    (
        "tx_pause_storm_error_events",
        known(
            PauseStorm,
            Events,
            Either,
            "this side paused the other for so long that the firmware stopped it",
        ),
    ),
    ("rx_pci_signal_integrity", known(Pcie, Events, Either, "errors on PCIe towards the NIC")),
    ("tx_pci_signal_integrity", known(Pcie, Events, Either, "errors on PCIe towards the host")),
    (
        "outbound_pci_stalled_rd",
        known(
            Pcie,
            Percent,
            Either,
            "reads from host memory waited for credits in this share of the last second",
        ),
    ),
    (
        "outbound_pci_stalled_wr",
        known(
            Pcie,
            Percent,
            Either,
            "writes to host memory waited for credits in this share of the last second",
        ),
    ),
    (
        "outbound_pci_stalled_rd_events",
        known(
            Pcie,
            Events,
            Either,
            "seconds in which reads from host memory waited for more than 30 % of the time",
        ),
    ),
    (
        "outbound_pci_stalled_wr_events",
        known(
            Pcie,
            Events,
            Either,
            "seconds in which writes to host memory waited for more than 30 % of the time",
        ),
    ),
    (
        "outbound_pci_buffer_overflow",
        known(Pcie, Packets, Either, "packets were lost because PCIe took them too slowly"),
    ),
    ("module_high_temp", known(Throttled, Events, Either, "the optics were too hot")),
];

/// Counters of the kernel's own stack: `/proc/net/snmp`, `softnet_stat`, a network device's `statistics/`.
pub(super) const STACK: &[(&str, Known)] = &[
    (
        "Tcp.RetransSegs",
        known(Stack, Packets, Either, "TCP sent segments again; for siw that is loss of the RDMA traffic"),
    ),
    ("Udp.InErrors", known(Stack, Packets, Either, "UDP datagrams were dropped on arrival")),
    ("Udp.RcvbufErrors", known(Stack, Packets, Either, "UDP sockets had no room")),
    ("processed", known(Noise, Packets, Either, "")),
    ("rx_packets", known(Noise, Packets, Either, "")),
    ("tx_packets", known(Noise, Packets, Either, "")),
    ("dropped", known(Stack, Packets, Either, "a CPU's backlog was full (net.core.netdev_max_backlog)")),
    (
        "time_squeeze",
        known(
            Noise,
            Events,
            Either,
            "a CPU stopped taking packets because its budget was up, with packets left",
        ),
    ),
    ("rx_dropped", known(Stack, Packets, Either, "the network device dropped packets on arrival")),
    ("tx_dropped", known(Stack, Packets, Either, "the network device dropped packets it should have sent")),
    ("rx_errors", known(Stack, Packets, Either, "packets arrived broken")),
    ("tx_errors", known(Stack, Packets, Either, "packets could not be sent")),
];

/// Counters of the host.
pub(super) const HOST: &[(&str, Known)] = &[
    ("core_throttle_count", known(Throttled, Events, Either, "the core was slowed down: too hot")),
    ("package_throttle_count", known(Throttled, Events, Either, "the package was slowed down: too hot")),
    ("NET_RX", known(Noise, Events, Either, "")),
    ("NET_TX", known(Noise, Events, Either, "")),
    ("TASKLET", known(Noise, Events, Either, "")),
    ("TIMER", known(Noise, Events, Either, "")),
    ("ctxt", known(Noise, Events, Either, "")),
    ("intr", known(Noise, Events, Either, "")),
    ("softirq", known(Noise, Events, Either, "")),
    ("processes", known(Noise, Events, Either, "")),
    ("numa_hit", known(Memory, Unit::Pages, Either, "")),
    ("local_node", known(Memory, Unit::Pages, Either, "")),
    ("interleave_hit", known(Memory, Unit::Pages, Either, "")),
    (
        "numa_miss",
        known(Memory, Unit::Pages, Either, "pages were taken from this node that were wanted on another"),
    ),
    ("numa_foreign", known(Memory, Unit::Pages, Either, "pages wanted on this node were taken from another")),
    ("other_node", known(Memory, Unit::Pages, Either, "pages were taken here by CPUs of other nodes")),
];
