//! Sysctls that guides for RoCE tell one to set. They belong to the kernel's sockets: on an HCA none of them is more than
//! a note, and what is judged is this kernel's value, not a default of some other.

use host::{Value, softnet, sysctl};
use schema::{Finding, Matters};

use super::{
    check::{Check, Draft, HOST},
    view::{Kind, View},
};

/// A sysctl, the value guides give it, and what it is.
struct Socket {
    name: &'static str,
    /// As guides for RoCE write it.
    advised: &'static str,
    what: &'static str,
    /// What a value means that is worth a note.
    note: fn(&str) -> Option<&'static str>,
    /// What turns it back to the kernel's choice where it is worth a note; empty if nothing.
    usual: &'static str,
}

const CHECK: Check = Check {
    name: "sysctl",
    expected: "this kernel's own value",
    authority: "kernel documentation (admin-guide/sysctl/net.rst, networking/ip-sysctl.rst): limits of sockets, which verbs on an HCA do not use",
    matters: &[Matters::TcpOnly],
};

fn nothing(_: &str) -> Option<&'static str> {
    None
}

const SOCKETS: [Socket; 12] = [
    Socket {
        name: "net.core.rmem_max",
        advised: "134217728",
        what: "bytes an SO_RCVBUF may ask for; TCP's own tuning is limited by tcp_rmem",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.core.wmem_max",
        advised: "134217728",
        what: "bytes an SO_SNDBUF may ask for",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.core.rmem_default",
        advised: "262144",
        what: "receive buffer of sockets other than TCP, in bytes",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.core.wmem_default",
        advised: "262144",
        what: "send buffer of sockets other than TCP, in bytes",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.ipv4.tcp_rmem",
        advised: "4096 87380 134217728",
        what: "least, first and largest receive buffer of a TCP socket, in bytes",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.ipv4.tcp_wmem",
        advised: "4096 65536 134217728",
        what: "least, first and largest send buffer of a TCP socket, in bytes",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.ipv4.tcp_window_scaling",
        advised: "1",
        what: "windows of more than 64 KiB",
        note: |value| (value == "0").then_some("off: a TCP connection has at most 64 KiB on its way"),
        usual: "1",
    },
    Socket {
        name: "net.core.netdev_max_backlog",
        advised: "50000",
        what: "packets waiting per CPU behind RPS, loopback and drivers without NAPI; not the NIC's ring",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.core.somaxconn",
        advised: "65535",
        what: "connections waiting for accept, per listening socket",
        note: nothing,
        usual: "",
    },
    Socket {
        name: "net.ipv4.tcp_timestamps",
        advised: "0",
        what: "timestamps of TCP, by which it knows old segments",
        note: |value| {
            (value == "0").then_some(
                "off: TCP cannot tell old segments once its numbers wrap, after 0.34 s at 100 Gb/s",
            )
        },
        usual: "1",
    },
    Socket {
        name: "net.ipv4.tcp_tw_reuse",
        advised: "1",
        what: "whether outgoing connections may take a port in TIME-WAIT; 2 is for loopback alone",
        note: |value| {
            (value == "1").then_some("on for every address, which the kernel's documentation advises against")
        },
        usual: "2",
    },
    Socket {
        name: "net.ipv4.tcp_ecn",
        advised: "1",
        what: "ECN of TCP; an HCA marks its own packets",
        note: nothing,
        usual: "",
    },
];

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SOCKETS.iter().map(|socket| socket.name)
}

/// One finding each.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    SOCKETS.iter().map(|socket| finding(view, socket)).collect()
}

fn finding(view: &View, socket: &Socket) -> Finding {
    let value = sysctl::read(view.sysroot, socket.name);
    let path = sysctl::path(socket.name).unwrap_or_default();
    let draft = CHECK
        .about(HOST)
        .named(format!("sysctl.{}", socket.name))
        .expect(format!(
            "this kernel's own value, more only for TCP whose bandwidth x delay asks for it; it is {}",
            socket.what
        ))
        .read(&path, &value);
    let scope = if view.sysroot.is_read_only(&path) { ", read-only in this network namespace" } else { "" };
    let draft =
        if view.has(Kind::SoftIwarp) { draft.matters(&[Matters::TcpOnly, Matters::DataPath]) } else { draft };
    match &value {
        Value::Known(text) => judge(view, draft, socket, &sysctl::normalised(text), scope),
        Value::Absent => draft.not_applicable("this network namespace (or kernel) has no such sysctl"),
        _ => draft.without(socket.name, &value),
    }
}

fn judge(view: &View, draft: Draft, socket: &Socket, value: &str, scope: &str) -> Finding {
    if socket.name == "net.core.netdev_max_backlog"
        && let Some(dropped) = backlog_drops(view).filter(|dropped| *dropped > 0)
    {
        let draft = draft.seen("/proc/net/softnet_stat, second column", dropped);
        let summary = format!("{value}; {dropped} packets found the backlog full since boot");
        return if view.has(Kind::SoftRoce) {
            draft.matters(&[Matters::TcpOnly, Matters::DataPath]).warning(summary)
        } else {
            draft.note(summary)
        };
    }
    if let Some(note) = (socket.note)(value) {
        return draft
            .remedy(format!("sysctl -w {}={}", socket.name, socket.usual))
            .note(format!("{value}: {note}; RDMA does not see it"));
    }
    draft.fine(format!("{value}{scope}; {} (TCP only)", advice(socket.advised, value)))
}

/// What following the guides would do to this kernel's value.
fn advice(advised: &str, value: &str) -> String {
    let last = |text: &str| text.split_whitespace().last().and_then(|word| word.parse::<u64>().ok());
    let effect = match (last(advised), last(value)) {
        _ if advised == value => {
            return "guides for RoCE say the same".into();
        }
        // A switch is neither higher nor lower.
        (Some(0..=2), _) => "make it",
        (Some(theirs), Some(ours)) if theirs < ours => "lower it to",
        (Some(theirs), Some(ours)) if theirs > ours => "raise it to",
        _ => "make it",
    };
    format!("guides for RoCE would {effect} {advised}")
}

/// Packets that found the backlog of a CPU full, since boot.
fn backlog_drops(view: &View) -> Option<u64> {
    Some(softnet::read(view.sysroot).known()?.iter().map(|cpu| cpu.dropped).sum())
}

#[cfg(test)]
mod tests {
    use schema::{
        Matters,
        Severity::{Fine, NotApplicable, Note, Warning},
    };

    use super::SOCKETS;
    use crate::doctor::planted::Planted;

    #[test]
    fn whatever_they_are_set_to_they_are_at_most_a_note_and_matter_to_tcp_alone() {
        let mut host = Planted::on("two-socket-mlx5");
        for (name, value) in
            [("ipv4/tcp_timestamps", "0"), ("ipv4/tcp_tw_reuse", "1"), ("core/rmem_max", "1000")]
        {
            host = host.with(&format!("/proc/sys/net/{name}"), value);
        }
        for socket in &SOCKETS {
            let finding = host.finding(&format!("sysctl.{}", socket.name), "host");
            assert!(matches!(finding.severity, Fine | Note), "{finding:?}");
            assert_eq!(finding.matters, [Matters::TcpOnly], "{finding:?}");
        }
        let timestamps = host.finding("sysctl.net.ipv4.tcp_timestamps", "host");
        assert_eq!(
            (timestamps.severity, timestamps.remedy.as_str()),
            (Note, "sysctl -w net.ipv4.tcp_timestamps=1")
        );
    }

    #[test]
    fn what_guides_say_is_held_against_this_kernel() {
        let large = Planted::on("two-socket-mlx5").with("/proc/sys/net/core/rmem_max", "268435456\n");
        assert_eq!(
            large.says("sysctl.net.core.rmem_max", "host"),
            (Fine, "268435456; guides for RoCE would lower it to 134217728 (TCP only)".into())
        );
    }

    #[test]
    fn a_namespace_has_some_read_only_and_others_not_at_all() {
        let pod = Planted::on("netns-readonly");
        let (severity, summary) = pod.says("sysctl.net.core.rmem_max", "host");
        assert_eq!(severity, Fine);
        assert!(summary.contains("read-only in this network namespace"), "{summary}");
        assert_eq!(pod.says("sysctl.net.core.netdev_max_backlog", "host").0, NotApplicable);
        assert!(!pod.says("sysctl.net.ipv4.tcp_rmem", "host").1.contains("read-only"));
    }

    #[test]
    fn a_full_backlog_costs_a_software_device_and_is_a_note_for_an_adapter() {
        let line = format!(
            "{}\n",
            ["0000000a", "00000003"].iter().copied().chain(["00000000"; 13]).collect::<Vec<_>>().join(" ")
        );
        let check = "sysctl.net.core.netdev_max_backlog";
        let rxe = Planted::on("guest-rxe").with("/proc/net/softnet_stat", &line);
        assert_eq!(
            rxe.says(check, "host"),
            (Warning, "1000; 3 packets found the backlog full since boot".into())
        );
        assert_eq!(
            Planted::on("two-socket-mlx5").with("/proc/net/softnet_stat", &line).says(check, "host").0,
            Note
        );
    }
}
