//! Memory that is registered: how much may be locked, and in which pages it comes.

use host::{Value, memory};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::{Device, View},
};

const THP: Check = Check {
    name: "thp",
    expected: "any: profiles disagree (network-latency says never, hpc-compute always); the harness asks for the pages it wants",
    authority: "tuned's profiles; kernel documentation (admin-guide/mm/transhuge.rst)",
    matters: &[Matters::ControlPath],
};

const HUGE_PAGES: Check = Check {
    name: "huge-pages",
    expected: "some on the NIC's node where a scenario asks for `pages`; none needed otherwise",
    authority: "perftest's --use_hugepages; they spare the NIC translations of many or large regions",
    matters: &[Matters::DataPath, Matters::ControlPath],
};

const MEMLOCK: Check = Check {
    name: "memlock",
    expected: "unlimited, or CAP_IPC_LOCK",
    authority: "rdma-core's documentation: registering more than the limit fails with ENOMEM",
    matters: &[Matters::ControlPath],
};

/// The limit that kernels before 5.16 gave every process, too small for one registered buffer of a test.
const OLD_DEFAULT_BYTES: u64 = 64 << 10;

/// CAP_IPC_LOCK of linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;

/// One finding each, huge pages for each device.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let pages = view.devices.iter().map(|device| huge_pages(view, device));
    [thp(view), memlock(view)].into_iter().chain(pages).collect()
}

fn thp(view: &View) -> Finding {
    let enabled = memory::thp(view.sysroot, "enabled");
    let defrag = memory::thp(view.sysroot, "defrag");
    let draft =
        THP.about(HOST).read(memory::thp_path("enabled"), &enabled).read(memory::thp_path("defrag"), &defrag);
    match &enabled {
        Value::Known(word) => {
            draft.fine(format!("{word}; it changes how long registering takes, not a steady run"))
        }
        other => draft.without("transparent huge pages", other),
    }
}

fn huge_pages(view: &View, device: &Device) -> Finding {
    let draft = HUGE_PAGES.about(&device.name);
    let node = match device.node.as_ref() {
        Value::Known(node) => *node,
        _ => view.topology.nodes.first().map_or(0, |node| node.id),
    };
    let pages = memory::huge_pages(view.sysroot, node);
    let Value::Known(sizes) = &pages else { return draft.without("huge pages", &pages) };
    if sizes.is_empty() {
        return draft.not_applicable("this kernel has no huge pages");
    }
    let draft = sizes.iter().fold(draft, |draft, size| {
        let path = |count| memory::huge_pages_path(node, size.page_bytes, count);
        draft.read(path("nr_hugepages"), &size.reserved).read(path("free_hugepages"), &size.free)
    });
    let reserved: Vec<String> = sizes
        .iter()
        .filter_map(|size| match (size.reserved.as_ref().known()?, size.free.as_ref().known()) {
            (0, _) => None,
            (count, Some(free)) => Some(format!("{count} of {} ({free} free)", size_name(size.page_bytes))),
            (count, None) => Some(format!("{count} of {}", size_name(size.page_bytes))),
        })
        .collect();
    if !reserved.is_empty() {
        return draft.fine(format!("{} on node {node}", reserved.join(", ")));
    }
    let elsewhere = view.topology.nodes.iter().find(|other| {
        let pages = memory::huge_pages(view.sysroot, other.id).known().unwrap_or_default();
        pages.iter().any(|size| size.reserved.as_ref().known() > Some(&0))
    });
    match elsewhere {
        Some(other) => draft
            .remedy(format!("echo 512 > {}", memory::huge_pages_path(node, 2 << 20, "nr_hugepages")))
            .warning(format!("node {} has them, node {node} of the NIC has none", other.id)),
        None => draft.fine(format!("none on node {node}; a scenario with `pages` needs some")),
    }
}

fn size_name(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

fn memlock(view: &View) -> Finding {
    let limit = memory::memlock_bytes(view.sysroot);
    let capable = view.sysroot.read("/proc/self/status").parse(|text| may_lock(&text));
    let draft = MEMLOCK
        .about(HOST)
        .read(
            "/proc/self/limits, Max locked memory",
            &limit.as_ref().map(|limit| match limit {
                None => "unlimited".to_owned(),
                Some(bytes) => format!("{bytes} bytes"),
            }),
        )
        .read(
            "/proc/self/status, CapEff",
            &capable.as_ref().map(|has| if *has { "CAP_IPC_LOCK" } else { "no CAP_IPC_LOCK" }),
        );
    let remedy = "ulimit -l unlimited as root before the run, LimitMEMLOCK=infinity in a systemd unit, or a file in \
                  /etc/security/limits.d with: * - memlock unlimited";
    match &limit {
        Value::Known(None) => draft.fine("unlimited for this process"),
        Value::Known(Some(bytes)) if capable == Value::Known(true) => draft
            .fine(format!("{}, and this process has CAP_IPC_LOCK, which no limit binds", size_name(*bytes))),
        Value::Known(Some(bytes)) if view.devices.is_empty() => {
            draft.note(format!("{}; without an RDMA device nothing is registered", size_name(*bytes)))
        }
        Value::Known(Some(bytes)) if *bytes <= OLD_DEFAULT_BYTES => {
            draft.remedy(remedy).wrong(format!("{}: hardly a buffer can be registered", size_name(*bytes)))
        }
        Value::Known(Some(bytes)) => draft
            .remedy(remedy)
            .warning(format!("{}: registering more than that fails with ENOMEM", size_name(*bytes))),
        other => draft.without("the limit of locked memory", other),
    }
}

/// `CapEff:\t000001ffffffffff`.
fn may_lock(status: &str) -> Result<bool, String> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = line.ok_or_else(|| "/proc/self/status has no CapEff line".to_owned())?.trim();
    let bits = u64::from_str_radix(bits, 16).map_err(|error| format!("CapEff `{bits}`: {error}"))?;
    Ok(bits & 1 << CAP_IPC_LOCK != 0)
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, Note, Warning, Wrong};

    use super::may_lock;
    use crate::doctor::planted::Planted;

    const LIMITS: &str = "/proc/self/limits";
    const STATUS: &str = "/proc/self/status";

    fn limited(to: &str, capabilities: &str) -> Planted {
        Planted::on("two-socket-mlx5")
            .with(LIMITS, &format!("Max locked memory         {to}              {to}              bytes\n"))
            .with(STATUS, &format!("CapEff:\t{capabilities}\nCpus_allowed_list:\t0-7\n"))
    }

    #[test]
    fn what_may_be_locked_counts_unless_no_limit_binds() {
        let none = "0000000000000000";
        assert_eq!(limited("65536", none).says("memlock", "host").0, Wrong);
        assert_eq!(
            limited("8388608", none).says("memlock", "host"),
            (Warning, "8 MiB: registering more than that fails with ENOMEM".into())
        );
        assert_eq!(limited("8388608", "0000000000004000").says("memlock", "host").0, Fine);
        assert_eq!(limited("unlimited", none).says("memlock", "host").0, Fine);
        assert_eq!(Planted::on("bare-vm").says("memlock", "host").0, Note, "nothing to register with");
        assert!(may_lock("Name: x\n").is_err());
    }

    #[test]
    fn huge_pages_on_another_node_than_the_nics_are_of_no_use() {
        let folder = "/sys/devices/system/node/node1/hugepages";
        let host = Planted::on("two-socket-mlx5")
            .with(&format!("{folder}/hugepages-2048kB/nr_hugepages"), "0\n")
            .with(&format!("{folder}/hugepages-1048576kB/nr_hugepages"), "0\n");
        let finding = host.finding("huge-pages", "mlx5_0");
        assert_eq!(
            (finding.severity, finding.summary.as_str()),
            (Warning, "node 0 has them, node 1 of the NIC has none")
        );
        assert_eq!(finding.remedy, format!("echo 512 > {folder}/hugepages-2048kB/nr_hugepages"));
        assert_eq!(host.says("huge-pages", "mlx5_1").0, Fine);
    }
}
