//! What the driver said of one device: that it failed, or that its link went down.

use host::Value;
use schema::{Reading, Step};

use crate::doctor::{
    kernel_log,
    view::{Device, View},
};

/// The answer of the kernel's log.
pub(super) fn step(view: &View, device: &Device) -> Step {
    let asked = "did the driver say that the adapter failed, or that the link went down?".to_owned();
    let log = kernel_log::read(view);
    let Value::Known(lines) = &log else {
        let why = log.why_unknown().unwrap_or_default().to_owned();
        let reading = Reading { at: "the kernel's log".into(), value: None, unknown: Some(why.clone()) };
        let verdict = format!("its log could not be read: {why}");
        return Step { asked, readings: vec![reading], verdict, explains: None, next: String::new() };
    };
    let own = kernel_log::of_device(device, lines);
    let (failures, downs) = (kernel_log::of_trouble(&own), kernel_log::of_link_down(&own));
    let reading = |line: &&str| Reading {
        at: "the kernel's log".into(),
        value: Some((*line).to_owned()),
        unknown: None,
    };
    let readings: Vec<Reading> = failures.iter().chain(&downs).map(reading).collect();
    let (verdict, explains, next) = match (failures.last(), downs.as_slice()) {
        (Some(last), _) => ((*last).to_owned(), true, "rdma-harness doctor --symptom driver-load"),
        (None, []) => (format!("no: {} lines of it, none of failure", own.len()), false, ""),
        (None, [last]) => (
            format!("the link went down once since the log begins: {last}"),
            true,
            "cable, module and the switch's port: ethtool -m of the network device, and the switch's log of that moment",
        ),
        (None, [.., last]) => (
            format!("the link went down {} times since the log begins, last: {last}", downs.len()),
            true,
            "cable, module and the switch's port: ethtool -m of the network device, and the switch's log of those moments",
        ),
    };
    Step { asked, readings, verdict, explains: Some(explains), next: next.to_owned() }
}
