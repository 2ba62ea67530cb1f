//! Rings, channels and coalescing of the NIC's network device: what guides tell one to turn, and verbs do not use.

use host::{Aspect, Value, ethtool};
use schema::{Finding, Matters};

use super::{
    check::Check,
    view::{Device, View},
};

const RINGS: Check = Check {
    name: "rings",
    expected: "any: queue pairs have queues of their own; large rings help TCP alone",
    authority: "ethtool -g; the kernel's mlx5 documentation",
    matters: &[Matters::TcpOnly],
};

const CHANNELS: Check = Check {
    name: "channels",
    expected: "any: the completion vectors of verbs are counted apart",
    authority: "ethtool -l; the kernel's mlx5 documentation",
    matters: &[Matters::TcpOnly],
};

const COALESCING: Check = Check {
    name: "coalescing",
    expected: "any: completions of verbs are moderated by the CQ's own settings",
    authority: "ethtool -c; ibv_modify_cq(3)",
    matters: &[Matters::TcpOnly],
};

/// Three findings a device.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let of_device = |device| ASKED.map(|asked| queue(view, device, asked));
    view.devices.iter().flat_map(of_device).collect()
}

const ASKED: [Asked; 3] = [
    (&RINGS, "-g", Aspect::Rings, ["rx", "tx", "rx_max", "tx_max"]),
    (&CHANNELS, "-l", Aspect::Channels, ["combined", "rx", "tx", "max_combined"]),
    (&COALESCING, "-c", Aspect::Coalescing, ["rx_usecs", "tx_usecs", "adaptive_rx", "adaptive_tx"]),
];

/// Each check's name, and what the driver answers to it in words.
pub(super) fn answers(view: &View, device: &Device) -> [(&'static str, Value<String>); 3] {
    let netdevs = device.netdevs();
    ASKED.map(|(check, _, aspect, names)| {
        let answer = netdevs.first().map(|netdev| in_words(view, netdev, aspect, &names));
        (check.name, answer.unwrap_or(Value::Absent))
    })
}

fn in_words(view: &View, netdev: &str, aspect: Aspect, names: &[&str]) -> Value<String> {
    ethtool::fields(view.sysroot, netdev, aspect).map(|fields| {
        let shown = names.iter().filter_map(|name| fields.get(*name).map(|value| format!("{name} {value}")));
        shown.collect::<Vec<_>>().join(", ")
    })
}

/// A check, the letter with which `ethtool` shows the same, and the fields that matter.
type Asked = (&'static Check, &'static str, Aspect, [&'static str; 4]);

fn queue(view: &View, device: &Device, (check, letter, aspect, names): Asked) -> Finding {
    let draft = check.about(&device.name);
    let netdevs = device.netdevs();
    let Some(netdev) = netdevs.first() else {
        return draft.not_applicable("the device has no network device");
    };
    let in_words = in_words(view, netdev, aspect, &names);
    let draft = draft.read(format!("ethtool {letter} {netdev}"), &in_words);
    match in_words {
        Value::Known(words) => draft.fine(words),
        other => draft.without("the driver's answer", &other),
    }
}
