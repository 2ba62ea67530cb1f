//! Agents by Slurm: one step of the allocation we are in, whose tasks connect back.
//!
//! Slurm gives a whole step up where it does not reach one of its nodes. That node is left out then, and the step started again.

mod allocation;
mod step;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    path::{Path, PathBuf},
};

pub(super) use allocation::nodes;
pub(super) use step::Step;

use super::{
    Ask, LaunchError,
    gate::{Comer, Gate},
    seats::Named,
};
use crate::{
    agent::{Launcher, identity, join::JoinToken},
    cluster::{Rank, WantedNode},
    interrupt::Interrupt,
};

/// What came of it.
pub(super) struct Stepped {
    /// Who came.
    pub(super) comers: BTreeMap<Rank, Comer>,
    /// Why the others did not, as far as it is known.
    pub(super) absent: BTreeMap<Rank, String>,
    /// The step, as long as it has agents.
    pub(super) step: Option<Step>,
}

/// Starts agents on those of the wanted nodes that are in the allocation and well.
pub(super) fn start(
    ask: &Ask,
    wanted: &[WantedNode],
    launcher: &Launcher,
    interrupt: &Interrupt,
) -> Result<Stepped, LaunchError> {
    let allocated = nodes(&identity::of_this_process()).map_err(LaunchError::Wrong)?;
    let mut absent = unfit(wanted, &allocated);
    loop {
        let present =
            (0..).zip(wanted).filter(|(rank, _)| !absent.contains_key(rank)).collect::<Vec<(Rank, _)>>();
        if present.is_empty() {
            return Ok(Stepped { comers: BTreeMap::new(), absent, step: None });
        }
        let gate =
            Gate::open(ask.listen).map_err(|cause| LaunchError::Listen { address: ask.listen, cause })?;
        let token = JoinToken::drawn()?;
        let names = present.iter().map(|(_, node)| node.name.as_str()).collect::<Vec<_>>();
        let agent = agent(ask, launcher, gate.address().port()).map_err(LaunchError::NoStep)?;
        let mut step = Step::start(Path::new("srun"), &names, agent, &token).map_err(LaunchError::NoStep)?;
        let seats = Named::new(present.iter().copied());
        let comers = gate.admit(&token, &seats, ask.wait, &ask.say, || {
            interrupt.is_raised() || step.has_ended() || !step.failed_nodes().is_empty()
        });
        if interrupt.is_raised() {
            return Err(LaunchError::Interrupted);
        }
        let failed = step.failed_nodes().into_iter().collect::<BTreeMap<_, _>>();
        let lost =
            present.iter().filter_map(|(rank, node)| Some((*rank, &node.name, failed.get(&node.name)?)));
        let lost = lost.collect::<Vec<_>>();
        if lost.is_empty() {
            for (rank, node) in present.iter().filter(|(rank, _)| !comers.contains_key(rank)) {
                absent.insert(*rank, missing(ask, &mut step, &node.name));
            }
            return Ok(Stepped { step: (!comers.is_empty()).then_some(step), comers, absent });
        }
        for (rank, name, why) in lost {
            ask.say.line(&format!("{name} is left out, and the step started again: {why}"));
            absent.insert(rank, why.clone());
        }
        drop(comers); // their step is given up, and they with it
        step.stop();
    }
}

/// Those that no step starts on, with what Slurm says of them.
fn unfit(wanted: &[WantedNode], allocated: &[String]) -> BTreeMap<Rank, String> {
    let names = wanted.iter().map(|node| node.name.as_str()).collect::<Vec<_>>();
    let known = allocation::ask(&names);
    let mut unfit = BTreeMap::new();
    for (rank, name) in (0..).zip(names) {
        let info = known.get(name);
        if !allocated.iter().any(|node| node == name) {
            let says = info.map_or_else(|| "Slurm does not know it".to_owned(), ToString::to_string);
            unfit.insert(rank, format!("it is not in the allocation; {says}"));
        } else if let Some(info) = info.filter(|info| info.is_dead()) {
            unfit.insert(rank, info.to_string());
        }
    }
    unfit
}

fn missing(ask: &Ask, step: &mut Step, name: &str) -> String {
    let what = if step.has_ended() {
        "srun ended before its agent came".to_owned()
    } else {
        format!("its agent did not come within {} s", ask.wait.as_secs())
    };
    step.words_about(name).map_or(what.clone(), |said| format!("{what}: {said}"))
}

/// The command line of an agent: it finds us by what srun tells it of where srun runs.
fn agent(ask: &Ask, launcher: &Launcher, port: u16) -> io::Result<Vec<OsString>> {
    let host = ask.controller.as_deref().unwrap_or("@slurm");
    let target = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let program: PathBuf = launcher.remote_program()?;
    let mut words = vec![program.into_os_string()];
    words.extend(["agent", "--connect", &target, "--token-file", "-"].map(OsString::from));
    words.extend(["--wait".into(), ask.wait.as_secs().max(1).to_string().into()]);
    if let Some(file) = &launcher.verbs_bench {
        words.extend(["--verbs-bench".into(), file.as_os_str().to_owned()]);
    }
    Ok(words)
}
