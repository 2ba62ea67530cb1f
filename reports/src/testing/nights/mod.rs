//! A synthetic history of nights with a known answer: what a suite would have measured between every pair of a few hosts.
//! Seeded: the same [`Nights`] are the same history.
//!
//! A night's level of a series is its base, times the steps so far, times the noise of the night. Five runs vary around it.

mod noise;
pub mod rates;

pub use noise::{Night as NightNoise, Wander};

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use schema::{
    Bytes, Configuration, Endpoint, Fabric, History, Metric, Night, NightCampaign, NightPart, NightValue,
    Origin, SCHEMA_VERSION, Series, SeriesKey,
};

use super::STARTED_AT_UNIX_MS;
use crate::compare::median;

const DAY_MS: u64 = 86_400_000;
/// What the suite measures between two hosts.
const METRICS: [Metric; 4] = [Metric::Bandwidth, Metric::P50, Metric::MessageRate, Metric::P99];
/// Spread from run to run within a night, of ln.
const RUN_NOISE: f64 = 0.003;

/// Which series something happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// All.
    Everywhere,
    /// Those with this host at either end.
    Host(&'static str),
    /// The n-th, from 0.
    Series(usize),
}

/// A level that changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Which series.
    pub at: Where,
    /// The first night of the new level, from 0.
    pub night: usize,
    /// How much worse, as a share: less bandwidth, more latency; below 0 is better.
    pub worse: f64,
    /// The first night at which it is over, from 0.
    pub until: Option<usize>,
}

/// A fact of the configuration that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    /// The first night with it, from 0.
    pub night: usize,
    /// Its name.
    pub what: &'static str,
    /// Its new value.
    pub to: &'static str,
}

/// What is put into a history.
#[derive(Debug, Clone, PartialEq)]
pub struct Nights {
    /// Nights.
    pub nights: usize,
    /// Series.
    pub series: usize,
    /// Hosts, `node1` and so on; every pair of them is measured in turn.
    pub hosts: usize,
    /// How the nights vary around their level.
    pub noise: Wander,
    /// Standard deviation of that, as a share of the level.
    pub cv: f64,
    /// Levels that change.
    pub steps: Vec<Step>,
    /// Configurations that change.
    pub updates: Vec<Update>,
    /// Nights without a value, from 0, and the series they fail for.
    pub failed: Vec<(usize, Where)>,
    /// Seed of all noise.
    pub seed: u64,
}

impl Default for Nights {
    /// Sixty nights of twelve series between three hosts, with one per cent of noise and nothing else.
    fn default() -> Self {
        Nights {
            nights: 60,
            series: 12,
            hosts: 3,
            noise: Wander::Normal,
            cv: 0.01,
            steps: Vec::new(),
            updates: Vec::new(),
            failed: Vec::new(),
            seed: 1,
        }
    }
}

impl Nights {
    /// A year of 200 series between five hosts, with most of what happens in a year.
    pub fn year() -> Self {
        let step = |at, night, worse, until| Step { at, night, worse, until };
        Nights {
            nights: 365,
            series: 200,
            hosts: 5,
            noise: Wander::Autocorrelated,
            steps: vec![
                step(Where::Host("node3"), 60, 0.08, Some(75)),
                step(Where::Series(4), 100, 0.06, None),
                step(Where::Series(12), 180, -0.05, None),
                step(Where::Everywhere, 210, 0.10, Some(211)),
                step(Where::Host("node2"), 361, 0.07, None),
            ],
            updates: vec![
                Update { night: 120, what: "kernel", to: "6.1.0-28" },
                Update { night: 250, what: "requester.firmware", to: "20.42.1000" },
            ],
            failed: vec![(40, Where::Everywhere), (222, Where::Host("node4")), (364, Where::Series(7))],
            ..Nights::default()
        }
    }

    /// Makes the history.
    pub fn history(&self) -> History {
        let (configurations, of_night) = self.configurations();
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let keys = self.keys();
        let series = keys.into_iter().enumerate().map(|(index, key)| {
            let values = self.values(index, &key, &of_night, &mut random);
            Series { id: index as i64 + 1, key, values }
        });
        History {
            schema_version: SCHEMA_VERSION,
            suite: "nightly".into(),
            nights: (0..self.nights).map(night).collect(),
            configurations,
            series: series.collect(),
            notes: Vec::new(),
            acknowledgements: Vec::new(),
            baselines: Vec::new(),
            reported: Vec::new(),
        }
    }

    fn keys(&self) -> Vec<SeriesKey> {
        let host = |number: usize| Endpoint { host: format!("node{number}"), device: "mlx5_0".into() };
        let pairs: Vec<(usize, usize)> =
            (1..=self.hosts).flat_map(|one| (one + 1..=self.hosts).map(move |other| (one, other))).collect();
        let key = |index: usize| {
            let (one, other) = pairs[index / METRICS.len() % pairs.len()];
            let metric = METRICS[index % METRICS.len()];
            let what = if metric.quantile().is_some() { "latency" } else { "write" };
            SeriesKey {
                engine: "verbs-bench".into(),
                fabric: Fabric::Verbs,
                scenario: format!("nightly-{what}"),
                workload: what.into(),
                variant: "default".into(),
                msg_bytes: Bytes(64 << (4 * (index / METRICS.len() / pairs.len()).min(8))),
                metric,
                requester: host(one),
                responder: host(other),
            }
        };
        (0..self.series).map(key).collect()
    }

    fn values(
        &self,
        index: usize,
        key: &SeriesKey,
        configuration: &[i64],
        random: &mut ChaCha8Rng,
    ) -> Vec<NightValue> {
        let mut noise = NightNoise::new(self.noise, self.cv);
        let value = |night: usize| {
            let mut level = base(key) * (1.0 + noise.next(random));
            for step in self.steps.iter().filter(|step| step.holds(night) && step.at.is(index, key)) {
                let better_up = key.metric.quantile().is_none();
                level *= if better_up { 1.0 - step.worse } else { 1.0 + step.worse };
            }
            let runs: Vec<f64> = (0..5)
                .map(|_| {
                    let noise: f64 = StandardNormal.sample(random);
                    level * (RUN_NOISE * noise).exp()
                })
                .collect();
            let failed = self.failed.iter().any(|(when, at)| *when == night && at.is(index, key));
            let runs = if failed { Vec::new() } else { runs };
            NightValue {
                night: night as i64 + 1,
                value: median(&runs),
                runs,
                failed_runs: if failed { 5 } else { 0 },
                failure: failed.then(|| "connect: no answer from the responder in 10 s".into()),
                confirm_runs: Vec::new(),
                configuration: configuration[night],
                limit: None,
                faults: Vec::new(),
            }
        };
        (0..self.nights).map(value).collect()
    }

    fn configurations(&self) -> (BTreeMap<i64, Configuration>, Vec<i64>) {
        let first = [
            ("kernel", "6.1.0-27"),
            ("binary", "0.9.0"),
            ("path_mtu", "4096"),
            ("requester.firmware", "20.41.1000"),
            ("responder.firmware", "20.41.1000"),
        ];
        let mut facts: BTreeMap<String, String> =
            first.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mut known = BTreeMap::from([(1, Configuration(facts.clone()))]);
        let of_night = |night| {
            let updates: Vec<&Update> = self.updates.iter().filter(|update| update.night == night).collect();
            if !updates.is_empty() {
                facts.extend(updates.iter().map(|update| (update.what.to_owned(), update.to.to_owned())));
                known.insert(known.len() as i64 + 1, Configuration(facts.clone()));
            }
            known.len() as i64
        };
        let of_nights = (0..self.nights).map(of_night).collect();
        (known, of_nights)
    }
}

impl Step {
    fn holds(&self, night: usize) -> bool {
        self.night <= night && self.until.is_none_or(|until| night < until)
    }
}

impl Where {
    fn is(self, index: usize, key: &SeriesKey) -> bool {
        match self {
            Where::Everywhere => true,
            Where::Host(host) => key.requester.host == host || key.responder.host == host,
            Where::Series(number) => number == index,
        }
    }
}

/// What a fast NIC would do.
fn base(key: &SeriesKey) -> f64 {
    let bits = key.msg_bytes.get() as f64 * 8.0;
    let one_way_ns = 900.0 + bits / 100.0;
    let messages_per_sec = 1e9 / (7.0 + bits / 97.0);
    match key.metric {
        Metric::Bandwidth => messages_per_sec * bits,
        Metric::MessageRate => messages_per_sec,
        Metric::P99 => 1.4 * one_way_ns,
        _ => one_way_ns,
    }
}

fn night(index: usize) -> Night {
    let started_at_unix_ms = STARTED_AT_UNIX_MS + DAY_MS * index as u64;
    Night {
        id: index as i64 + 1,
        suite: "nightly".into(),
        origin: Origin::Measured,
        started_at_unix_ms,
        ended_at_unix_ms: Some(started_at_unix_ms + 1_800_000),
        campaigns: vec![NightCampaign { campaign: 100 + index as i64, part: NightPart::First }],
        cluster: None,
    }
}

/// A history of one bandwidth series with these values, night by night, all of one configuration.
pub fn of_values(values: &[Option<f64>]) -> History {
    let mut history = Nights { nights: values.len(), series: 1, ..Nights::default() }.history();
    for (night, value) in history.series[0].values.iter_mut().zip(values) {
        night.value = *value;
        night.runs = vec![*value; 5].into_iter().flatten().collect();
        night.failed_runs = 5 - night.runs.len() as u32;
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_nights_are_the_same_history() {
        let nights = Nights { steps: Nights::year().steps, ..Nights::default() };
        assert_eq!(nights.history(), nights.history());
        assert_ne!(nights.history(), Nights { seed: 2, ..nights.clone() }.history());
    }

    #[test]
    fn what_is_put_in_is_in_it() {
        let quiet = Nights { cv: 0.0, ..Nights::default() };
        let step = Step { at: Where::Host("node3"), night: 50, worse: 0.1, until: Some(55) };
        let update = Update { night: 30, what: "kernel", to: "7.0" };
        let failed = vec![(20, Where::Series(1))];
        let history = Nights { steps: vec![step], updates: vec![update], failed, ..quiet.clone() }.history();
        assert_eq!(history.nights.len(), 60);
        assert_eq!(history.series[1].values[20].value, None);
        assert!(history.series[0].values[20].value.is_some());
        let changes = history.configurations[&history.series[0].values[30].configuration]
            .changes_from(&history.configurations[&history.series[0].values[29].configuration]);
        assert_eq!(changes.len(), 1);
        for series in &history.series {
            let (before, during) = (series.values[49].value.unwrap(), series.values[52].value.unwrap());
            let sign = if series.key.metric.quantile().is_none() { -1.0 } else { 1.0 };
            let expected = if Where::Host("node3").is(0, &series.key) { 0.1 * sign } else { 0.0 };
            assert!((during / before - 1.0 - expected).abs() < 0.015, "{}", series.key);
        }
        let keys: std::collections::HashSet<&SeriesKey> = history.series.iter().map(|one| &one.key).collect();
        assert_eq!(keys.len(), history.series.len());
    }

    #[test]
    fn a_year_has_two_hundred_series_of_their_own() {
        let keys = Nights::year().keys();
        let names: std::collections::HashSet<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 200);
    }
}
