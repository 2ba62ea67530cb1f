//! Which priority RoCE travels in, whether it is lossless there, who decides that, and what happens under congestion.
//!
//! None of it takes a port down, and between two hosts on an idle fabric none of it changes a number; under congestion all
//! of it does. It is read and never written by an audit: a change of PFC flaps the link.

use host::{
    Aspect, Fields, Value,
    dcb::{self, Dcb},
    ethtool,
};
use schema::{Finding, Matters};

use super::{
    check::{Check, Draft},
    view::{Device, Port, View},
};

const CONGESTION: &[Matters] = &[Matters::DataPath, Matters::EventMode];

const TRUST: Check = Check {
    name: "trust",
    expected: "dscp, where RoCE is to have a priority of its own without VLAN tags; any where it need not",
    authority: "NVIDIA's RoCE documentation; mlx5 trusts DSCP once DCB has an entry for one",
    matters: CONGESTION,
};

const TOS: Check = Check {
    name: "tos",
    expected: "no override: each QP has the traffic class that the run gives it",
    authority: "kernel documentation (ABI/testing/configfs-rdma_cm: default_roce_tos); MLNX_OFED's tc override",
    matters: CONGESTION,
};

const PFC: Check = Check {
    name: "pfc",
    expected: "on for the one priority that carries RoCE where the fabric is to be lossless, and the same on the switch; off otherwise",
    authority: "IEEE 802.1Qbb; NVIDIA's RoCE documentation",
    matters: CONGESTION,
};

const PAUSE: Check = Check {
    name: "global-pause",
    expected: "off in both directions where RoCE is measured, and never together with PFC",
    authority: "NVIDIA's flow-control documentation: disable it before PFC is enabled; it stops all traffic, and no counter of drops shows it",
    matters: CONGESTION,
};

const DCBX: Check = Check {
    name: "dcbx",
    expected: "decided by the host, with no lldpad, where PFC and trust are set from here",
    authority: "iproute2's dcb-dcbx(8); lldpad's documentation: it may overwrite what is set",
    matters: CONGESTION,
};

const DCQCN: Check = Check {
    name: "dcqcn",
    expected: "reaction and notification point on for the priority of RoCE; parameters as the vendor set them",
    authority: "NVIDIA's ECN documentation; the kernel's mlx5 debugfs cc_params",
    matters: CONGESTION,
};

/// Six findings a port.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let pairs = view.devices.iter().flat_map(|device| device.ports.iter().map(move |port| (device, port)));
    pairs.flat_map(|(device, port)| of_port(view, device, port)).collect()
}

fn of_port(view: &View, device: &Device, port: &Port) -> Vec<Finding> {
    let sight = match Sight::of(view, device, port) {
        Ok(sight) => sight,
        Err(why) => {
            return [&TRUST, &TOS, &PFC, &PAUSE, &DCBX, &DCQCN]
                .map(|check| check.about(&device.with(port)).not_applicable(why))
                .into();
        }
    };
    vec![sight.trust(), sight.tos(), sight.pfc(), sight.global_pause(), sight.dcbx(), sight.dcqcn()]
}

/// A port's trust, PFC and pause in words; none of what is not known, or has no place on it.
pub(super) fn in_words(view: &View, device: &Device, port: &Port) -> [Option<String>; 3] {
    let Ok(sight) = Sight::of(view, device, port) else { return [None, None, None] };
    let or_off = |on: Vec<String>| if on.is_empty() { "off".to_owned() } else { on.join(", ") };
    let pfc = sight.lossless().map(|priorities| or_off(priorities.iter().map(u8::to_string).collect()));
    let pause = sight.paused().map(|sides| or_off(sides.into_iter().map(str::to_owned).collect()));
    [sight.trusted().known(), pfc, pause]
}

/// A port with what its driver says.
struct Sight<'s> {
    view: &'s View<'s>,
    device: &'s Device,
    port: &'s Port,
    subject: String,
    netdev: &'s str,
    dcb: Value<Dcb>,
    pause: Value<Fields>,
}

impl<'s> Sight<'s> {
    /// Looks at a port, or says why there is nothing to be seen.
    fn of(view: &'s View<'s>, device: &'s Device, port: &'s Port) -> Result<Sight<'s>, &'static str> {
        if let Some(why) = device.why_software() {
            return Err(why);
        }
        if !port.ethernet {
            return Err("an InfiniBand port: it has credits, not pause frames");
        }
        let netdev = port.netdevs.first().ok_or("the port has no network device")?;
        Ok(Sight {
            view,
            device,
            port,
            subject: device.with(port),
            netdev,
            dcb: dcb::read(view.sysroot, netdev),
            pause: ethtool::fields(view.sysroot, netdev, Aspect::Pause),
        })
    }

    /// The directions with 802.3x pause; none where that is not known.
    fn paused(&self) -> Option<Vec<&'static str>> {
        let fields = self.pause.as_ref().known()?;
        Some(["rx", "tx"].into_iter().filter(|side| fields.get(*side) == Some(&1)).collect())
    }

    /// Priorities with PFC; none where that is not known.
    fn lossless(&self) -> Option<&[u8]> {
        match &self.dcb {
            Value::Known(Dcb { pfc: Some(pfc), .. }) => Some(&pfc.enabled),
            _ => None,
        }
    }

    /// Who decides what is set: `dscp` or `pcp`, by MLNX_OFED's file or by DCB's table.
    fn trusted(&self) -> Value<String> {
        let file = self.view.sysroot.read(self.ofed("qos/trust"));
        match (file, &self.dcb) {
            (Value::Absent, Value::Known(dcb)) => {
                let by_dscp = dcb.apps.iter().any(|app| app.selector == "dscp");
                Value::Known(if by_dscp { "dscp" } else { "pcp" }.to_owned())
            }
            (Value::Absent, other) => other.as_ref().map(|_| String::new()),
            (found, _) => found,
        }
    }

    fn ofed(&self, attribute: &str) -> String {
        format!("/sys/class/net/{}/{attribute}", self.netdev)
    }

    fn trust(&self) -> Finding {
        let trusted = self.trusted();
        let table = self.dcb.as_ref().map(|dcb| {
            let entries = dcb
                .apps
                .iter()
                .map(|app| format!("{} {} to priority {}", app.selector, app.protocol, app.priority));
            let entries: Vec<String> = entries.collect();
            if entries.is_empty() { "no entries".to_owned() } else { entries.join(", ") }
        });
        let draft = TRUST
            .about(&self.subject)
            .read(self.ofed("qos/trust"), &self.view.sysroot.read(self.ofed("qos/trust")))
            .read(format!("dcb app show dev {}", self.netdev), &table);
        let Value::Known(trusted) = &trusted else { return draft.without("trust", &trusted) };
        let elsewhere: Vec<u8> =
            self.lossless().unwrap_or_default().iter().copied().filter(|p| *p != 0).collect();
        let remedy = format!(
            "mlnx_qos -i {0} --trust dscp, or: dcb app add dev {0} dscp-prio 26:3 (the driver then trusts DSCP)",
            self.netdev
        );
        match (trusted.as_str(), elsewhere.as_slice()) {
            ("dscp", _) => draft.fine("dscp: the traffic class of a QP chooses its priority"),
            (other, []) => draft
                .note(format!("{other}: RoCE without a VLAN tag travels in priority 0, as everything does")),
            (other, lossless) => draft.remedy(remedy).warning(format!(
                "{other}: RoCE without a VLAN tag travels in priority 0, and PFC protects {lossless:?}"
            )),
        }
    }

    fn tos(&self) -> Finding {
        let number = self.port.number;
        let device = &self.device.name;
        let forced_at = format!("/sys/class/infiniband/{device}/tc/{number}/traffic_class");
        let cm_at = format!("/sys/kernel/config/rdma_cm/{device}/ports/{number}/default_roce_tos");
        let forced = self.view.sysroot.read(&forced_at);
        let of_cm = self.view.sysroot.read(&cm_at);
        let draft = TOS.about(&self.subject).read(&forced_at, &forced).read(cm_at, &of_cm);
        let class = match &forced {
            Value::Known(text) => forced_class(text),
            _ => None,
        };
        match (class, &of_cm) {
            (Some(class), _) => draft.remedy(format!("echo -1 > {forced_at}")).warning(format!(
                "MLNX_OFED gives every QP traffic class {class} (DSCP {}), whatever a run asks for",
                class >> 2
            )),
            (None, Value::Known(tos)) if tos != "0" => draft.note(format!(
                "rdma_cm gives connections ToS {tos}; QPs that are connected without it keep their own"
            )),
            _ => draft.fine("no override"),
        }
    }

    fn pfc(&self) -> Finding {
        let found = self.dcb.as_ref().and_then(|dcb| match &dcb.pfc {
            Some(pfc) => Value::Known(format!("priorities {:?}", pfc.enabled)),
            None => Value::NotApplicable("the driver has no PFC".into()),
        });
        let draft = PFC.about(&self.subject).read(format!("dcb pfc show dev {}", self.netdev), &found);
        let Some(enabled) = self.lossless() else { return draft.without("PFC", &found) };
        match enabled {
            [] => draft.note("off: RoCE is lossy here, which is of no account until the fabric is congested"),
            [0] => draft.warning(
                "on for priority 0, which everything without a priority shares: TCP is paused with RoCE",
            ),
            [one] => draft.fine(format!("on for priority {one}; the switch must have the same")),
            several => {
                draft.note(format!("on for {several:?}: each takes buffer, and one is enough for RoCE"))
            }
        }
    }

    fn global_pause(&self) -> Finding {
        let words = self.pause.as_ref().map(|fields| {
            let shown = fields.iter().map(|(name, value)| format!("{name} {value}"));
            shown.collect::<Vec<_>>().join(", ")
        });
        let draft = PAUSE.about(&self.subject).read(format!("ethtool -a {}", self.netdev), &words);
        let Some(on) = self.paused() else { return draft.without("802.3x pause", &self.pause) };
        let draft = if on.is_empty() {
            draft
        } else {
            draft.remedy(format!(
                "with the knob global_pause of a tuning profile (disruptive), or: ethtool -A {} rx off tx off; the link may flap",
                self.netdev
            ))
        };
        let sides = on.join(" and ");
        match (on.as_slice(), self.lossless()) {
            ([], _) => draft.fine("off"),
            (_, Some([])) | (_, None) => draft.warning(format!(
                "on ({sides}): a slow receiver anywhere stops the whole link, and nothing is counted as dropped"
            )),
            (_, Some(enabled)) => draft.wrong(format!("on ({sides}) together with PFC on {enabled:?}: they exclude each other")),
        }
    }

    fn dcbx(&self) -> Finding {
        let found = self.dcb.as_ref().and_then(|dcb| match &dcb.dcbx {
            Some(dcbx) if dcbx.host => Value::Known("host"),
            Some(_) => Value::Known("firmware"),
            None => Value::NotApplicable("the driver has no DCBX".into()),
        });
        let lldpad = self.view.daemon("lldpad");
        let draft = DCBX.about(&self.subject).read(format!("dcb dcbx show dev {}", self.netdev), &found);
        let draft = match lldpad {
            Some(process) => draft.seen(format!("/proc/{}/comm", process.pid), "lldpad"),
            None => draft,
        };
        match (&found, lldpad) {
            (Value::Known("host"), Some(process)) => draft.note(format!(
                "decided by the host, where lldpad (pid {}) may overwrite what is set",
                process.pid
            )),
            (Value::Known("host"), None) => draft.fine("decided by the host"),
            (Value::Known(_), _) => {
                draft.note("decided by the firmware: what is written here is overruled by what it negotiates")
            }
            (other, _) => draft.without("DCBX", other),
        }
    }

    fn dcqcn(&self) -> Finding {
        let draft = DCQCN.about(&self.subject);
        if matches!(&self.device.driver, Value::Known(driver) if !driver.starts_with("mlx5")) {
            return draft.not_applicable("this driver shows no parameters of it");
        }
        let enabled = ["roce_rp", "roce_np"].map(|point| (point, self.enabled(point)));
        if let [(_, Value::Known(reaction)), (_, Value::Known(notification))] = &enabled {
            let draft = draft
                .seen(self.ofed("ecn/roce_rp/enable/*"), format!("{reaction:?}"))
                .seen(self.ofed("ecn/roce_np/enable/*"), format!("{notification:?}"))
                .read(
                    self.ofed("ecn/roce_np/cnp_dscp"),
                    &self.view.sysroot.read(self.ofed("ecn/roce_np/cnp_dscp")),
                );
            let missing = |enabled: &[u8]| (0..8).any(|priority| !enabled.contains(&priority));
            return if missing(reaction) || missing(notification) {
                draft.note(format!(
                    "reaction point on for {reaction:?}, notification point for {notification:?}"
                ))
            } else {
                draft.fine("reaction and notification point on for every priority")
            };
        }
        self.upstream_parameters(draft)
    }

    /// Priorities for which MLNX_OFED has a point enabled.
    fn enabled(&self, point: &str) -> Value<Vec<u8>> {
        let folder = self.ofed(&format!("ecn/{point}/enable"));
        self.view.sysroot.list(&folder).map(|names| {
            let is_on = |name: &&String| {
                self.view.sysroot.read(format!("{folder}/{name}")) == Value::Known("1".into())
            };
            names.iter().filter(is_on).filter_map(|name| name.parse().ok()).collect()
        })
    }

    fn upstream_parameters(&self, draft: Draft) -> Finding {
        let folder = format!("/sys/kernel/debug/mlx5/{}/cc_params", self.device.address());
        let names = self.view.sysroot.list(&folder);
        match &names {
            Value::Known(names) => {
                let read = |draft: Draft, name: &String| {
                    let path = format!("{folder}/{name}");
                    let value = self.view.sysroot.read(&path);
                    draft.read(path, &value)
                };
                let draft = names.iter().fold(draft, read);
                draft.fine(format!("{} parameters recorded; which priorities have it is the firmware's (nvconfig ROCE_CC_PRIO_MASK)", names.len()))
            }
            Value::Absent => draft
                .read(&folder, &names.as_ref().map(|_| ""))
                .remedy("as root, with debugfs mounted: mount -t debugfs none /sys/kernel/debug")
                .unknown("its parameters are in debugfs, which is not mounted or not this driver's"),
            other => draft
                .read(&folder, &other.as_ref().map(|_| ""))
                .remedy("read it as root")
                .without("parameters of DCQCN", other),
        }
    }
}

/// `Global tclass=106`, or the bare number; 0 and -1 are no override.
fn forced_class(text: &str) -> Option<u8> {
    let number = text.rsplit('=').next()?.trim();
    number.parse().ok().filter(|class| *class != 0)
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Warning, Wrong};

    use super::forced_class;
    use crate::doctor::planted::Planted;

    const DCB: &str = "/.recorded/dcb/ens2np0.json";

    fn with_pfc(enabled: &str) -> Planted {
        let dcb = format!(
            r#"{{"pfc": {{"classes": 8, "enabled": {enabled}}}, "dcbx": {{"host": true, "lld_managed": false, "cee": false, "ieee": true, "static": false}}}}"#
        );
        Planted::on("two-socket-mlx5").with(DCB, &dcb)
    }

    #[test]
    fn pause_without_pfc_stops_the_link_and_with_pfc_it_is_wrong() {
        let without = Planted::on("two-socket-mlx5").finding("global-pause", "mlx5_1");
        assert_eq!(without.severity, Warning);
        assert!(without.remedy.contains("ethtool -A ens2np0 rx off tx off"), "{}", without.remedy);
        assert_eq!(with_pfc("[3]").says("global-pause", "mlx5_1").0, Wrong);
        assert_eq!(Planted::on("two-socket-mlx5").says("global-pause", "mlx5_0").0, Fine);
    }

    #[test]
    fn trust_of_tags_costs_where_another_priority_is_the_lossless_one() {
        let finding = with_pfc("[3]").finding("trust", "mlx5_1");
        assert_eq!(finding.severity, Warning);
        assert!(finding.remedy.contains("mlnx_qos -i ens2np0 --trust dscp"), "{}", finding.remedy);
        assert_eq!(Planted::on("two-socket-mlx5").says("trust", "mlx5_1").0, Note);
        assert_eq!(Planted::on("two-socket-mlx5").says("trust", "mlx5_0").0, Fine);
    }

    #[test]
    fn without_the_file_of_mlnx_ofed_the_table_of_dcb_says_what_is_trusted() {
        let inbox = Planted::on("two-socket-mlx5").without("/sys/class/net/ens1np0/qos/trust");
        assert_eq!(inbox.says("trust", "mlx5_0").0, Fine, "DSCP 26 goes to priority 3");
        let neither = inbox.without("/.recorded/dcb/ens1np0.json");
        assert_eq!(neither.says("trust", "mlx5_0").0, NotApplicable);
        assert_eq!(neither.says("pfc", "mlx5_0").0, NotApplicable);
    }

    #[test]
    fn one_priority_is_right_none_is_lossy_and_that_of_everything_pauses_tcp() {
        assert_eq!(with_pfc("[3]").says("pfc", "mlx5_1").0, Fine);
        assert_eq!(with_pfc("[]").says("pfc", "mlx5_1").0, Note);
        assert_eq!(with_pfc("[0]").says("pfc", "mlx5_1").0, Warning);
        assert_eq!(with_pfc("[3, 4]").says("pfc", "mlx5_1").0, Note);
    }

    #[test]
    fn firmware_and_lldpad_overrule_what_is_written() {
        assert_eq!(Planted::on("two-socket-mlx5").says("dcbx", "mlx5_1").0, Note, "firmware");
        assert_eq!(with_pfc("[]").says("dcbx", "mlx5_1").0, Fine);
        let stat = "77 (lldpad) S 1 77 77 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1234 100 5";
        let daemon = with_pfc("[]").with("/proc/77/comm", "lldpad\n").with("/proc/77/stat", stat);
        let (severity, summary) = daemon.says("dcbx", "mlx5_1");
        assert!(severity == Note && summary.contains("lldpad (pid 77)"), "{summary}");
    }

    #[test]
    fn a_traffic_class_forced_on_every_qp_is_found() {
        let (severity, summary) = Planted::on("two-socket-mlx5").says("tos", "mlx5_1");
        assert!(severity == Warning && summary.contains("traffic class 106 (DSCP 26)"), "{summary}");
        let tos = "/sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos";
        assert_eq!(Planted::on("two-socket-mlx5").with(tos, "104\n").says("tos", "mlx5_0").0, Note);
    }

    #[test]
    fn points_that_are_off_for_a_priority_are_told() {
        let off = Planted::on("two-socket-mlx5").with("/sys/class/net/ens1np0/ecn/roce_np/enable/3", "0\n");
        let (severity, summary) = off.says("dcqcn", "mlx5_0");
        assert!(
            severity == Note && summary.ends_with("notification point for [0, 1, 2, 4, 5, 6, 7]"),
            "{summary}"
        );
        let inbox = Planted::on("two-socket-mlx5").without("/sys/class/net/ens1np0/ecn");
        let finding = inbox.finding("dcqcn", "mlx5_0");
        assert!(finding.summary.starts_with("22 parameters recorded"), "{}", finding.summary);
    }

    #[test]
    fn no_override_is_zero_or_minus_one() {
        assert_eq!(forced_class("Global tclass=106"), Some(106));
        assert_eq!(forced_class("106"), Some(106));
        assert_eq!(
            (forced_class("Global tclass=0"), forced_class("-1"), forced_class("")),
            (None, None, None)
        );
    }
}
