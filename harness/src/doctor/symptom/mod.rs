//! From a symptom to its likely cause: questions in the order in which their answers are likely to explain it, each answered
//! by what the host says.
//!
//! Most answers are findings of the audit, held against how bad they must be to explain this symptom. What no finding
//! answers has a file of its own.

mod bandwidth;
mod driver_load;
mod log;
mod loss;
mod questions;

use std::{fmt, str::FromStr};

use host::Sysroot;
use schema::{Diagnosis, Finding, SCHEMA_VERSION, Severity, Step};

use super::{
    Devices, DoctorError, HOST, findings,
    view::{Device, View},
};

/// What someone sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symptom {
    /// A port is not active.
    PortDown,
    /// Less bandwidth than the link should carry.
    LowBandwidth,
    /// More latency, or more of it at the tail, than the NIC should have.
    HighLatency,
    /// The driver does not load, or there is no RDMA device.
    DriverLoad,
    /// TCP got slower since RoCE runs beside it.
    TcpLatencyWithRoce,
}

impl Symptom {
    /// All of them.
    pub const ALL: [Symptom; 5] = [
        Symptom::PortDown,
        Symptom::LowBandwidth,
        Symptom::HighLatency,
        Symptom::DriverLoad,
        Symptom::TcpLatencyWithRoce,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Symptom::PortDown => "port-down",
            Symptom::LowBandwidth => "low-bandwidth",
            Symptom::HighLatency => "high-latency",
            Symptom::DriverLoad => "driver-load",
            Symptom::TcpLatencyWithRoce => "tcp-latency-with-roce",
        }
    }
}

impl FromStr for Symptom {
    type Err = DoctorError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = || Symptom::ALL.map(Symptom::name).join(", ");
        let found = Symptom::ALL.into_iter().find(|symptom| symptom.name() == name);
        found.ok_or_else(|| DoctorError::NoSymptom { name: name.to_owned(), known: known() })
    }
}

impl fmt::Display for Symptom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Looks for the cause of a symptom, for each device, or for the host where the symptom is that there is none.
///
/// # Errors
/// The folder holds no host, or the host has no such device.
pub fn diagnose(
    sysroot: &Sysroot,
    device: Option<&str>,
    symptom: Symptom,
) -> Result<Vec<Diagnosis>, DoctorError> {
    let view = View::of(sysroot, &Devices::named(device))?;
    if symptom == Symptom::DriverLoad {
        return Ok(vec![conclude(symptom, HOST, driver_load::steps(&view))]);
    }
    if view.devices.is_empty() {
        return Ok(vec![without_device(symptom)]);
    }
    let findings = findings(&view);
    let of_device =
        |device: &Device| conclude(symptom, &device.name, steps(&view, device, &findings, symptom));
    Ok(view.devices.iter().map(of_device).collect())
}

fn steps(view: &View, device: &Device, findings: &[Finding], symptom: Symptom) -> Vec<Step> {
    let mut steps = Vec::new();
    for question in questions::of(symptom) {
        match question {
            questions::Question::Checks { asked, checks, from } => {
                steps.push(by_findings(device, findings, asked, checks, *from));
            }
            questions::Question::Log => steps.push(log::step(view, device)),
            questions::Question::Loss => steps.push(loss::step(view, device)),
            questions::Question::Software => steps.push(bandwidth::software(device)),
            questions::Question::Ceiling => steps.push(bandwidth::ceiling(view, device)),
            questions::Question::Innocent { asked, answer } => steps.push(innocent(asked, answer)),
        }
    }
    steps
}

/// The worst of the findings of these checks, of the device or of the host, answers.
fn by_findings(device: &Device, findings: &[Finding], asked: &str, checks: &[&str], from: Severity) -> Step {
    let concerns = |finding: &&Finding| {
        let of_device = finding.subject.split('/').next() == Some(device.name.as_str());
        checks.contains(&finding.check.as_str()) && (of_device || finding.subject == HOST)
    };
    let asked_of: Vec<&Finding> = findings.iter().filter(concerns).collect();
    // The first of the worst, so that of equals the one that is asked for first speaks.
    let worst =
        asked_of.iter().copied().reduce(|a, b| if badness(b.severity) > badness(a.severity) { b } else { a });
    let Some(worst) = worst else { return innocent(asked, "there is nothing to ask here") };
    let readings = asked_of.iter().flat_map(|finding| finding.readings.clone()).collect();
    let unseen = asked_of.iter().all(|finding| finding.severity == Severity::Unknown);
    let explains = match badness(worst.severity) >= badness(from) {
        true => Some(true),
        false if unseen => None,
        false => Some(false),
    };
    Step {
        asked: asked.to_owned(),
        readings,
        verdict: format!("{}: {}", worst.check, worst.summary),
        explains,
        next: if explains == Some(true) { worst.remedy.clone() } else { String::new() },
    }
}

/// What cannot be seen is no cause, and no acquittal.
fn badness(severity: Severity) -> u8 {
    match severity {
        Severity::Wrong => 4,
        Severity::Warning => 3,
        Severity::Note => 2,
        Severity::Fine | Severity::NotApplicable => 1,
        Severity::Unknown => 0,
    }
}

fn innocent(asked: &str, answer: &str) -> Step {
    Step {
        asked: asked.to_owned(),
        readings: Vec::new(),
        verdict: answer.to_owned(),
        explains: Some(false),
        next: String::new(),
    }
}

fn conclude(symptom: Symptom, subject: &str, steps: Vec<Step>) -> Diagnosis {
    let causes: Vec<&Step> = steps.iter().filter(|step| step.explains == Some(true)).collect();
    let unseen = steps.iter().filter(|step| step.explains.is_none()).count();
    let (conclusion, next) = match causes.as_slice() {
        [] if unseen == 0 => ("nothing here explains it".to_owned(), elsewhere(symptom).to_owned()),
        [] => (
            format!("nothing here explains it, and {unseen} of the questions could not be answered"),
            format!("ask again as root; then {}", elsewhere(symptom)),
        ),
        [first, others @ ..] => (most_likely(symptom, first, others), first.next.clone()),
    };
    Diagnosis {
        schema_version: SCHEMA_VERSION,
        symptom: symptom.name().to_owned(),
        subject: subject.to_owned(),
        found: !causes.is_empty(),
        conclusion,
        next,
        steps,
    }
}

fn most_likely(symptom: Symptom, first: &Step, others: &[&Step]) -> String {
    let beside = match others.len() {
        0 => String::new(),
        1 => "; one more of the steps may add to it".to_owned(),
        count => format!("; {count} more of the steps may add to it"),
    };
    let about_pfc = if symptom == Symptom::PortDown { "; PFC and ECN do not take a port down" } else { "" };
    format!("most likely {}{beside}{about_pfc}", first.verdict)
}

/// Where to look when the host is not it.
fn elsewhere(symptom: Symptom) -> &'static str {
    match symptom {
        Symptom::PortDown => "look at the switch's port, and with `ip monitor link` at when it happens",
        Symptom::LowBandwidth => {
            "ask the peer's host the same, and measure with several QPs and messages of 64 KiB: a window that is too small \
             is no fault of the host"
        }
        Symptom::HighLatency => {
            "ask the peer's host the same, and compare a run by polling with one by events: the difference is the host's"
        }
        Symptom::DriverLoad => "the driver works; for a port that does not, `--symptom port-down`",
        Symptom::TcpLatencyWithRoce => "look at the switch: buffers and priorities are shared there too",
    }
}

fn without_device(symptom: Symptom) -> Diagnosis {
    Diagnosis {
        schema_version: SCHEMA_VERSION,
        symptom: symptom.name().to_owned(),
        subject: HOST.to_owned(),
        steps: Vec::new(),
        found: true,
        conclusion: "this host has no RDMA device, so there is no port to ask about".into(),
        next: "rdma-harness doctor --symptom driver-load".into(),
    }
}
