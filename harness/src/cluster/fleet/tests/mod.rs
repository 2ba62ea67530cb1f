//! Fleets of stand-ins, and of agents with scripts for verbs-bench.

mod scripted;
mod stand_in;
mod tuning;

use std::{
    thread,
    time::{Duration, Instant},
};

use schema::{NodeState, Outcome, RunRecord, Side, Stage};

use self::stand_in::{Deed, Kind, Manner, Theatre, limits, task};
use super::{Crew, Event, Fleet, FleetWishes, Limits, ear::News};
use crate::{cluster::Rank, interrupt::Interrupt};

const SECOND_NS: u64 = 1_000_000_000;

fn good(nodes: usize) -> Vec<Manner> {
    (0..nodes).map(|_| Manner::good()).collect()
}

fn meet(manners: Vec<Manner>) -> (Theatre, Fleet) {
    let mut stage = Theatre::new(manners);
    let fleet = stage.meet(&FleetWishes { device: "soft".into(), ..FleetWishes::default() }, limits());
    (stage, fleet)
}

fn measure(fleet: &mut Fleet, pairs: &[(Rank, Rank)]) -> super::RoundResult {
    let tasks: Vec<_> = pairs.iter().map(|(requester, responder)| task(*requester, *responder)).collect();
    let round = fleet.measure(&tasks, &Interrupt::default()).expect("nobody interrupted");
    assert_eq!(round.pairs.len(), tasks.len());
    for (pair, task) in round.pairs.iter().zip(&tasks) {
        assert_eq!(pair.record.spec, task.spec);
    }
    round
}

fn why(record: &RunRecord) -> String {
    match &record.outcome {
        Outcome::Failed { side, cause, .. } => format!("{side}: {cause}"),
        outcome => outcome.to_string(),
    }
}

fn whys(round: &super::RoundResult) -> Vec<String> {
    round.pairs.iter().map(|pair| why(&pair.record)).collect()
}

fn lost(fleet: &Fleet, rank: Rank) -> String {
    match &fleet.nodes()[rank as usize].state {
        NodeState::Lost { why, at_unix_ms } if *at_unix_ms > 0 => why.clone(),
        state => panic!("{state:?}"),
    }
}

#[test]
fn pairs_start_together_whatever_their_clocks_show() {
    let ahead = [0, 7_000 * SECOND_NS, 3, 86_400 * SECOND_NS];
    let late = [1_000_000, 41_000_000, 0, 0];
    let manners = ahead.iter().zip(late);
    let manners =
        manners.map(|(ahead_ns, late_ns)| Manner { ahead_ns: *ahead_ns, late_ns, ..Manner::good() });
    let (stage, mut fleet) = meet(manners.collect());
    assert_eq!(fleet.nodes()[3].host.as_deref(), Some("host3"));
    let round = measure(&mut fleet, &[(0, 2), (1, 3)]);
    assert_eq!(whys(&round), ["completed", "completed"]);
    let sides: Vec<Side> = round.pairs[0].record.evidence.iter().map(|evidence| evidence.side).collect();
    assert_eq!(sides, [Side::Requester, Side::Responder]);
    let doubt = round.skew_uncertainty_ns.unwrap().get();
    assert!(doubt > 0);
    for (pair, late_ns) in round.pairs.iter().zip(late) {
        assert!(pair.late_ns.unwrap().abs_diff(late_ns as i64) <= doubt, "{:?} {doubt}", pair.late_ns);
    }
    assert!(round.skew_ns.unwrap().get().abs_diff(40_000_000) <= doubt, "{:?} {doubt}", round.skew_ns);
    // Every node in both roles, and no run is taken for another.
    assert_eq!(whys(&measure(&mut fleet, &[(2, 1), (3, 0)])), ["completed", "completed"]);
    assert_eq!(stage.seen(0, Kind::Stop), 0, "what ends by itself is not stopped");
    assert_eq!(fleet.dismiss(), Vec::<String>::new());
}

#[test]
fn one_may_serve_several_at_once_and_send_meanwhile() {
    let (_stage, mut fleet) = meet(good(4));
    let incast = measure(&mut fleet, &[(1, 0), (2, 0), (3, 0)]);
    assert_eq!(whys(&incast), ["completed"; 3]);
    let shift = measure(&mut fleet, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    assert_eq!(whys(&shift), ["completed"; 4]);
    let alone = measure(&mut fleet, &[(0, 1)]);
    assert_eq!((alone.skew_ns, alone.skew_uncertainty_ns), (None, None), "one pair has no skew");
    assert!(alone.pairs[0].late_ns.is_some());
}

#[test]
fn who_does_not_come_is_absent_and_the_rest_is_measured() {
    let mut stage = Theatre::new([
        Manner::good(),
        Manner::good(),
        Manner::with(Kind::Hello, Deed::Ignore),
        Manner::with(Kind::Hello, Deed::Die),
    ]);
    stage.muster(Err("drained: broken fan".into()));
    let mut fleet = stage.meet(&FleetWishes::default(), limits());
    let absent = |rank: usize| match &fleet.nodes()[rank].state {
        NodeState::Absent { why } => why.clone(),
        state => panic!("{state:?}"),
    };
    assert_eq!(absent(2), "its agent said nothing within 3 s");
    assert_eq!(absent(3), "the link to it ended");
    assert_eq!(absent(4), "drained: broken fan");
    let round = measure(&mut fleet, &[(0, 1), (2, 3), (1, 4)]);
    assert_eq!(
        whys(&round),
        [
            "completed",
            "requester: node3 (local): its agent said nothing within 3 s",
            "responder: node5 (node5): drained: broken fan"
        ]
    );
    assert_eq!(stage.seen(1, Kind::Serve), 1, "nothing is asked for a pair that can't be");
}

/// What every misdeed of one side comes to, all in one round beside a pair that is well.
#[test]
fn nobodys_misdeed_holds_others_up() {
    const GOOD: u32 = 1_000;
    // Who misbehaves with which order and how; what its pair says; what becomes of the node.
    let plays: &[(Side, Kind, Deed, &str, &str)] = &[
        (Side::Responder, Kind::Serve, Deed::Die, "its node is lost", "the link to it ended"),
        (Side::Requester, Kind::Measure, Deed::Die, "its node is lost", "the link to it ended"),
        (Side::Requester, Kind::Start, Deed::Die, "its node is lost", "the link to it ended"),
        (
            Side::Responder,
            Kind::Serve,
            Deed::Hang,
            "did not listen within 2 s",
            "silent for 3 s: hung, stopped or cut off",
        ),
        (
            Side::Requester,
            Kind::Measure,
            Deed::Hang,
            "silent for",
            "silent for 3 s: hung, stopped or cut off",
        ),
        (Side::Requester, Kind::Start, Deed::Hang, "silent for", "silent for 3 s: hung, stopped or cut off"),
        (
            Side::Responder,
            Kind::Serve,
            Deed::Ignore,
            "did not listen within 2 s",
            "did not end a process within",
        ),
        (
            Side::Requester,
            Kind::Measure,
            Deed::Ignore,
            "was not ready to post within 4 s",
            "did not end a process",
        ),
        (Side::Requester, Kind::Start, Deed::Ignore, "gave no record in the time planned", ""),
        (Side::Responder, Kind::Serve, Deed::NotStart, "starting verbs-bench: no such file", ""),
        (Side::Requester, Kind::Measure, Deed::NotStart, "starting verbs-bench: no such file", ""),
        (Side::Responder, Kind::Serve, Deed::Refuse, "refused the run: error: tx_depth: 0 is too small", ""),
        (
            Side::Requester,
            Kind::Measure,
            Deed::Refuse,
            "refused the run: error: tx_depth: 0 is too small",
            "",
        ),
        (Side::Requester, Kind::Start, Deed::Refuse, "refused the run: error: tx_depth: 0 is too small", ""),
        (Side::Responder, Kind::Serve, Deed::Babble, "did not say where it listens", ""),
        (Side::Requester, Kind::Measure, Deed::Babble, "did not say that it stands ready, but: mumble", ""),
    ];
    let mut manners = good(4);
    let mut pairs = vec![(0, 1), (2, 3)];
    let mut bad = vec![GOOD, GOOD];
    for (side, kind, deed, ..) in plays {
        let (requester, responder) = (manners.len() as Rank, manners.len() as Rank + 1);
        pairs.push((requester, responder));
        let (one, other) = (Manner::with(*kind, *deed), Manner::good());
        let (one, other) = if *side == Side::Requester { (one, other) } else { (other, one) };
        bad.push(if *side == Side::Requester { requester } else { responder });
        manners.extend([one, other]);
    }
    let (stage, mut fleet) = meet(manners);
    let round = measure(&mut fleet, &pairs);
    let said = whys(&round);
    assert_eq!(said[..2], ["completed", "completed"]);
    for ((play, said), bad) in plays.iter().zip(&said[2..]).zip(&bad[2..]) {
        let (side, _, _, pair_says, node_is) = play;
        assert!(said.starts_with(&format!("{side}: ")) && said.contains(pair_says), "{play:?}: {said}");
        match node_is {
            &"" => assert_eq!(fleet.nodes()[*bad as usize].state, NodeState::Present, "{play:?}"),
            node_is => assert!(lost(&fleet, *bad).contains(node_is), "{play:?}: {}", lost(&fleet, *bad)),
        }
    }
    let of_launch = |pair: usize| {
        matches!(round.pairs[pair].record.outcome, Outcome::Failed { stage: Stage::Launch, .. })
    };
    assert!((2..13).all(of_launch), "what could not run is told apart from what ran badly");
    // The partners of the bad ones go on, with others of their kind.
    let partners: Vec<Rank> = (4..fleet.nodes().len() as Rank).filter(|rank| !bad.contains(rank)).collect();
    let pairs: Vec<(Rank, Rank)> = partners.chunks_exact(2).map(|two| (two[0], two[1])).collect();
    assert_eq!(whys(&measure(&mut fleet, &pairs)), vec!["completed"; pairs.len()]);
    // One that is lost is asked for nothing more, nor is its partner for its sake.
    let (gone, partner) = (bad[2], bad[2] - 1);
    let served = stage.seen(partner, Kind::Serve);
    let round = measure(&mut fleet, &[(gone, partner), (0, 1)]);
    assert!(whys(&round)[0].contains("the link to it ended"), "{:?}", whys(&round));
    assert_eq!(whys(&round)[1], "completed");
    assert_eq!(stage.seen(partner, Kind::Serve), served);
    fleet.dismiss();
}

#[test]
fn an_interrupt_in_any_phase_ends_what_runs_and_leaves_nothing_to_keep() {
    for (kind, stopped) in [(Kind::Serve, 1), (Kind::Measure, 2), (Kind::Start, 2)] {
        let interrupt = Interrupt::default();
        let raise = interrupt.clone();
        let deeds = Box::new(move |order: &super::Order| {
            if Kind::of(order) != kind {
                return Deed::Obey;
            }
            raise.raise();
            // It is under way, and would take long.
            if kind == Kind::Start { Deed::Ignore } else { Deed::Babble }
        });
        let mut manners = good(4);
        manners[if kind == Kind::Serve { 1 } else { 0 }].deeds = deeds;
        let (stage, mut fleet) = meet(manners);
        assert!(fleet.measure(&[task(0, 1), task(2, 3)], &interrupt).is_none());
        let stops: usize = [0, 1].into_iter().map(|rank| stage.seen(rank, Kind::Stop)).sum();
        assert_eq!(stops, stopped, "{kind:?}");
        assert!(fleet.nodes().iter().all(|node| node.state == NodeState::Present));
        assert!(fleet.measure(&[task(2, 3)], &interrupt).is_none(), "it stays interrupted");
        assert_eq!(fleet.dismiss(), Vec::<String>::new());
    }
}

#[test]
fn an_interrupt_while_they_meet_leaves_those_absent_who_have_not_come() {
    let mut stage = Theatre::new([Manner::good(), Manner::with(Kind::Hello, Deed::Ignore)]);
    let events = stage.events();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        events.send(Event::Interrupted)
    });
    let fleet = stage.meet(&FleetWishes::default(), Limits::default());
    assert!(matches!(&fleet.nodes()[1].state, NodeState::Absent { .. }), "{:?}", fleet.nodes()[1]);
}

#[test]
fn who_does_not_tell_the_time_is_lost_and_who_is_not_audited_is_remarked_on() {
    let mut stage = Theatre::new([
        Manner::good(),
        Manner::with(Kind::Audit, Deed::Ignore),
        Manner::with(Kind::Clock, Deed::Ignore),
    ]);
    let wishes = FleetWishes { device: "soft".into(), audit: true, ..FleetWishes::default() };
    let mut fleet = stage.meet(&wishes, limits());
    let facts = &fleet.nodes()[0].audit.as_ref().unwrap().facts;
    assert_eq!(facts.0.get("device").map(String::as_str), Some("soft"));
    assert_eq!(fleet.nodes()[1].audit, None);
    assert_eq!(fleet.remarks(), ["node2 (local): not audited: no answer within 3 s"]);
    let round = measure(&mut fleet, &[(0, 1), (0, 2)]);
    assert_eq!(whys(&round)[0], "completed");
    assert!(lost(&fleet, 2).contains("did not tell the time within 3 s"), "{}", lost(&fleet, 2));
}

#[test]
fn silence_is_noticed_but_not_while_we_were_away_ourselves() {
    let mut theatre = Theatre::new(good(2));
    let limits = Limits { silence: Duration::from_secs(12), ..limits() };
    let mut fleet = theatre.meet(&FleetWishes::default(), limits);
    let long_ago = |fleet: &Fleet| Instant::now() - 2 * fleet.limits.silence;
    // Nobody looked for so long: whoever was stopped was us.
    fleet.members[0].heard_at = long_ago(&fleet);
    fleet.look_at = long_ago(&fleet);
    assert!(!matches!(fleet.hear(Instant::now()), Some(News::Lost(_))));
    assert!(fleet.is_here(0));
    fleet.members[0].heard_at = long_ago(&fleet);
    fleet.look_at = Instant::now();
    assert!(matches!(fleet.hear(Instant::now()), Some(News::Lost(0))));
    assert!(fleet.is_here(1) && lost(&fleet, 0).contains("silent"));
    // Once lost, always lost.
    let late = crate::agent::protocol::Report::Clock { monotonic_ns: 1 };
    fleet.events.send(Event::Report(0, late)).unwrap();
    assert!(fleet.hear(Instant::now()).is_none());
}
