//! Audits of this host, one after the other on a thread of their own: what is asked meanwhile is answered meanwhile.

use std::{
    sync::mpsc::{Sender, channel},
    thread,
};

use host::Sysroot;
use schema::NodeAudit;

use super::{device, protocol::RELEASE};
use crate::doctor::{self, Devices};

/// An audit that is asked for.
pub(super) struct Asked {
    /// The RDMA device as a spec says: `auto`, `soft`, or a name.
    pub(super) device: String,
    /// What this host's verbs-bench says it is; none where there is none.
    pub(super) verbs_bench: Option<String>,
}

/// Starts to audit whatever is asked for; `tell` hears of each. It ends with whoever asks.
pub(super) fn start(sysroot: Sysroot, tell: impl Fn(NodeAudit) + Send + 'static) -> Sender<Asked> {
    let (asks, asked) = channel();
    thread::spawn(move || asked.iter().for_each(|asked| tell(audit(&sysroot, &asked))));
    asks
}

fn audit(sysroot: &Sysroot, asked: &Asked) -> NodeAudit {
    let devices = match (&*asked.device, device::named(sysroot, &asked.device)) {
        ("soft", _) => Devices::None,
        ("auto", None) => Devices::All,
        (name, named) => Devices::One(named.unwrap_or_else(|| name.to_owned())),
    };
    let mut audit = doctor::of_node(sysroot, &devices);
    let programs = [("rdma_harness", Some(RELEASE.to_owned())), ("verbs_bench", asked.verbs_bench.clone())];
    let told = programs.into_iter().filter_map(|(name, version)| Some((name.to_owned(), version?)));
    audit.facts.0.extend(told);
    audit
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use schema::Severity;

    use super::*;

    fn asked(device: &str) -> Asked {
        Asked { device: device.into(), verbs_bench: Some("verbs-bench 1".into()) }
    }

    #[test]
    fn audits_are_told_in_the_order_in_which_they_were_asked_for() {
        let (tell, told) = channel();
        let asks = start(host::testing::fixture("two-socket-mlx5"), move |audit| tell.send(audit).unwrap());
        for device in ["mlx5_0", "auto", "soft", "mlx5_9"] {
            asks.send(asked(device)).unwrap();
        }
        drop(asks);
        let [one, all, none, unknown] = told.iter().collect::<Vec<_>>().try_into().expect("four audits");
        let subjects = |audit: &NodeAudit| {
            let mut subjects: Vec<String> =
                audit.findings.iter().map(|finding| finding.subject.clone()).collect();
            subjects.retain(|subject| subject.starts_with("mlx5"));
            subjects
        };
        assert!(subjects(&one).iter().all(|subject| subject.starts_with("mlx5_0")), "{:?}", subjects(&one));
        assert!(subjects(&all).iter().any(|subject| subject.starts_with("mlx5_1")), "{:?}", subjects(&all));
        assert_eq!(subjects(&none), [""; 0]);
        assert!(
            unknown
                .findings
                .iter()
                .any(|finding| finding.severity == Severity::Wrong && finding.subject == "mlx5_9")
        );
        for audit in [one, all, none, unknown] {
            assert_eq!(audit.facts.0["verbs_bench"], "verbs-bench 1");
            assert_eq!(audit.facts.0["rdma_harness"], RELEASE);
        }
    }
}
