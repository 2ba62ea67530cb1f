//! Tunes the host of an agent: everything planned at the start of the campaign, then a variant turned, verified and turned
//! back as ordered.
//!
//! Between tunings the host must stand as it stood at the start; that is proved before a run that is not to be tuned, and
//! before knobs are turned. What is turned is turned back when this value goes.

use std::{io, path::PathBuf};

use host::Sysroot;
use schema::{KnobRecord, KnobState, Side};

use super::{
    device,
    protocol::{Answer, Part, SideKnob},
};
use crate::tuning::{self, Applied, Plan, Proof, Site};

/// What an agent tunes.
pub(super) struct Tuner {
    sysroot: Sysroot,
    state_dir: Option<PathBuf>,
    ssh_connection: Option<String>,
    /// What each variant turns here.
    variants: Vec<Vec<Part>>,
    proofs: Vec<Proof>,
    applied: Option<Tuned>,
}

/// A variant that is in force.
struct Tuned {
    applied: Applied,
    owners: Owners,
}

/// Which side asked for which target.
#[derive(Default)]
struct Owners(Vec<(Side, KnobRecord)>);

impl Tuner {
    /// Tunes this host, with its journal in `state_dir`, or where it belongs.
    pub(super) fn new(sysroot: Sysroot, state_dir: Option<PathBuf>) -> Self {
        let ssh_connection = std::env::var("SSH_CONNECTION").ok();
        Tuner { sysroot, state_dir, ssh_connection, variants: Vec::new(), proofs: Vec::new(), applied: None }
    }

    /// Plans every variant, and notes how the host stands. Writes nothing but that an old journal is put away.
    pub(super) fn prepare(&mut self, variants: Vec<Vec<Part>>) -> Answer {
        self.variants = variants;
        let parts = || self.variants.iter().flatten();
        let planned = (0..self.variants.len()).try_for_each(|variant| {
            let plan = self.plan(variant)?.0;
            refused(&plan).map_or(Ok(()), Err)
        });
        let fault = planned.and_then(|()| self.refuse_what_is_left()).err();
        let proofs = parts().map(|part| Proof::take(&self.site(part), &[&part.tuning])).collect();
        self.proofs = proofs;
        Answer { knobs: Vec::new(), fault }
    }

    /// Proves that the host stands as it did at the start.
    pub(super) fn prove(&self) -> Answer {
        let mut deviations: Vec<String> =
            self.proofs.iter().flat_map(Proof::check).map(|deviation| deviation.to_string()).collect();
        deviations.sort();
        deviations.dedup();
        let fault = (!deviations.is_empty()).then(|| {
            format!(
                "the host is not as it was when the campaign began: {}; find who changed it (irqbalance, tuned, an administrator), or begin a new campaign",
                deviations.join("; ")
            )
        });
        Answer { knobs: Vec::new(), fault }
    }

    /// Turns a variant's knobs, all or none.
    pub(super) fn tune(&mut self, variant: u32) -> Answer {
        if self.applied.is_some() {
            return Answer::fault("knobs are turned already; restore comes first".into());
        }
        let proof = self.prove();
        if proof.fault.is_some() {
            return proof;
        }
        let tuned = self.plan(variant as usize).and_then(|(plan, owners)| {
            let site = self.any_site();
            tuning::apply(&site, plan)
                .map(|applied| Tuned { applied, owners })
                .map_err(|error| error.to_string())
        });
        match tuned {
            Ok(tuned) => {
                let knobs = tuned.owners.knobs(tuned.applied.records());
                self.applied = Some(tuned);
                Answer { knobs, fault: None }
            }
            Err(fault) => Answer::fault(fault),
        }
    }

    /// Starts a process of a run where it may use what is in force: CPUs of an isolated partition.
    pub(super) fn start_within<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match &self.applied {
            Some(tuned) => tuned.applied.start_within(start),
            None => start(),
        }
    }

    /// Reads what is in force again.
    pub(super) fn verify(&self) -> Answer {
        let knobs = self.applied.as_ref().map(|tuned| tuned.owners.knobs(tuned.applied.verify()));
        Answer { knobs: knobs.unwrap_or_default(), fault: None }
    }

    /// Turns everything back, and proves it.
    pub(super) fn restore(&mut self) -> Answer {
        let Some(Tuned { applied, owners }) = self.applied.take() else {
            return Answer { knobs: Vec::new(), fault: None };
        };
        let restored = applied.restore();
        let knobs = owners.knobs(restored.records);
        let conflicts: Vec<String> = restored
            .conflicts
            .iter()
            .map(|conflict| format!("{}: {}", conflict.target, conflict.note))
            .collect();
        let fault = if conflicts.is_empty() {
            self.prove().fault
        } else {
            Some(format!(
                "not everything could be turned back: {}; `rdma-harness tune status` shows what is left, `rdma-harness tune recover` turns it back",
                conflicts.join("; ")
            ))
        };
        Answer { knobs, fault }
    }

    /// What a variant turns on this host, and for whom.
    fn plan(&self, variant: usize) -> Result<(Plan, Owners), String> {
        let parts = self.variants.get(variant).ok_or("no such variant was prepared")?;
        let (mut whole, mut owners) = (Plan::default(), Owners::default());
        for part in parts {
            let plan = tuning::plan(&self.site(part), &part.tuning).map_err(|error| error.to_string())?;
            owners.add(part.side, &plan);
            whole.join(plan);
        }
        Ok((whole, owners))
    }

    /// What a crash left is in the way of any campaign: it would be measured as if it were the host's own state. What someone
    /// left on purpose, or holds now, is in the way of tuning alone.
    fn refuse_what_is_left(&self) -> Result<(), String> {
        if self.variants.iter().all(Vec::is_empty) {
            let left = tuning::left_by_a_crash(&self.any_site());
            return left.map_or(Ok(()), |left| Err(left.to_string()));
        }
        let nothing = tuning::apply(&self.any_site(), Plan::default());
        nothing.map(drop).map_err(|error| error.to_string())
    }

    fn any_site(&self) -> Site {
        let mut site = Site::new(self.sysroot.clone());
        if let Some(folder) = &self.state_dir {
            site.state_dir = folder.clone();
        }
        site.ssh_connection = self.ssh_connection.clone();
        site
    }

    fn site(&self, part: &Part) -> Site {
        let mut site = self.any_site();
        site.device = device::named(&self.sysroot, &part.device);
        site.poll_cpus = part.poll_cpus.clone();
        site
    }
}

impl Owners {
    fn add(&mut self, side: Side, plan: &Plan) {
        self.0.extend(plan.records().into_iter().map(|record| (side, record)));
    }

    /// The records by side; one target that both asked for is shown on both.
    fn knobs(&self, records: Vec<KnobRecord>) -> Vec<SideKnob> {
        let same =
            |a: &KnobRecord, b: &KnobRecord| (a.knob, &a.item, &a.target) == (b.knob, &b.item, &b.target);
        let mut knobs = Vec::new();
        for record in records {
            for (side, _) in self.0.iter().filter(|(_, asked)| same(asked, &record)) {
                knobs.push(SideKnob { side: *side, record: record.clone() });
            }
        }
        knobs
    }
}

/// Why a plan can't be carried out whole.
fn refused(plan: &Plan) -> Option<String> {
    // A knob of the boot that is not in force now: with it left out, the run would be of another variant.
    let of_a_boot = plan.others.iter().filter(|record| record.state == KnobState::Planned);
    let of_a_boot = of_a_boot.map(|record| tuning::Refusal {
        knob: record.knob,
        item: record.item.clone(),
        why: format!("it is not in force, and takes a boot: {}", record.note),
    });
    let refusals: Vec<_> = plan.refusals.iter().cloned().chain(of_a_boot).collect();
    (!refusals.is_empty()).then(|| tuning::TuneError::Refused { refusals }.to_string())
}
