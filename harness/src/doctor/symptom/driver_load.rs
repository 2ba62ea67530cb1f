//! Why there is no RDMA device, or why its driver does not load: from the bus upwards.

use host::{Value, pcie};
use schema::{Reading, Step};

use crate::doctor::{kernel_log, view::View};

/// PCI vendor of NVIDIA's (Mellanox's) adapters.
const MELLANOX: &str = "0x15b3";

/// Modules between an mlx5 adapter and a program, and where each shows that it is there.
const MODULES: [(&str, &str); 4] = [
    ("mlx5_core", "/sys/module/mlx5_core"),
    ("mlx5_ib", "/sys/module/mlx5_ib"),
    ("ib_core", "/sys/class/infiniband"),
    ("ib_uverbs", "/sys/class/infiniband_verbs"),
];

const BUS: &str = "/sys/bus/pci/devices";

/// The steps.
pub(super) fn steps(view: &View) -> Vec<Step> {
    vec![on_the_bus(view), modules(view), bound(view), log(view), devices(view)]
}

fn step(asked: &str, readings: Vec<Reading>, verdict: String, explains: Option<bool>, next: &str) -> Step {
    let next = if explains == Some(true) { next.to_owned() } else { String::new() };
    Step { asked: asked.to_owned(), readings, verdict, explains, next }
}

fn reading(at: String, value: &Value<String>) -> Reading {
    Reading { at, value: value.clone().known(), unknown: value.why_unknown().map(str::to_owned) }
}

/// Adapters on the bus: those of NVIDIA, and whatever carries an RDMA device now.
fn adapters(view: &View) -> Vec<String> {
    let listed = view.sysroot.list(BUS).known().unwrap_or_default();
    let is_adapter = |address: &String| {
        view.sysroot.read(format!("{BUS}/{address}/vendor")) == Value::Known(MELLANOX.into())
    };
    let mut adapters: Vec<String> = listed.into_iter().filter(is_adapter).collect();
    for device in &view.devices {
        if let Some(own) = device.function()
            && !adapters.contains(&own.address)
        {
            adapters.push(own.address.clone());
        }
    }
    adapters
}

fn folder(view: &View, address: &str) -> String {
    let known = view.devices.iter().filter_map(|device| device.function());
    known
        .filter(|function| function.address == address)
        .map(|function| function.folder.clone())
        .next()
        .unwrap_or_else(|| format!("{BUS}/{address}"))
}

fn on_the_bus(view: &View) -> Step {
    let adapters = adapters(view);
    let asked = "is there an adapter on the bus, and does it answer?";
    let mut readings: Vec<Reading> = Vec::new();
    let mut silent = Vec::new();
    for address in &adapters {
        let at = format!("{}/config", folder(view, address));
        match pcie::device_control(view.sysroot, &at) {
            Value::Unreadable(why) if why.contains("does not answer") => {
                silent.push(address.clone());
                readings.push(reading(at, &Value::Unreadable(why)));
            }
            _ => readings.push(reading(at, &Value::Known("answers".into()))),
        }
    }
    if adapters.is_empty() {
        readings.push(reading(format!("{BUS}/*/vendor"), &Value::Known("none is 0x15b3".into())));
        let software = view.devices.iter().any(|device| device.why_software().is_some());
        return if software {
            step(asked, readings, "none, and the RDMA devices here are software".into(), Some(false), "")
        } else {
            step(
                asked,
                readings,
                "no adapter of NVIDIA's is on the bus".into(),
                Some(true),
                "lspci -nn | grep -i -E 'infiniband|ethernet'; reseat it; in a guest, pass it through; without one, a software \
                 device: rdma link add rxe0 type rxe netdev NETDEV",
            )
        };
    }
    match silent.as_slice() {
        [] => step(
            asked,
            readings,
            format!("{} on the bus, and it answers", adapters.join(", ")),
            Some(false),
            "",
        ),
        silent => step(
            asked,
            readings,
            format!("{} reads as all ones: it is dead, or its slot has no power", silent.join(", ")),
            Some(true),
            "cold-boot the host; look at the adapter's temperature and its optics",
        ),
    }
}

fn modules(view: &View) -> Step {
    let missing: Vec<&str> =
        MODULES.iter().filter(|(_, path)| !view.sysroot.exists(path)).map(|(name, _)| *name).collect();
    let readings = MODULES
        .iter()
        .map(|(_, path)| {
            let there = view.sysroot.exists(path);
            reading((*path).to_owned(), &if there { Value::Known("there".into()) } else { Value::Absent })
        })
        .collect();
    let asked = "are the modules loaded?";
    // A tree may hold no more than the devices need: what carries a device is there.
    let works = view.devices.iter().any(|device| device.function().is_some());
    let only_software = !view.devices.is_empty() && !works;
    match missing.as_slice() {
        [] => step(asked, readings, "all of them".into(), Some(false), ""),
        _ if only_software => step(
            asked,
            readings,
            "the devices here are software and need none of mlx5".into(),
            Some(false),
            "",
        ),
        missing if works => step(
            asked,
            readings,
            format!("{} not shown, and a device works: built in, or not recorded", missing.join(", ")),
            Some(false),
            "",
        ),
        missing => step(
            asked,
            readings,
            format!("not loaded: {}", missing.join(", ")),
            Some(true),
            &format!(
                "modprobe -a {}; if that fails: dmesg | tail, and the package with the modules of `uname -r`",
                missing.join(" ")
            ),
        ),
    }
}

fn bound(view: &View) -> Step {
    let asked = "is each adapter bound to its driver?";
    let mut readings = Vec::new();
    let mut unbound = Vec::new();
    for address in adapters(view) {
        let at = format!("{}/driver", folder(view, &address));
        let driver = view.sysroot.link_name(&at);
        if driver == Value::Absent {
            unbound.push(address);
        }
        readings.push(reading(at, &driver));
    }
    match (unbound.as_slice(), readings.is_empty()) {
        (_, true) => step(asked, readings, "there is none to bind".into(), Some(false), ""),
        ([], _) => step(asked, readings, "yes".into(), Some(false), ""),
        (unbound, _) => step(
            asked,
            readings,
            format!("no driver has {}: its probe failed, or another (vfio-pci) had it", unbound.join(", ")),
            Some(true),
            &format!("echo {} > /sys/bus/pci/drivers/mlx5_core/bind; then read the kernel's log", unbound[0]),
        ),
    }
}

fn log(view: &View) -> Step {
    let asked = "did the driver say why it gave up?";
    let log = kernel_log::read(view);
    let Value::Known(lines) = &log else {
        let why = log.why_unknown().unwrap_or_default().to_owned();
        let readings = vec![reading("the kernel's log".into(), &log.as_ref().map(|_| String::new()))];
        return step(asked, readings, format!("its log could not be read: {why}"), None, "");
    };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let trouble = kernel_log::of_trouble(&lines);
    let readings = trouble
        .iter()
        .map(|line| reading("the kernel's log".into(), &Value::Known((*line).to_owned())))
        .collect();
    match trouble.as_slice() {
        [] => step(
            asked,
            readings,
            format!("no: {} lines of it, none of failure", lines.len()),
            Some(false),
            "",
        ),
        [.., last] => step(
            asked,
            readings,
            (*last).to_owned(),
            Some(true),
            "firmware that does not come up: cold-boot; then the vendor's tool (mstflint -d ADDRESS q). Firmware lies on the \
             adapter: a package of drivers neither brings nor binds it",
        ),
    }
}

fn devices(view: &View) -> Step {
    let asked = "is there an RDMA device in this network namespace?";
    let names: Vec<&str> = view.devices.iter().map(|device| device.name.as_str()).collect();
    let readings = vec![reading(
        "/sys/class/infiniband".into(),
        &if names.is_empty() { Value::Absent } else { Value::Known(names.join(" ")) },
    )];
    if names.is_empty() {
        return step(
            asked,
            readings,
            "none".into(),
            Some(true),
            "rdma dev show; rdma system show netns (exclusive: the device lives in another namespace); is RoCE switched off \
             (devlink dev param show)?",
        );
    }
    step(asked, readings, names.join(", "), Some(false), "")
}
