//! Whether an IOMMU translates what the NIC reads and writes.

use host::Value;
use schema::{Finding, Matters};

use super::{
    at_boot,
    check::Check,
    view::{Device, View},
};

const IOMMU: Check = Check {
    name: "iommu",
    expected: "none, or its identity domain (iommu=pt), on bare metal",
    authority: "NVIDIA's tuning guides; kernel documentation (ABI/testing/sysfs-kernel-iommu_groups)",
    matters: &[Matters::ControlPath, Matters::TcpOnly, Matters::DataPath],
};

/// One finding a device.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    view.devices.iter().map(|device| finding(view, device)).collect()
}

fn finding(view: &View, device: &Device) -> Finding {
    let draft = IOMMU.about(&device.name);
    let Some(own) = device.function() else {
        return draft.not_applicable(device.why_software().unwrap_or("its bus device is not on PCI"));
    };
    let path = format!("{}/iommu_group/type", own.folder);
    let domain = view.sysroot.read(&path);
    let words = view.sysroot.read("/proc/cmdline").map(|line| {
        let words: Vec<&str> = line.split_whitespace().filter(|word| word.contains("iommu")).collect();
        if words.is_empty() { "no word of an IOMMU".to_owned() } else { words.join(" ") }
    });
    let draft = draft.read(path, &domain).read("/proc/cmdline", &words);
    let remedy = || at_boot::remedy(view, "iommu", "pt", Some(&device.name));
    match &domain {
        Value::Known(kind) if kind == "identity" => draft.fine("identity: addresses are not translated"),
        Value::Known(kind) if kind == "DMA-FQ" => draft.remedy(remedy()).note(
            "DMA-FQ: translated, flushed lazily; it costs registering and TCP, and a steady run little",
        ),
        Value::Known(kind) if view.is_guest() => draft.note(format!("{kind}: the guest's own IOMMU translates")),
        Value::Known(kind) => draft
            .remedy(remedy())
            .warning(format!("{kind}: translated, each unmapping flushed at once; it costs registering, TCP, and regions of many small pages")),
        Value::Absent => draft.fine("the device is behind no IOMMU"),
        other => draft.without("the domain of its IOMMU", other),
    }
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Warning};

    use crate::doctor::planted::Planted;

    #[test]
    fn a_strict_domain_costs_and_the_identity_one_does_not() {
        let kind = "/sys/class/infiniband/mlx5_0/device/iommu_group/type";
        let strict = Planted::on("two-socket-mlx5").with(kind, "DMA\n").finding("iommu", "mlx5_0");
        assert_eq!(strict.severity, Warning);
        assert!(strict.remedy.contains("iommu=pt"), "{}", strict.remedy);
        assert_eq!(Planted::on("two-socket-mlx5").says("iommu", "mlx5_0").0, Note, "DMA-FQ");
        assert_eq!(Planted::on("two-socket-mlx5").with(kind, "identity\n").says("iommu", "mlx5_0").0, Fine);
        assert_eq!(Planted::on("guest-rxe").says("iommu", "rxe0").0, NotApplicable);
    }
}
