//! What the NIC's driver wrote to the kernel's log: firmware that did not start, a link that is too narrow, links that flap.

use host::{Value, kernel_log};
use schema::{Finding, Matters};

use super::{
    check::{Check, Draft},
    view::{Device, Kind, View},
};

const LOG: Check = Check {
    name: "kernel-log",
    expected: "no line of trouble of the driver, and no flapping link",
    authority: "the kernel's drivers: mlx5_core's and the PCI core's own words",
    matters: &[Matters::DataPath, Matters::EventMode, Matters::ControlPath],
};

/// Words of lines after which the device does not work, or is about not to.
const DEAD: [&str; 8] = [
    "in pre-initializing state, aborting",
    "Failed initializing command interface, aborting",
    "mlx5_init_one failed with error code",
    "probe of ",
    "firmware version: 65535.65535.65535",
    "device's health compromised",
    "Fatal error",
    "timeout. Will cause a leak of a command resource",
];

/// Words of lines that say what costs.
const COSTLY: [&str; 6] =
    ["limited by", "High temperature", "insufficient power", "Cable error", "Bad or shorted cable", "AER:"];

/// Lines beyond these are counted and not shown.
const SHOWN: usize = 8;

/// One finding a device.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let log = read(view);
    view.devices.iter().map(|device| finding(device, &log)).collect()
}

/// The lines that name one of the devices, its address or its network devices, or its driver.
pub(super) fn read(view: &View) -> Value<Vec<String>> {
    let mut names: Vec<String> = view.devices.iter().flat_map(names_of).collect();
    names.extend(["mlx5_core".into(), "mlx4_core".into(), "infiniband".into()]);
    kernel_log::lines(view.sysroot, |line| names.iter().any(|name| line.contains(name.as_str())))
}

fn names_of(device: &Device) -> Vec<String> {
    let netdevs = device.netdevs().into_iter().map(str::to_owned);
    let addresses = device.way.iter().map(|function| function.address.clone());
    netdevs.chain(addresses).chain([device.name.clone()]).filter(|name| !name.is_empty()).collect()
}

/// The lines that name a device, its address or its network devices.
pub(super) fn of_device<'l>(device: &Device, lines: &'l [String]) -> Vec<&'l str> {
    let names = names_of(device);
    let is_own = |line: &&str| names.iter().any(|name| line.contains(name.as_str()));
    lines.iter().map(String::as_str).filter(is_own).collect()
}

/// Lines that say that a device does not work.
pub(super) fn of_trouble<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    having(lines, &DEAD)
}

/// Lines that say that a link went down.
pub(super) fn of_link_down<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    having(lines, &["Link down", "Link is Down"])
}

fn having<'l>(lines: &[&'l str], words: &[&str]) -> Vec<&'l str> {
    lines.iter().copied().filter(|line| words.iter().any(|words| line.contains(words))).collect()
}

fn finding(device: &Device, log: &Value<Vec<String>>) -> Finding {
    let draft = LOG.about(&device.name);
    let Value::Known(lines) = log else {
        let draft = draft.read("the kernel's log", &log.as_ref().map(|_| ""));
        return match log {
            Value::Absent => draft.not_applicable("there is no log to read here"),
            other => draft.remedy("read it as root: dmesg").without("the kernel's log", other),
        };
    };
    if device.kind != Kind::Hardware {
        return draft.not_applicable(device.why_software().unwrap_or_default());
    }
    let own = of_device(device, lines);
    let (dead, costly, downs) = (of_trouble(&own), having(&own, &COSTLY), of_link_down(&own));
    let all: Vec<&str> = dead.iter().chain(&costly).chain(&downs).copied().collect();
    let draft = all.iter().take(SHOWN).fold(draft, Draft::line);
    let draft = match all.len().saturating_sub(SHOWN) {
        0 => draft,
        more => draft.seen("the kernel's log", format!("and {more} more lines")),
    };
    match (dead.as_slice(), costly.as_slice(), downs.len()) {
        ([], [], 0) => {
            draft.seen("the kernel's log", format!("{} lines of it", own.len())).fine("no line of trouble")
        }
        ([first, ..], ..) => draft
            .remedy("`rdma-harness doctor --symptom driver-load`")
            .wrong(format!("{}: {first}", lines_of(dead.len(), "failure"))),
        ([], [first, ..], _) => draft.warning(format!("{}: {first}", lines_of(costly.len(), "what costs"))),
        ([], [], downs) => draft.warning(format!("the link went down {downs} times since the log begins")),
    }
}

fn lines_of(count: usize, what: &str) -> String {
    if count == 1 { format!("a line of {what}") } else { format!("{count} lines of {what}") }
}

impl Draft {
    /// Adds a line of the log.
    fn line(self, line: &&str) -> Draft {
        self.seen("the kernel's log", *line)
    }
}

#[cfg(test)]
mod tests {
    use host::kernel_log::RECORDED;
    use schema::Severity::{Fine, NotApplicable, Warning, Wrong};

    use crate::doctor::planted::Planted;

    #[test]
    fn lines_are_of_the_device_they_name() {
        let host = Planted::on("two-socket-mlx5");
        let (severity, summary) = host.says("kernel-log", "mlx5_1");
        assert!(severity == Warning && summary.contains("limited by 8.0 GT/s PCIe x8 link"), "{summary}");
        assert_eq!(host.says("kernel-log", "mlx5_0").0, Fine);
        assert_eq!(host.without(RECORDED).says("kernel-log", "mlx5_0").0, NotApplicable);
    }

    #[test]
    fn real_words_of_failure_are_wrong_and_flaps_are_counted() {
        for words in [
            "Firmware over 120000 MS in pre-initializing state, aborting",
            "Failed initializing command interface, aborting",
            "mlx5_init_one failed with error code -16",
        ] {
            let line = format!("[    5.1] mlx5_core 0000:c1:00.0: {words}\n");
            assert_eq!(
                Planted::on("two-socket-mlx5").with(RECORDED, &line).says("kernel-log", "mlx5_0").0,
                Wrong
            );
        }
        let flaps = "[1.0] mlx5_core 0000:c1:00.0 ens1np0: Link down\n".repeat(12);
        let finding = Planted::on("two-socket-mlx5").with(RECORDED, &flaps).finding("kernel-log", "mlx5_0");
        assert_eq!(finding.summary, "the link went down 12 times since the log begins");
        assert_eq!(finding.readings.len(), 9, "eight lines and how many more");
    }
}
