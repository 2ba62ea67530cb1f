//! Host files: one node a line, its name and what is particular about it.

use std::{collections::BTreeMap, net::IpAddr, path::Path};

use schema::SoftModel;

use super::{
    node_set,
    words::{Word, lines},
};
use crate::scenario::{Fault, FaultReport, Place, did_you_mean};

const KEYS: [&str; 7] = ["at", "device", "soft", "address", "leaf", "switches", "agent"];

/// A line of a host file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Entry {
    /// The node.
    pub(super) name: String,
    /// Where its agent is started.
    pub(super) at: Option<Place>,
    /// Its RDMA device.
    pub(super) device: Option<String>,
    /// Its end of every link, on the software NIC.
    pub(super) soft: Option<SoftModel>,
    /// Address by which other nodes reach it.
    pub(super) address: Option<IpAddr>,
    /// The switches above it, the outermost first: its leaf alone, or all of them.
    pub(super) switches: Vec<String>,
    /// The program that is its agent.
    pub(super) agent: Option<String>,
    /// Where the name stands.
    pub(super) span: std::ops::Range<usize>,
}

/// Reads a host file.
///
/// # Errors
/// Everything that is wrong with it.
pub(super) fn parse(file: &Path, source: &str) -> Result<Vec<Entry>, FaultReport> {
    let (mut entries, mut faults) = (Vec::<Entry>::new(), Vec::new());
    let mut places = BTreeMap::new();
    for line in lines(source) {
        let entry = read_line(&line, &mut faults);
        if let Some(first) = places.insert(entry.name.clone(), entry.span.clone()) {
            let twice = Fault::new(entry.name.clone(), entry.span.clone(), "is named twice");
            faults.push(twice.beside(first, "here first"));
        }
        entries.push(entry);
    }
    if entries.is_empty() {
        faults.push(Fault::new("", 0..source.len(), "names no node").advice("write one node a line"));
    }
    if faults.is_empty() {
        return Ok(entries);
    }
    Err(FaultReport { file: file.to_owned(), source: source.to_owned(), faults })
}

fn read_line(line: &[Word<'_>], faults: &mut Vec<Fault>) -> Entry {
    let name = line[0];
    let mut entry = Entry { name: name.text.to_owned(), span: name.span(), ..Entry::default() };
    match node_set::expand(name.text) {
        Ok(names) if names.len() == 1 && names[0] == name.text => {}
        Ok(_) => faults.push(
            Fault::new(name.text, name.span(), "names more than one node")
                .advice("write one node a line, or give the set with --nodes"),
        ),
        Err(wrong) => faults.push(Fault::new(name.text, name.span(), wrong.what)),
    }
    let mut asked = Vec::new();
    for word in &line[1..] {
        let Some((key, value)) = word.split() else {
            let what = "is not KEY=VALUE, and a line names one node";
            faults.push(Fault::new(name.text, word.span(), what).advice("write one node a line"));
            continue;
        };
        if asked.contains(&key.text) {
            faults.push(Fault::new(name.text, word.span(), format!("`{}` is told twice", key.text)));
        }
        asked.push(key.text);
        if let Err(fault) = entry.set(key, value) {
            faults.push(*fault);
        }
    }
    if let (true, true) = (asked.contains(&"leaf"), asked.contains(&"switches")) {
        let what = "`leaf` and `switches` both say where it is plugged in";
        faults
            .push(Fault::new(name.text, name.span(), what).advice("keep `switches`, whose last is the leaf"));
    }
    entry
}

impl Entry {
    fn set(&mut self, key: Word<'_>, value: Word<'_>) -> Result<(), Box<Fault>> {
        let fault = |what: &str| Fault::new(format!("{}.{}", self.name, key.text), value.span(), what);
        let refuse = |what: String| Box::new(fault(&what));
        if value.text.is_empty() {
            let fault = Fault::new(self.name.clone(), key.span(), format!("`{}=` says nothing", key.text));
            return Err(Box::new(fault.advice("leave it out")));
        }
        match key.text {
            "at" => self.at = Some(value.text.parse().map_err(refuse)?),
            "device" => self.device = Some(value.text.to_owned()),
            "soft" => self.soft = Some(value.text.parse().map_err(|error| refuse(format!("{error}")))?),
            "address" => {
                let no_address =
                    "is not an IP address; a name is not looked up, so that all nodes mean the same";
                self.address = Some(value.text.parse().map_err(|_| refuse(no_address.into()))?);
            }
            "leaf" if value.text.contains(',') => {
                let advice = "write switches=OUTERMOST,..,LEAF";
                return Err(Box::new(fault("is more than one switch").advice(advice)));
            }
            "leaf" | "switches" => {
                let switches = value.text.split(',').map(str::to_owned).collect::<Vec<_>>();
                if switches.iter().any(String::is_empty) {
                    return Err(refuse("has a switch without a name".into()));
                }
                self.switches = switches;
            }
            "agent" => self.agent = Some(value.text.to_owned()),
            _ => return Err(Box::new(unknown(&self.name, key))),
        }
        Ok(())
    }
}

fn unknown(name: &str, key: Word<'_>) -> Fault {
    let text = key.text;
    let fault = Fault::new(name, key.span(), format!("`{text}` is not a key of host files"));
    fault.advice(match (text, did_you_mean(text, KEYS)) {
        ("slots" | "max_slots" | "max-slots", _) => {
            "a node has one agent, so the slots of MPI mean nothing here; leave them out".to_owned()
        }
        (_, Some(near)) => format!("did you mean `{near}`?"),
        (_, None) => format!("known here: {}", KEYS.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn faults(source: &str) -> String {
        parse(Path::new("hosts"), source).unwrap_err().to_string()
    }

    #[test]
    fn a_line_tells_a_node_and_what_is_particular_about_it() {
        let source = "# the rack\nnode1\n\nnode2 at=ssh:me@10.0.0.2 device=mlx5_1 address=10.1.0.2 switches=spine,leaf1 agent=/opt/rh soft=rate=2Gbps,latency=9us # spare\n";
        let entries = parse(Path::new("hosts"), source).unwrap();
        assert_eq!(entries[0], Entry { name: "node1".into(), span: 11..16, ..Entry::default() });
        let wanted = Entry {
            name: "node2".into(),
            at: Some(Place::Ssh("me@10.0.0.2".into())),
            device: Some("mlx5_1".into()),
            soft: Some("rate=2Gbps,latency=9us".parse().unwrap()),
            address: Some("10.1.0.2".parse().unwrap()),
            switches: vec!["spine".into(), "leaf1".into()],
            agent: Some("/opt/rh".into()),
            span: 18..23,
        };
        assert_eq!(entries[1], wanted);
    }

    #[test]
    fn what_is_wrong_is_shown_at_its_place_all_at_once() {
        let text = faults("node1 at=nowhere\nnode1 adress=10.0.0.1\nnode3 slots=2\n");
        for said in [
            "node1.at: `nowhere` is not a place",
            "hosts:1:10",
            "node1: is named twice",
            "did you mean `address`?",
            "hosts:3:7",
            "slots of MPI mean nothing here",
        ] {
            assert!(text.contains(said), "{said} in\n{text}");
        }
        for (source, said) in [
            ("a b c", "one node a line"),
            ("node[1-4]", "more than one node"),
            ("a address=host7", "not an IP address"),
            ("a leaf=x,y", "more than one switch"),
            ("a leaf=x switches=y,x", "both say where"),
            ("a switches=x,", "without a name"),
            ("a soft=rate=odd", "a.soft: "),
            ("a device=", "says nothing"),
            ("a device=x device=y", "told twice"),
            ("# nobody", "names no node"),
        ] {
            assert!(faults(source).contains(said), "{said} in\n{}", faults(source));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(source in "[a-z0-9 =\\[\\],.:#\\né-]{0,60}") {
            if let Err(report) = parse(Path::new("hosts"), &source) {
                prop_assert!(report.to_string().contains("hosts"));
            }
        }
    }
}
