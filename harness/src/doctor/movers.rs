//! Daemons that move interrupts behind one's back: irqbalance, and tuned when it switches profiles.

use host::{Value, process::Process};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::View,
};

const IRQBALANCE: Check = Check {
    name: "irqbalance",
    expected: "not running, or stopped, while interrupts are pinned; running again afterwards, and never disabled",
    authority: "irqbalance's source (it looks every 10 s); measured: it replaces what was written once loads shift or it is told to",
    matters: &[Matters::EventMode, Matters::TcpOnly],
};

/// One finding of all the movers.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    vec![movers(view)]
}

fn movers(view: &View) -> Finding {
    let draft = IRQBALANCE.about(HOST);
    let Value::Known(daemons) = &view.daemons else { return draft.without("processes", &view.daemons) };
    let movers: Vec<&Process> = daemons.iter().filter(|daemon| daemon.name != "lldpad").collect();
    let draft = movers.iter().fold(draft, |draft, process| {
        let state = if process.is_stopped() { "stopped" } else { "running" };
        draft.seen(format!("/proc/{}/stat", process.pid), format!("{} ({state})", process.name))
    });
    let running: Vec<&str> =
        movers.iter().filter(|process| !process.is_stopped()).map(|process| process.name.as_str()).collect();
    match (view.daemon("irqbalance"), running.as_slice()) {
        (Some(process), _) if process.is_stopped() => draft
            .remedy(format!("if no tuning is in force (`rdma-harness tune status`): kill -CONT {}", process.pid))
            .note(format!("irqbalance (pid {}) is stopped: someone paused it", process.pid)),
        (Some(process), _) => draft
            .remedy(
                "for one run, the knob irqbalance of a tuning profile pauses it (`rdma-harness tune plan PROFILE`);\n\
                 by hand: systemctl stop irqbalance, and systemctl start irqbalance afterwards",
            )
            .warning(format!(
                "irqbalance (pid {}) runs and may move interrupts every 10 s: what is pinned may not stay",
                process.pid
            )),
        (None, []) => draft.seen("/proc/*/comm", "no irqbalance").fine("nothing moves interrupts"),
        (None, others) => {
            draft.note(format!("{} runs: it rewrites settings when its profile changes", others.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, Note, Warning};

    use crate::doctor::planted::Planted;

    #[test]
    fn irqbalance_running_stopped_and_absent_are_three_things() {
        let host = Planted::on("two-socket-mlx5");
        assert_eq!(host.says("irqbalance", "host").0, Warning);
        let stat = std::fs::read_to_string(host.root().path("/proc/812/stat")).expect("a stat");
        let stopped = host.with("/proc/812/stat", &stat.replacen(") S ", ") T ", 1));
        let finding = stopped.finding("irqbalance", "host");
        assert_eq!(finding.severity, Note);
        assert!(finding.remedy.ends_with("kill -CONT 812"), "{}", finding.remedy);
        assert_eq!(stopped.without("/proc/812").says("irqbalance", "host").0, Fine);
    }
}
