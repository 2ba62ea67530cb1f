//! Which switches are above a node, by a file in the format of Slurm's `topology.conf`: `SwitchName=leaf1 Nodes=node[1-4]`,
//! `SwitchName=spine Switches=leaf[1-2]`.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    path::Path,
};

use super::{
    node_set,
    words::{Word, lines},
};
use crate::scenario::{Fault, FaultReport, did_you_mean};

const KEYS: [&str; 4] = ["SwitchName", "Nodes", "Switches", "LinkSpeed"];

/// The switches above every node, the outermost first.
pub(super) type Topology = BTreeMap<String, Vec<String>>;

/// Reads a topology file.
///
/// # Errors
/// Everything that is wrong with it: what is not understood, a node or a switch below two switches, a switch above itself.
pub(super) fn parse(file: &Path, source: &str) -> Result<Topology, FaultReport> {
    let mut tree = Tree::default();
    for line in lines(source) {
        tree.read(&line);
    }
    let topology = tree.flatten();
    if topology.is_empty() && tree.faults.is_empty() {
        let advice = "write lines such as SwitchName=leaf1 Nodes=node[1-4]";
        tree.faults.push(Fault::new("", 0..source.len(), "tells of no node").advice(advice));
    }
    if tree.faults.is_empty() {
        return Ok(topology);
    }
    Err(FaultReport { file: file.to_owned(), source: source.to_owned(), faults: tree.faults })
}

#[derive(Default)]
struct Tree {
    /// Where each switch is told of.
    switches: BTreeMap<String, Range<usize>>,
    /// The switch above a switch, and where that is said.
    above_switch: BTreeMap<String, (String, Range<usize>)>,
    /// The switch above a node, and where that is said.
    above_node: BTreeMap<String, (String, Range<usize>)>,
    faults: Vec<Fault>,
}

impl Tree {
    fn read(&mut self, line: &[Word<'_>]) {
        let mut values = BTreeMap::new();
        for word in line {
            let Some((key, value)) = word.split() else {
                let what = if word.text == "\\" { "goes on in the next line" } else { "is not KEY=VALUE" };
                self.faults.push(Fault::new("", word.span(), what).advice("write a switch on one line"));
                continue;
            };
            match KEYS.iter().find(|known| known.eq_ignore_ascii_case(key.text)) {
                Some(known) => {
                    values.insert(*known, value);
                }
                None => {
                    let near = did_you_mean(key.text, KEYS).map(|near| format!("did you mean `{near}`?"));
                    let known = || format!("known here: {}", KEYS.join(", "));
                    let fault = Fault::new(key.text, key.span(), "is not a key of topology files");
                    self.faults.push(fault.advice(near.unwrap_or_else(known)));
                }
            }
        }
        let Some(name) = values.get("SwitchName").copied() else {
            let fault = Fault::new("SwitchName", line[0].span(), "is missing in this line");
            self.faults.push(fault.advice("SwitchName=leaf1 Nodes=node[1-4]"));
            return;
        };
        let own = name.text.to_owned();
        if let Some(first) = self.switches.insert(own.clone(), name.span()) {
            self.faults
                .push(Fault::new(own.clone(), name.span(), "is told of twice").beside(first, "here first"));
        }
        for (key, is_switch) in [("Nodes", false), ("Switches", true)] {
            let Some(value) = values.get(key) else { continue };
            match node_set::expand(value.text) {
                Ok(names) => {
                    names.into_iter().for_each(|below| self.plug(below, &own, value.span(), is_switch))
                }
                Err(wrong) => {
                    let start = value.span().start;
                    let span = start + wrong.span.start..start + wrong.span.end;
                    self.faults.push(Fault::new(format!("{own}.{key}"), span, wrong.what));
                }
            }
        }
    }

    fn plug(&mut self, below: String, above: &str, span: Range<usize>, is_switch: bool) {
        let map = if is_switch { &mut self.above_switch } else { &mut self.above_node };
        if let Some((other, first)) = map.insert(below.clone(), (above.to_owned(), span.clone())) {
            let what = format!("is below {other} and below {above}; a tree has one way up");
            self.faults.push(Fault::new(below, span, what).beside(first, "here first"));
        }
    }

    fn flatten(&mut self) -> Topology {
        let mut faults = Vec::new();
        for (below, (above, span)) in &self.above_switch {
            if !self.switches.contains_key(below) {
                let what = format!("is below {above} and has no line of its own");
                faults.push(Fault::new(below.clone(), span.clone(), what));
            }
        }
        let mut topology = Topology::new();
        let mut rings = BTreeSet::new();
        for (node, (leaf, _)) in &self.above_node {
            let mut way = vec![leaf.clone()];
            while let Some((above, span)) = self.above_switch.get(&way[way.len() - 1]) {
                if way.contains(above) {
                    if rings.insert(span.start) {
                        faults.push(Fault::new(above.clone(), span.clone(), "is above itself"));
                    }
                    break;
                }
                way.push(above.clone());
            }
            way.reverse();
            topology.insert(node.clone(), way);
        }
        self.faults.extend(faults);
        topology
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn faults(source: &str) -> String {
        parse(Path::new("topology.conf"), source).unwrap_err().to_string()
    }

    #[test]
    fn a_tree_tells_the_way_down_to_every_node() {
        let source = "# ours\nSwitchName=spine Switches=leaf[1-2]\nswitchname=leaf1 nodes=node[1-2] LinkSpeed=400\nSwitchName=leaf2 Nodes=node3,node4\n";
        let topology = parse(Path::new("topology.conf"), source).unwrap();
        assert_eq!(topology.len(), 4);
        assert_eq!(topology["node2"], ["spine", "leaf1"]);
        assert_eq!(topology["node4"], ["spine", "leaf2"]);
    }

    #[test]
    fn a_level_without_a_common_root_is_fine() {
        let topology = parse(Path::new("t"), "SwitchName=a Nodes=x\nSwitchName=b Nodes=y").unwrap();
        assert_eq!((&topology["x"], &topology["y"]), (&vec!["a".to_owned()], &vec!["b".to_owned()]));
    }

    #[test]
    fn what_is_no_tree_is_shown_at_its_place() {
        for (source, said) in [
            ("SwitchName=a Nodes=x\nSwitchName=b Nodes=x", "x: is below a and below b"),
            ("SwitchName=a Nodes=x\nSwitchName=a Nodes=y", "a: is told of twice"),
            ("SwitchName=a Nodes=x Switches=b\nSwitchName=b Switches=a", "is above itself"),
            ("SwitchName=a Nodes=x\nSwitchName=s Switches=a,b", "b: is below s and has no line of its own"),
            ("Nodes=x", "SwitchName: is missing"),
            ("SwitchName=a Nods=x", "did you mean `Nodes`?"),
            ("SwitchName=a Nodes=x[1-", "a.Nodes: is not closed"),
            ("SwitchName=a \\", "goes on in the next line"),
            ("SwitchName=a", "tells of no node"),
        ] {
            assert!(faults(source).contains(said), "{said} in\n{}", faults(source));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_way_has_a_switch_twice(
            lines in proptest::collection::vec(("[a-d]", "[a-d]{0,1}", "[x-z]{0,1}"), 0..8)
        ) {
            let line = |(name, switch, node): &(String, String, String)| {
                let switches = if switch.is_empty() { String::new() } else { format!(" Switches={switch}") };
                let nodes = if node.is_empty() { String::new() } else { format!(" Nodes={node}") };
                format!("SwitchName={name}{switches}{nodes}\n")
            };
            if let Ok(topology) = parse(Path::new("t"), &lines.iter().map(line).collect::<String>()) {
                for way in topology.values() {
                    prop_assert_eq!(way.iter().collect::<BTreeSet<_>>().len(), way.len());
                }
            }
        }
    }
}
