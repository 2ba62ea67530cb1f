//! The spec against the host and the device, before anything is created. What does not fit is refused with the field's
//! name; nothing is made to fit.

use host::Sysroot;
use schema::{NodeChoice, Pages, PostApi, RunSpec, Side, SideSpec, Stop, Transport, Wait};

use super::queues::{receives, send_depth};
use crate::{
    engine::layout::Layout,
    placement,
    verbs::{DeviceAttr, LinkLayer, PortAttr},
};

/// Most intervals of one point: the series stays a few megabytes.
const MAX_INTERVALS: u64 = 100_000;

/// What this host can tell without a device: CPUs, nodes and memory of the sides that will run here.
pub fn host_side(spec: &RunSpec, responder_is_here: bool) -> Result<(), String> {
    let sysroot = Sysroot::new("/");
    placement::check(&spec.requester, spec.threads, &sysroot).map_err(|error| error.to_string())?;
    if responder_is_here {
        placement::check(&spec.responder, spec.threads, &sysroot)
            .map_err(|error| format!("responder: {error}"))?;
    }
    if let Stop::DurationNs(duration) = spec.stop
        && duration.get() / spec.interval_ns.get() > MAX_INTERVALS
    {
        return Err(format!(
            "interval: {} makes more than {MAX_INTERVALS} intervals of {duration}; choose a longer one",
            spec.interval_ns
        ));
    }
    match spec.pages {
        Pages::Base => {
            memory(&sysroot, Layout::of(spec).region_bytes() * if responder_is_here { 2 } else { 1 })
        }
        Pages::Huge2Mi | Pages::Huge1Gi => huge_pages(&sysroot, spec, responder_is_here),
    }
}

/// Refuses buffers that would push the host into swapping or the OOM killer.
fn memory(sysroot: &Sysroot, needed: u64) -> Result<(), String> {
    let available = sysroot.read("proc/meminfo").known().as_deref().and_then(available_bytes);
    match available {
        Some(available) if needed > available / 10 * 9 => Err(format!(
            "msg_bytes, qp_count, post_list, working_set_bytes: the message buffers need {} MiB and this host has {} MiB available; use fewer or smaller messages",
            needed >> 20,
            available >> 20
        )),
        _ => Ok(()),
    }
}

fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Whether huge pages of the sides that will run here can be had.
fn huge_pages(sysroot: &Sysroot, spec: &RunSpec, responder_is_here: bool) -> Result<(), String> {
    let len = Layout::of(spec).region_bytes();
    let node = |side: &SideSpec| match side.memory_node {
        NodeChoice::Node(node) => Some(node),
        NodeChoice::Auto | NodeChoice::None => None,
    };
    let (ours, theirs) = (node(&spec.requester), node(&spec.responder));
    // Two buffers of one host come from one pool, and each from the pool of its node.
    let buffers = if responder_is_here { 2 } else { 1 };
    let both = if ours == theirs { ours } else { None };
    let check = |buffers, node| placement::check_pages(sysroot, spec.pages, len, buffers, node);
    check(buffers, both)
        .and_then(|()| check(1, ours))
        .and_then(|()| if responder_is_here { check(1, theirs) } else { Ok(()) })
        .map_err(|error| error.to_string())
}

/// What the device and its port must bear on this side. What only both sides together decide is agreed in the handshake.
pub fn device_side(side: Side, spec: &RunSpec, device: &DeviceAttr, port: &PortAttr) -> Result<(), String> {
    numbers(side, spec, device, port)?;
    capabilities(spec, device)?;
    if let Some(mtu) = spec.path_mtu {
        path_mtu(mtu, port)?;
    }
    addressing(spec, port)
}

/// Every number of the spec that the device limits.
fn numbers(side: Side, spec: &RunSpec, device: &DeviceAttr, port: &PortAttr) -> Result<(), String> {
    let qps = u64::from(spec.qp_count);
    let rx_depth = if receives(spec, side) { u64::from(spec.rx_depth) } else { 0 };
    let largest = spec.msg_bytes.iter().map(|size| size.get()).max().unwrap_or_default();
    let (max_qp_wr, max_cqe) = (u64::from(device.max_qp_wr), u64::from(device.max_cqe));
    let send_depth = u64::from(send_depth(spec));
    let limits: [(&str, u64, u64, &str); 7] = [
        ("tx_depth", send_depth, max_qp_wr, "work requests a queue (max_qp_wr)"),
        ("rx_depth", rx_depth, max_qp_wr, "work requests a queue (max_qp_wr)"),
        ("threads x qp_count", u64::from(spec.total_qps()), u64::from(device.max_qp), "queue pairs (max_qp)"),
        ("tx_depth x qp_count", send_depth * qps, max_cqe, "entries a completion queue (max_cqe)"),
        ("rx_depth x qp_count", rx_depth * qps, max_cqe, "entries a completion queue (max_cqe)"),
        ("msg_bytes", largest, u64::from(port.max_msg_bytes), "bytes a message (max_msg_sz of the port)"),
        (
            "msg_bytes, qp_count, working_set_bytes",
            Layout::of(spec).region_bytes(),
            device.max_mr_size,
            "bytes a memory region (max_mr_size)",
        ),
    ];
    for (field, asked, limit, what) in limits {
        if asked > limit {
            return Err(format!("{field}: {asked} is more than the device's limit of {limit} {what}"));
        }
    }
    let mtu = spec.path_mtu.unwrap_or(port.active_mtu);
    if spec.transport == Transport::Ud && largest > u64::from(mtu) {
        return Err(format!(
            "msg_bytes: {largest} over ud: a datagram is one packet, and the path MTU of this port is {mtu}; send less, or raise the MTU of its network device"
        ));
    }
    Ok(())
}

/// Everything that a device has or has not.
fn capabilities(spec: &RunSpec, device: &DeviceAttr) -> Result<(), String> {
    let lacking: [(bool, &str, String); 4] = [
        (
            spec.op.is_atomic() && !device.atomics,
            "op",
            format!("{} needs atomics, and the device has none (atomic_cap)", spec.op),
        ),
        (
            spec.post_api == PostApi::Extended && !device.extended,
            "post_api",
            "extended needs ibv_wr_* and ibv_start_poll, and the device's provider has not both; use classic"
                .into(),
        ),
        (
            spec.completion_timestamps && device.timestamp_ticks_per_sec.is_none(),
            "completion_timestamps",
            "the device's completions carry no time (completion_timestamp_mask, hca_core_clock)".into(),
        ),
        (
            spec.wait != Wait::Poll && spec.comp_vector >= device.num_comp_vectors,
            "comp_vector",
            format!(
                "{} is outside the device's 0..{} (num_comp_vectors)",
                spec.comp_vector, device.num_comp_vectors
            ),
        ),
    ];
    match lacking.into_iter().find(|(lacks, ..)| *lacks) {
        None => Ok(()),
        Some((_, field, what)) => Err(format!("{field}: {what}")),
    }
}

/// What travels in the GRH must not be asked of packets that have none.
fn addressing(spec: &RunSpec, port: &PortAttr) -> Result<(), String> {
    if port.needs_gid() || port.link_layer == LinkLayer::Soft {
        return Ok(());
    }
    let (ours, theirs) = (spec.requester.gid_index, spec.responder.gid_index);
    if ours.is_some() != theirs.is_some() {
        return Err(
            "gid_index: this port addresses by LID; give a gid_index to both sides, or to neither".into()
        );
    }
    let asked = [("traffic_class", u32::from(spec.traffic_class)), ("flow_label", spec.flow_label)];
    match asked.into_iter().find(|(_, value)| ours.is_none() && *value != 0) {
        None => Ok(()),
        Some((field, value)) => Err(format!(
            "{field}: {value} travels in the GRH, and this port addresses by LID without one; give both sides a gid_index"
        )),
    }
}

/// A path MTU above the port's active MTU would be clamped or refused late; it is refused now.
pub fn path_mtu(path_mtu: u32, port: &PortAttr) -> Result<(), String> {
    if path_mtu <= port.active_mtu {
        return Ok(());
    }
    Err(format!(
        "path_mtu: {path_mtu} is more than this port's active MTU of {}; raise the MTU of its network device (RoCE needs about 60 bytes above the path MTU) or ask for less",
        port.active_mtu
    ))
}

#[cfg(test)]
mod tests {
    use schema::{Bytes, Nanos, Op, Test};

    use super::*;
    use crate::{softnic::SoftNic, verbs::Context};

    /// A device that can everything, and its port.
    fn capable() -> (DeviceAttr, PortAttr) {
        let context = Context::open(SoftNic::new(None, None)).expect("the software NIC");
        let device = DeviceAttr {
            atomics: true,
            extended: true,
            timestamp_ticks_per_sec: Some(1_000_000_000),
            num_comp_vectors: 2,
            ..context.query_device().expect("its attributes")
        };
        let port = context.query_port(1).expect("its port");
        (device, PortAttr { link_layer: LinkLayer::Ethernet, ..port })
    }

    fn demanding() -> RunSpec {
        let mut spec = RunSpec::with_op(Test::Bandwidth, Op::Send);
        (spec.threads, spec.qp_count, spec.tx_depth, spec.rx_depth) = (2, 4, 64, 128);
        (spec.post_api, spec.completion_timestamps) = (PostApi::Extended, true);
        (spec.wait, spec.comp_vector, spec.msg_bytes) = (Wait::Event, 1, vec![Bytes(4096)]);
        spec
    }

    fn refusal(spec: &RunSpec, change: impl FnOnce(&mut DeviceAttr, &mut PortAttr)) -> String {
        let (mut device, mut port) = capable();
        change(&mut device, &mut port);
        device_side(Side::Responder, spec, &device, &port).expect_err("refused")
    }

    #[test]
    fn what_a_capable_device_bears_passes() {
        let (device, port) = capable();
        for side in [Side::Requester, Side::Responder] {
            assert_eq!(device_side(side, &demanding(), &device, &port), Ok(()));
        }
        let bearable = DeviceAttr { max_cqe: 4 * 128, max_qp_wr: 128, max_qp: 8, ..device };
        assert_eq!(device_side(Side::Responder, &demanding(), &bearable, &port), Ok(()));
    }

    #[test]
    fn every_limit_is_refused_with_its_field_its_number_and_the_devices() {
        let spec = demanding();
        let text = refusal(&spec, |device, _| device.max_qp_wr = 63);
        assert_eq!(
            text,
            "tx_depth: 64 is more than the device's limit of 63 work requests a queue (max_qp_wr)"
        );
        assert!(refusal(&spec, |device, _| device.max_qp_wr = 127).starts_with("rx_depth: 128"));
        assert!(refusal(&spec, |device, _| device.max_qp = 7).starts_with("threads x qp_count: 8"));
        assert!(refusal(&spec, |device, _| device.max_cqe = 255).starts_with("tx_depth x qp_count: 256"));
        assert!(refusal(&spec, |device, _| device.max_cqe = 511).starts_with("rx_depth x qp_count: 512"));
        assert!(refusal(&spec, |device, _| device.max_mr_size = 4096).contains("max_mr_size"));
        assert!(refusal(&spec, |_, port| port.max_msg_bytes = 4095).starts_with("msg_bytes: 4096"));
    }

    #[test]
    fn only_a_side_that_receives_needs_a_receive_queue() {
        let (device, port) = capable();
        let shallow = DeviceAttr { max_qp_wr: 64, ..device };
        assert_eq!(device_side(Side::Requester, &demanding(), &shallow, &port), Ok(()));
    }

    #[test]
    fn every_missing_capability_is_refused_with_the_field_that_asks_for_it() {
        let spec = demanding();
        assert!(refusal(&spec, |device, _| device.extended = false).starts_with("post_api: extended"));
        let text = refusal(&spec, |device, _| device.timestamp_ticks_per_sec = None);
        assert!(text.starts_with("completion_timestamps:"), "{text}");
        let text = refusal(&spec, |device, _| device.num_comp_vectors = 1);
        assert_eq!(text, "comp_vector: 1 is outside the device's 0..1 (num_comp_vectors)");
        let atomic = RunSpec::with_op(Test::Latency, Op::CompareSwap);
        let text = refusal(&atomic, |device, _| device.atomics = false);
        assert_eq!(text, "op: compare_swap needs atomics, and the device has none (atomic_cap)");
    }

    #[test]
    fn a_datagram_longer_than_the_path_mtu_is_refused() {
        let mut spec = demanding();
        spec.transport = Transport::Ud;
        let text = refusal(&spec, |_, port| port.active_mtu = 1024);
        assert!(text.starts_with("msg_bytes: 4096 over ud") && text.contains("is 1024"), "{text}");
    }

    #[test]
    fn without_a_grh_what_travels_in_it_is_refused() {
        let lid_only = |_: &mut DeviceAttr, port: &mut PortAttr| {
            (port.link_layer, port.grh_required) = (LinkLayer::InfiniBand, false);
        };
        let mut spec = demanding();
        spec.traffic_class = 104;
        assert!(refusal(&spec, lid_only).starts_with("traffic_class: 104 travels in the GRH"));
        spec.requester.gid_index = Some(0);
        assert!(refusal(&spec, lid_only).contains("to both sides"));
        spec.responder.gid_index = Some(0);
        let (device, mut port) = capable();
        port.link_layer = LinkLayer::InfiniBand;
        assert_eq!(device_side(Side::Responder, &spec, &device, &port), Ok(()));
    }

    #[test]
    fn huge_pages_the_host_has_not_are_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let pool = dir.path().join("sys/kernel/mm/hugepages/hugepages-2048kB");
        std::fs::create_dir_all(&pool).expect("mkdir");
        std::fs::write(pool.join("free_hugepages"), "1\n").expect("write");
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.pages = Pages::Huge2Mi;
        let root = Sysroot::new(dir.path());
        assert_eq!(huge_pages(&root, &spec, false), Ok(()));
        assert!(huge_pages(&root, &spec, true).unwrap_err().starts_with("pages: 2Mi"), "two sides need two");
    }

    #[test]
    fn meminfo_is_read_in_bytes() {
        assert_eq!(available_bytes("MemTotal: 9 kB\nMemAvailable:     2048 kB\n"), Some(2 << 20));
        assert_eq!(available_bytes("MemTotal: 9 kB\n"), None);
    }

    #[test]
    fn too_many_intervals_are_refused() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.stop = Stop::DurationNs(Nanos(1_000_000_000_000));
        spec.interval_ns = Nanos(1_000_000);
        assert!(host_side(&spec, false).unwrap_err().starts_with("interval"));
    }

    #[test]
    fn buffers_larger_than_memory_are_refused() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.msg_bytes = vec![schema::Bytes(1 << 31)];
        spec.qp_count = 16_384;
        assert!(host_side(&spec, true).unwrap_err().contains("available"));
    }
}
