//! What holds of every schedule, whatever the number of nodes, their switches and the seed.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use schema::PairRole;

use super::*;

/// Nodes below leaves of at most `below` each, every so many leaves below a switch of their own.
struct Nodes(Vec<(String, Vec<String>)>);

impl Nodes {
    fn flat(count: usize) -> Nodes {
        Nodes((0..count).map(|n| (format!("node{n}"), Vec::new())).collect())
    }

    fn below(count: usize, leaf: usize, leaves: usize) -> Nodes {
        let node = |n: usize| {
            let (leaf, pod) = (n / leaf, n / leaf / leaves);
            (format!("node{n}"), vec!["core".into(), format!("pod{pod}"), format!("leaf{leaf}")])
        };
        Nodes((0..count).map(node).collect())
    }

    fn seats(&self) -> Vec<Seat<'_>> {
        self.0.iter().map(|(name, switches)| Seat { name, switches }).collect()
    }

    fn schedule(&self, pattern: &Pattern, seed: u64) -> Vec<PlannedRound> {
        schedule(pattern, &self.seats(), seed).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn disjoint(round: &PlannedRound, nodes: usize) -> bool {
    let mut seen = vec![false; nodes];
    let mut ends = round.pairs.iter().flat_map(|pair| [pair.requester, pair.responder]);
    ends.all(|rank| !std::mem::replace(&mut seen[rank as usize], true))
}

/// How often every pair of nodes meets, whoever posts.
fn meetings(rounds: &[PlannedRound], nodes: usize) -> Vec<u8> {
    let mut met = vec![0; nodes * nodes];
    for pair in rounds.iter().flat_map(|round| &round.pairs) {
        assert_ne!(pair.requester, pair.responder);
        let (low, high) = (pair.requester.min(pair.responder), pair.requester.max(pair.responder));
        met[low as usize * nodes + high as usize] += 1;
    }
    met
}

/// Pairs that never met, and pairs that met more than once.
fn missing_and_repeated(rounds: &[PlannedRound], nodes: usize) -> (usize, usize) {
    let met = meetings(rounds, nodes);
    let upper = (0..nodes).flat_map(|low| (low + 1..nodes).map(move |high| low * nodes + high));
    upper.fold((0, 0), |(missing, repeated), at| {
        (missing + usize::from(met[at] == 0), repeated + usize::from(met[at] > 1))
    })
}

/// How often each node is what `end` takes of a pair.
fn counts(rounds: &[PlannedRound], nodes: usize, end: impl Fn(&PlannedPair) -> Rank) -> Vec<usize> {
    let mut counts = vec![0; nodes];
    rounds.iter().flat_map(|round| &round.pairs).for_each(|pair| counts[end(pair) as usize] += 1);
    counts
}

fn all_pairs_are_optimal(nodes: usize, seed: u64) {
    let rounds = Nodes::flat(nodes).schedule(&Pattern::Pairs, seed);
    assert_eq!(rounds.len(), if nodes.is_multiple_of(2) { nodes - 1 } else { nodes });
    assert!(rounds.iter().all(|round| round.pairs.len() == nodes / 2 && disjoint(round, nodes)), "{nodes}");
    assert_eq!(missing_and_repeated(&rounds, nodes), (0, 0), "{nodes}");
    // Both directions are the same rounds twice, the second time swapped: every ordered pair once.
    let posts = counts(&rounds, nodes, |pair| pair.requester);
    let (least, most) = (posts.iter().min().unwrap(), posts.iter().max().unwrap());
    assert!(most - least <= 1, "{nodes}: {least} to {most}");
    let swapped: Vec<PlannedRound> = rounds.iter().map(PlannedRound::swapped).collect();
    assert_eq!(counts(&swapped, nodes, |pair| pair.responder), posts);
}

#[test]
fn every_number_of_nodes_up_to_a_few_racks_has_an_optimal_schedule_of_all_pairs() {
    (2..=130).for_each(|nodes| all_pairs_are_optimal(nodes, 1));
    [255, 256, 511, 512, 1_023, 1_024].into_iter().for_each(|nodes| all_pairs_are_optimal(nodes, 1));
}

#[test]
fn four_nodes_as_they_stand() {
    let rounds = Nodes::flat(4).schedule(&Pattern::Pairs, 1);
    assert_eq!(
        rounds.iter().map(|round| round.label.as_str()).collect::<Vec<_>>(),
        ["step 1 of 3", "step 2 of 3", "step 3 of 3"]
    );
    let other = Nodes::flat(4).schedule(&Pattern::Pairs, 2);
    assert_ne!(rounds, other, "seats are drawn");
}

#[test]
fn a_pattern_that_goes_by_switches_refuses_nodes_without() {
    let nodes = Nodes::flat(3);
    for pattern in [Pattern::Leaf, Pattern::Hop] {
        let error = schedule(&pattern, &nodes.seats(), 1).unwrap_err().to_string();
        assert!(
            error.contains("node0, node1, node2 are not known") && error.contains("--topology"),
            "{error}"
        );
    }
    let alone = Nodes::below(3, 1, 2);
    let error = schedule(&Pattern::Leaf, &alone.seats(), 1).unwrap_err().to_string();
    assert!(error.contains("no leaf has two nodes"), "{error}");
}

#[test]
fn too_few_nodes_are_refused() {
    let text = |pattern: &Pattern, nodes: usize| {
        schedule(pattern, &Nodes::flat(nodes).seats(), 1)
            .map(|rounds| rounds.len())
            .map_err(|e| e.to_string())
    };
    assert_eq!(text(&Pattern::Pairs, 1), Err("pattern `pairs` takes 2 nodes or more, and there is 1".into()));
    assert_eq!(
        text(&Pattern::Victim { congestors: None }, 3),
        Err("pattern `victim` takes 4 nodes or more, and there are 3".into())
    );
    let of_four = |senders| text(&Pattern::Incast { senders }, 4);
    assert_eq!(of_four(3), Ok(4));
    assert_eq!(
        of_four(4),
        Err("pattern.senders: 4 asked for, and of 4 nodes 3 can be; lower it, or take more nodes".into())
    );
    let error = text(&Pattern::Victim { congestors: Some(3) }, 5).unwrap_err();
    assert!(error.starts_with("pattern.congestors: 3 asked for, and of 5 nodes 2 can be"), "{error}");
}

#[test]
fn the_seed_alone_decides_what_is_drawn() {
    let nodes = Nodes::below(24, 6, 2);
    for pattern in [
        Pattern::Pairs,
        Pattern::Screen,
        Pattern::Bisection { matchings: 3 },
        Pattern::Incast { senders: 5 },
        Pattern::Outcast { receivers: 5 },
        Pattern::Leaf,
        Pattern::Hop,
        Pattern::Victim { congestors: Some(4) },
    ] {
        assert_eq!(nodes.schedule(&pattern, 7), nodes.schedule(&pattern, 7), "{pattern:?}");
        assert_ne!(nodes.schedule(&pattern, 7), nodes.schedule(&pattern, 8), "{pattern:?}");
    }
}

#[test]
fn hop_classes_come_nearest_first_and_take_no_more_rounds_than_a_node_has_peers_where_numbers_are_even() {
    // 2 pods of 2 leaves of 4: 3 peers below the leaf, 4 one level up, 8 two levels up.
    let rounds = Nodes::below(16, 4, 2).schedule(&Pattern::Hop, 1);
    let of = |way: &str| rounds.iter().filter(|round| round.label.starts_with(way)).count();
    assert_eq!([of("1 switch,"), of("3 switches,"), of("5 switches,")], [3, 4, 8]);
    assert_eq!((rounds.len(), rounds[0].label.as_str()), (15, "1 switch, step 1 of 3"));
}

#[test]
fn nodes_in_no_pair_are_told() {
    let mut nodes = Nodes::below(4, 3, 2); // the fourth is alone below its leaf
    assert_eq!(left_out(&nodes.schedule(&Pattern::Leaf, 1), 4), [3]);
    nodes.0.pop();
    assert_eq!(left_out(&nodes.schedule(&Pattern::Leaf, 1), 3), Vec::<Rank>::new());
}

fn sizes() -> impl Strategy<Value = (usize, usize, usize, u64)> {
    (2usize..90, 1usize..12, 1usize..5, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_screen_meets_every_node(nodes in 2usize..=1_024, seed in any::<u64>()) {
        let rounds = Nodes::flat(nodes).schedule(&Pattern::Screen, seed);
        prop_assert_eq!(rounds.len(), 1 + nodes % 2);
        prop_assert!(rounds[0].pairs.len() == nodes / 2 && disjoint(&rounds[0], nodes));
        prop_assert!(left_out(&rounds, nodes).is_empty());
    }

    #[test]
    fn a_shift_has_every_node_send_and_receive_once_a_step(nodes in 2usize..=256) {
        let rounds = Nodes::flat(nodes).schedule(&Pattern::Shift, 0);
        prop_assert_eq!(rounds.len(), nodes - 1);
        for round in &rounds {
            let once = std::slice::from_ref(round);
            prop_assert!(counts(once, nodes, |pair| pair.requester).iter().all(|count| *count == 1));
            prop_assert!(counts(once, nodes, |pair| pair.responder).iter().all(|count| *count == 1));
        }
        let met = meetings(&rounds, nodes);
        prop_assert_eq!(met.iter().filter(|count| **count == 2).count(), nodes * (nodes - 1) / 2);
    }

    #[test]
    fn a_bisection_crosses_the_middle_and_repeats_no_pair_too_early((nodes, leaf, leaves, seed) in sizes(), matchings in 1u32..8) {
        let all = Nodes::below(nodes, leaf, leaves);
        let rounds = all.schedule(&Pattern::Bisection { matchings }, seed);
        prop_assert_eq!(rounds.len(), matchings as usize);
        let posts = counts(&rounds, nodes, |pair| pair.requester);
        for round in &rounds {
            prop_assert!(round.pairs.len() == nodes / 2 && disjoint(round, nodes));
            prop_assert!(round.pairs.iter().all(|pair| posts[pair.responder as usize] == 0), "one half posts");
        }
        if matchings as usize <= nodes / 2 {
            prop_assert_eq!(missing_and_repeated(&rounds, nodes).1, 0);
        }
    }

    #[test]
    fn a_fan_has_each_node_in_turn_and_the_others_as_often_as_each_other(nodes in 2usize..120, many in 1usize..40, seed in any::<u64>()) {
        let many = many.min(nodes - 1);
        let all = Nodes::flat(nodes);
        let incast = all.schedule(&Pattern::Incast { senders: many as u32 }, seed);
        let outcast = all.schedule(&Pattern::Outcast { receivers: many as u32 }, seed);
        for (rounds, one, other) in [
            (&incast, (|pair: &PlannedPair| pair.responder) as fn(&PlannedPair) -> Rank, (|pair: &PlannedPair| pair.requester) as fn(&PlannedPair) -> Rank),
            (&outcast, |pair| pair.requester, |pair| pair.responder),
        ] {
            prop_assert_eq!(rounds.len(), nodes);
            prop_assert!(rounds.iter().all(|round| round.pairs.iter().all(|pair| one(pair) == one(&round.pairs[0]))));
            prop_assert!(counts(rounds, nodes, one).iter().all(|count| *count == many));
            prop_assert!(counts(rounds, nodes, other).iter().all(|count| *count == many));
        }
        prop_assert_eq!(missing_and_repeated(&incast, nodes).0, missing_and_repeated(&outcast, nodes).0);
    }

    #[test]
    fn leaves_are_measured_in_step_and_never_across((nodes, leaf, leaves, seed) in sizes()) {
        prop_assume!(leaf >= 2);
        let all = Nodes::below(nodes, leaf, leaves);
        let rounds = all.schedule(&Pattern::Leaf, seed);
        let seats = all.seats();
        let mut pairs = 0;
        for round in &rounds {
            prop_assert!(disjoint(round, nodes));
            pairs += round.pairs.len();
            prop_assert!(round.pairs.iter().all(|pair| seats[pair.requester as usize].switches == seats[pair.responder as usize].switches));
        }
        let mut sizes: BTreeMap<&[String], usize> = BTreeMap::new();
        seats.iter().for_each(|seat| *sizes.entry(seat.switches).or_default() += 1);
        prop_assert_eq!(pairs, sizes.values().map(|size| size * (size - 1) / 2).sum::<usize>());
        prop_assert_eq!(missing_and_repeated(&rounds, nodes).1, 0);
        let largest = *sizes.values().max().unwrap();
        prop_assert_eq!(rounds.len(), if largest.is_multiple_of(2) { largest - 1 } else { largest });
    }

    #[test]
    fn hop_rounds_are_disjoint_of_one_class_each_and_meet_every_pair_once((nodes, leaf, leaves, seed) in sizes(), cut in 0usize..4) {
        let mut all = Nodes::below(nodes, leaf, leaves);
        // Some are plugged in further up, as in a tree that is not the same everywhere.
        all.0.iter_mut().step_by(cut + 1).filter(|_| cut > 0).for_each(|(_, switches)| switches.truncate(cut));
        let rounds = all.schedule(&Pattern::Hop, seed);
        prop_assert_eq!(missing_and_repeated(&rounds, nodes), (0, 0));
        let seats = all.seats();
        let mut last = 0;
        for round in &rounds {
            prop_assert!(disjoint(round, nodes) && !round.pairs.is_empty());
            let hops = |pair: &PlannedPair| schema::cluster::hops(seats[pair.requester as usize].switches, seats[pair.responder as usize].switches);
            let class = hops(&round.pairs[0]).unwrap();
            prop_assert!(class >= last && round.pairs.iter().all(|pair| hops(pair) == Some(class)));
            last = class;
        }
    }

    #[test]
    fn a_victim_is_measured_alone_and_loaded_by_others_that_spare_it(nodes in 4usize..60, asked in proptest::option::of(1u32..20), seed in any::<u64>()) {
        let asked = asked.map(|asked| asked.min(nodes as u32 - 3));
        let rounds = Nodes::flat(nodes).schedule(&Pattern::Victim { congestors: asked }, seed);
        let congestors = asked.map_or((nodes - 3).min(MOST_CONGESTORS as usize), |asked| asked as usize);
        prop_assert_eq!(rounds.len(), 4 * (nodes / 2 + nodes % 2));
        for both in rounds.chunks(2) {
            let (alone, loaded) = (&both[0].pairs, &both[1].pairs);
            prop_assert!(alone.len() == 1 && loaded[0] == alone[0] && loaded.len() == 1 + congestors);
            let load = &loaded[1..];
            prop_assert!(load.iter().all(|pair| pair.role == PairRole::Congestor && pair.responder == load[0].responder));
            let victims = [alone[0].requester, alone[0].responder];
            prop_assert!(load.iter().all(|pair| !victims.contains(&pair.requester) && !victims.contains(&pair.responder)));
            let mut senders: Vec<Rank> = load.iter().map(|pair| pair.requester).collect();
            senders.sort_unstable();
            senders.dedup();
            prop_assert_eq!(senders.len(), congestors);
        }
    }
}
