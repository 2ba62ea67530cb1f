//! CPUs that the NIC's own completion vectors are delivered to, by a policy. No other device's interrupt is touched.
//!
//! A polled run takes next to no completion interrupts: this moves event mode and TCP.

use host::{Nic, Topology, Value, cpulist};
use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    site::Site,
    target::{IrqTarget, Target},
};

/// How vectors are laid out.
#[derive(Debug, PartialEq, Eq)]
enum Policy {
    /// Every vector may go to any CPU of the NIC's node but those that poll, and their siblings.
    NodeExceptPoll,
    /// The n-th vector goes to the n-th of those CPUs, one each physical core first.
    OneToOne,
    /// Every vector may go to these.
    List(Vec<u32>),
}

pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let policy = parse(&setting.value)?;
    let nic = site.nic().ok_or_else(|| Unfit::Host("no RDMA device of this host is named".to_owned()))?;
    let vectors = nic.data_vectors().known().unwrap_or_default();
    if vectors.is_empty() {
        return Err(Unfit::Host("the NIC has no completion vectors of its own".to_owned()));
    }
    let folder = match nic.vector_folder() {
        Value::Known(folder) => folder,
        unknown => return Err(Unfit::Host(unknown.why_unknown().unwrap_or_default().to_owned())),
    };
    let places = places(&policy, &nic, site, vectors.len())?;
    Ok(vectors
        .into_iter()
        .zip(places)
        .map(|(vector, cpus)| {
            let action = vector.actions.first().cloned().unwrap_or_default();
            let target = IrqTarget { vectors: folder.clone(), action, irq: vector.irq };
            let mut want = Want::on(Target::Irq(target), cpulist::format(&cpus));
            want.note = "takes effect at the vector's next interrupt".to_owned();
            want
        })
        .collect())
}

fn parse(text: &str) -> Result<Policy, Unfit> {
    match text.trim() {
        "nic-node-except-poll" => Ok(Policy::NodeExceptPoll),
        "one-to-one" => Ok(Policy::OneToOne),
        other => match other.strip_prefix("list:").map(cpulist::parse) {
            Some(Ok(cpus)) if !cpus.is_empty() => Ok(Policy::List(cpus)),
            Some(Err(error)) => Err(Unfit::Value(error.to_string())),
            _ => Err(Unfit::Value(
                "must be nic-node-except-poll, one-to-one, or list: with CPUs, for example list:2-3,8"
                    .to_owned(),
            )),
        },
    }
}

/// The CPUs of each of `count` vectors.
fn places(policy: &Policy, nic: &Nic<'_>, site: &Site, count: usize) -> Result<Vec<Vec<u32>>, Unfit> {
    let topology = Topology::read(&site.sysroot);
    match policy {
        Policy::List(cpus) => {
            let offline: Vec<u32> = cpus.iter().copied().filter(|cpu| topology.cpu(*cpu).is_none()).collect();
            if !offline.is_empty() {
                return Err(Unfit::Host(format!("CPU {} is not online", cpulist::format(&offline))));
            }
            Ok(vec![cpus.clone(); count])
        }
        Policy::NodeExceptPoll => Ok(vec![near(nic, site, &topology)?; count]),
        Policy::OneToOne => {
            let cpus = cores_first(&near(nic, site, &topology)?, &topology);
            Ok((0..count).map(|n| vec![cpus[n % cpus.len()]]).collect())
        }
    }
}

/// CPUs of the NIC's node, or of what the platform calls local to it, or all; without those that poll, their siblings and the
/// isolated ones.
fn near(nic: &Nic<'_>, site: &Site, topology: &Topology) -> Result<Vec<u32>, Unfit> {
    let of_node = nic.numa_node().known().and_then(|node| topology.node(node)).map(|node| node.cpus.clone());
    let local = of_node.filter(|cpus| !cpus.is_empty()).or_else(|| nic.local_cpus().known());
    let mut cpus = local.filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| topology.online());
    let isolated = topology.isolated.clone().known().unwrap_or_default();
    let siblings = |cpu: &u32| topology.cpu(*cpu).map(|cpu| cpu.core_siblings.clone()).unwrap_or_default();
    let polled: Vec<u32> = site.poll_cpus.iter().flat_map(siblings).chain(site.poll_cpus.clone()).collect();
    cpus.retain(|cpu| topology.cpu(*cpu).is_some() && !polled.contains(cpu) && !isolated.contains(cpu));
    if cpus.is_empty() {
        return Err(Unfit::Host(
            "no CPU near the NIC is left: those that poll, their siblings and the isolated ones are all there are"
                .to_owned(),
        ));
    }
    Ok(cpus)
}

/// The first thread of every core, then the second ones.
fn cores_first(cpus: &[u32], topology: &Topology) -> Vec<u32> {
    let thread = |cpu: &u32| {
        let siblings = topology.cpu(*cpu).map(|cpu| cpu.core_siblings.clone()).unwrap_or_default();
        siblings.iter().position(|sibling| sibling == cpu).unwrap_or(0)
    };
    let mut ordered = cpus.to_vec();
    ordered.sort_by_key(|cpu| (thread(cpu), *cpu));
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_words_and_lists() {
        assert_eq!(parse("one-to-one").unwrap(), Policy::OneToOne);
        assert_eq!(parse("list:2-3,8").unwrap(), Policy::List(vec![2, 3, 8]));
        for wrong in ["", "list:", "list:3-1", "2", "all"] {
            assert!(matches!(parse(wrong), Err(Unfit::Value(_))), "{wrong}");
        }
    }
}
