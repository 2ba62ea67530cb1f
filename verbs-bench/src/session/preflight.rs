//! The spec against the host and the device, before anything is created. What does not fit is refused with the field's
//! name; nothing is made to fit.

use host::Sysroot;
use schema::{RunSpec, Stop};

use crate::{
    engine::layout::Layout,
    placement,
    verbs::{DeviceAttr, PortAttr},
};

/// Most intervals of one point: the series stays a few megabytes.
const MAX_INTERVALS: u64 = 100_000;

/// What this host can tell without a device: CPUs, nodes and memory of the sides that will run here.
pub fn host_side(spec: &RunSpec, responder_is_here: bool) -> Result<(), String> {
    let sysroot = Sysroot::new("/");
    placement::check(&spec.requester, &sysroot).map_err(|error| error.to_string())?;
    if responder_is_here {
        placement::check(&spec.responder, &sysroot).map_err(|error| format!("responder: {error}"))?;
    }
    if let Stop::DurationNs(duration) = spec.stop
        && duration.get() / spec.interval_ns.get() > MAX_INTERVALS
    {
        return Err(format!(
            "interval: {} makes more than {MAX_INTERVALS} intervals of {duration}; choose a longer one",
            spec.interval_ns
        ));
    }
    memory(&sysroot, Layout::of(spec).region_bytes() * if responder_is_here { 2 } else { 1 })
}

/// Refuses buffers that would push the host into swapping or the OOM killer.
fn memory(sysroot: &Sysroot, needed: u64) -> Result<(), String> {
    let available = sysroot.read("proc/meminfo").known().as_deref().and_then(available_bytes);
    match available {
        Some(available) if needed > available / 10 * 9 => Err(format!(
            "msg_bytes, qp_count, post_list: the message buffers need {} MiB and this host has {} MiB available; use fewer or smaller messages",
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

/// What the device and its port must bear.
pub fn device_side(spec: &RunSpec, device: &DeviceAttr, port: &PortAttr) -> Result<(), String> {
    let limits: [(&str, u64, u64, &str); 4] = [
        ("tx_depth", u64::from(spec.tx_depth), u64::from(device.max_qp_wr), "work requests per queue"),
        ("qp_count", u64::from(spec.qp_count), u64::from(device.max_qp), "queue pairs"),
        (
            "tx_depth x qp_count",
            u64::from(spec.tx_depth) * u64::from(spec.qp_count),
            u64::from(device.max_cqe),
            "completion queue entries",
        ),
        (
            "msg_bytes",
            spec.msg_bytes.iter().map(|size| size.get()).max().unwrap_or_default(),
            u64::from(port.max_msg_bytes),
            "bytes a message",
        ),
    ];
    for (field, asked, limit, what) in limits {
        if asked > limit {
            return Err(format!("{field}: {asked} is more than the device's limit of {limit} {what}"));
        }
    }
    if let Some(mtu) = spec.path_mtu {
        path_mtu(mtu, port)?;
    }
    Ok(())
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
    use schema::{Nanos, Test};

    use super::*;

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
