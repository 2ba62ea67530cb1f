//! Measures the pairs of a simulated cluster, round by round.

use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use schema::{
    Bytes, Cluster, Directions, Metric, Nanos, PairOutcome, PairPoint, PairRole, PairRun, PatternKind, Round,
    RoundPart,
};

use super::{Noise, Simulated};
use crate::cluster::{ClusterRules, retested};

/// Payload of a 100 Gb/s link.
const LINK_BITS_PER_SEC: f64 = 97e9;
/// What 99 of 100 messages take at most on it.
const P99_NS: f64 = 42_000.0;
/// A round and what is around it.
const ROUND_MS: u64 = 3_000;

/// A simulated cluster that is being measured.
pub struct Rig<'s> {
    /// What was measured so far.
    pub cluster: Cluster,
    fabric: Fabric<'s>,
}

/// What carries its messages.
struct Fabric<'s> {
    simulated: &'s Simulated,
    /// What every node sends and receives of what is usual, of ln.
    nodes: Vec<(f64, f64)>,
    random: ChaCha8Rng,
}

impl<'s> Rig<'s> {
    /// With nothing measured.
    pub fn of(simulated: &'s Simulated) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(simulated.seed);
        // How nodes differ has no tail: one far off would be slow, and not by chance.
        let even = Noise { tail: super::Tail::Normal, ..simulated.noise };
        let mut of_node = || simulated.noise.node * even.draw(&mut random);
        let nodes = (0..simulated.nodes).map(|_| (of_node(), of_node())).collect();
        Rig { cluster: simulated.empty(), fabric: Fabric { simulated, nodes, random } }
    }

    /// Measures the rounds of the pattern.
    pub fn pattern(&mut self) {
        let rounds = self.rounds();
        let steps = rounds.len();
        for (step, pairs) in rounds.into_iter().enumerate() {
            let label = format!("step {} of {steps}", step + 1);
            self.round(RoundPart::Pattern, &label, &pairs);
            if self.fabric.simulated.directions == Directions::Both {
                let back: Vec<(u32, u32)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
                self.round(RoundPart::Pattern, &format!("{label}, back"), &back);
            }
        }
        self.end();
    }

    /// Measures again what stands out, until enough is known.
    pub fn retest(&mut self, rules: &ClusterRules) {
        let pattern = std::mem::replace(&mut self.cluster, self.fabric.simulated.empty());
        self.cluster = retested(pattern, rules, |cluster, attempt, pairs| {
            self.fabric.round(cluster, RoundPart::Retest, &format!("retest {}", attempt + 1), pairs);
        });
        self.end();
    }

    /// Measures a round of pairs, requester first.
    pub fn round(&mut self, part: RoundPart, label: &str, pairs: &[(u32, u32)]) {
        self.fabric.round(&mut self.cluster, part, label, pairs);
    }

    fn end(&mut self) {
        let last = self.cluster.rounds.last();
        self.cluster.ended_at_unix_ms = last.map(|round| round.started_at_unix_ms + ROUND_MS);
    }

    fn rounds(&mut self) -> Vec<Vec<(u32, u32)>> {
        let n = self.fabric.simulated.nodes;
        match self.fabric.simulated.pattern {
            PatternKind::Screen => {
                let mut nodes: Vec<u32> = (0..n).collect();
                nodes.shuffle(&mut self.fabric.random);
                vec![nodes.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()]
            }
            PatternKind::Shift => (1..n).map(|d| (0..n).map(|a| (a, (a + d) % n)).collect()).collect(),
            _ => tournament(n),
        }
    }
}

impl Fabric<'_> {
    fn round(&mut self, cluster: &mut Cluster, part: RoundPart, label: &str, pairs: &[(u32, u32)]) {
        let number = cluster.rounds.len() as u32;
        let started = cluster.started_at_unix_ms + u64::from(number) * ROUND_MS;
        cluster.rounds.push(Round {
            number,
            part,
            label: label.to_owned(),
            workload: 0,
            started_at_unix_ms: started,
            wall_ns: Nanos(ROUND_MS * 1_000_000),
            skew_ns: Some(Nanos(21_000 + 100 * u64::from(number % 7))),
            skew_uncertainty_ns: Some(Nanos(60_000)),
            controller_ns: Nanos(1_400_000),
        });
        for (requester, responder) in pairs {
            let point = self.point(*requester, *responder);
            cluster.runs.push(PairRun {
                sequence: cluster.runs.len() as u32,
                round: number,
                role: PairRole::Measured,
                requester: *requester,
                responder: *responder,
                outcome: PairOutcome::Measured,
                points: vec![point],
                late_ns: Some(9_000),
                remarks: Vec::new(),
            });
        }
    }

    fn point(&mut self, requester: u32, responder: u32) -> PairPoint {
        let Simulated { noise, plants, metrics, .. } = self.simulated;
        let leaf = |rank| self.simulated.leaf(rank);
        let mut speed = self.nodes[requester as usize].0 + self.nodes[responder as usize].1;
        if leaf(requester) != leaf(responder) {
            speed += (-noise.hop).ln_1p();
        }
        for plant in plants.iter().filter(|plant| plant.slows(requester, responder, leaf)) {
            speed += (-plant.by).ln_1p();
        }
        speed += noise.outlier(&mut self.random);
        let mut varied = |spread: f64| (speed + spread * noise.draw(&mut self.random)).exp();
        let bandwidth = LINK_BITS_PER_SEC * varied(noise.run);
        let later = |ns: f64, speed: f64| Some(ns / speed);
        let msg_bytes = Bytes(65_536);
        let p99 = metrics.contains(&Metric::P99).then(|| varied(2.0 * noise.run));
        let p50 = metrics.contains(&Metric::P50).then(|| varied(noise.run));
        PairPoint {
            msg_bytes,
            bandwidth_bits_per_sec: Some(bandwidth),
            messages_per_sec: Some(bandwidth / 8.0 / msg_bytes.get() as f64),
            p50_ns: p50.and_then(|speed| later(P99_NS / 2.0, speed)),
            p99_ns: p99.and_then(|speed| later(P99_NS, speed)),
        }
    }
}

/// Every pair once, no node twice in a round: the first node stays, the others move on by one.
fn tournament(nodes: u32) -> Vec<Vec<(u32, u32)>> {
    let seats = nodes + nodes % 2;
    let round = |step: u32| {
        let seat = |place: u32| if place == 0 { 0 } else { (place - 1 + step) % (seats - 1) + 1 };
        let pairs = (0..seats / 2).map(|place| (seat(place), seat(seats - 1 - place)));
        // With an odd number of nodes the last seat is empty.
        pairs.filter(|(a, b)| *a < nodes && *b < nodes).collect()
    };
    (0..seats.saturating_sub(1)).map(round).collect()
}
