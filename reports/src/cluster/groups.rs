//! What pairs with something in common come to: those that touch a leaf switch, and those with as many switches between them.

use super::{Analysis, model::GroupReport, robust};

/// By leaf: every pair with an end below it.
pub(super) fn leaves(analysis: &Analysis) -> Vec<GroupReport> {
    let scene = &analysis.scene;
    let report = |(number, leaf): (usize, &super::scene::Leaf)| GroupReport {
        name: leaf.name.to_owned(),
        nodes: leaf.nodes.iter().map(|rank| *rank as u32).collect(),
        ..group(analysis, |a, b| scene.leaf_of[a] == Some(number) || scene.leaf_of[b] == Some(number))
    };
    scene.leaves.iter().enumerate().map(report).collect()
}

/// By number of switches on the way; only those of which a pair was measured.
pub(super) fn hops(analysis: &Analysis) -> Vec<GroupReport> {
    let scene = &analysis.scene;
    let report = |(number, hops): (usize, &Option<u32>)| {
        let hops = (*hops)?;
        let plural = if hops == 1 { "" } else { "es" };
        let group = group(analysis, |a, b| scene.class(a, b) == number);
        (group.pairs > 0).then(|| GroupReport { name: format!("{hops} switch{plural}"), ..group })
    };
    scene.classes.iter().enumerate().filter_map(report).collect()
}

fn group(analysis: &Analysis, of: impl Fn(usize, usize) -> bool) -> GroupReport {
    let nodes = analysis.scene.nodes();
    let inside: Vec<usize> =
        (0..nodes * nodes).filter(|at| at / nodes != at % nodes && of(at / nodes, at % nodes)).collect();
    let mut measured = vec![false; inside.len()];
    let median = |values: &Vec<f64>| {
        let mut some = Vec::new();
        for (place, at) in inside.iter().enumerate().filter(|(_, at)| !values[**at].is_nan()) {
            measured[place] = true;
            some.push(values[*at]);
        }
        robust::median(&mut some)
    };
    let medians = analysis.medians.iter().map(median).collect();
    let pairs = measured.into_iter().filter(|measured| *measured).count() as u32;
    GroupReport { name: String::new(), nodes: Vec::new(), medians, pairs }
}
