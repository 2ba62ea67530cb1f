//! A synthetic campaign with a known answer, for tests and benches. Seeded: the same sample is the same campaign.
//!
//! The latency of a run is a log-normal curve with a slow tail, laid down quantile by quantile and scaled by what the variant
//! does and by noise from run to run; the bandwidth is that of a link with a fixed cost per message.

pub mod calibration;
pub mod cluster;
mod cluster_report;
pub mod factorial;
mod large;
mod night_campaigns;
mod night_report;
pub mod nights;
mod watched;

pub use cluster_report::{
    awkward_cluster, awkward_cluster_report, cluster_report, fine_cluster, fine_cluster_report,
    measured_cluster,
};
pub use large::large;
pub use night_campaigns::night_campaigns;
pub use night_report::{awkward_names, awkward_night, night_history, night_report, quiet_night_report};

use std::{collections::BTreeMap, f64::consts::LN_2, sync::LazyLock};

use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use schema::{
    BitsPerSec, Bytes, Campaign, CampaignRun, CampaignState, Design, EncodedHistogram, Fabric, Gate,
    Grouping, HostFacts, LatencyKind, LatencySummary, Nanos, Op, Outcome, Point, Purpose, Role, RunRecord,
    RunSpec, SCHEMA_VERSION, Side, SideRecord, SidesTuning, Stage, StopRule, Test, Transport, Variant,
    Workload,
    histogram::new_latency_histogram,
    record::{
        ClockRecord, Counts, DataCheck, DeviceRecord, Granted, Interval, NicTime, NoiseFloor, PaceReport,
        PlacementRecord, Reverse, Versions,
    },
};

use crate::compare::{CompareOptions, Effect, compare};

/// 2026-11-30 00:00 UTC, ms.
const STARTED_AT_UNIX_MS: u64 = 1_795_996_800_000;

/// What is put into a campaign.
#[derive(Debug, Clone)]
pub struct Sample {
    /// What the only workload measures; it is called `write`.
    pub test: Test,
    /// Message sizes.
    pub sizes: Vec<Bytes>,
    /// Candidates: the name, and the factor on bandwidth, or the divisor of latency.
    pub candidates: Vec<(&'static str, f64)>,
    /// Blocks.
    pub blocks: u32,
    /// Standard deviation from run to run, of ln.
    pub noise: f64,
    /// Factor on the control runs: 1 is a sound campaign.
    pub control: f64,
    /// What decides.
    pub gates: Vec<Gate>,
    /// Distinct latencies in a histogram, each of [`SAMPLES_EACH`] messages; 0 keeps a single sample, which is fast.
    pub latencies: u32,
    /// Seed of noise and order.
    pub seed: u64,
}

/// Messages of each distinct latency.
pub const SAMPLES_EACH: u64 = 50;

impl Default for Sample {
    /// A bandwidth campaign of ten blocks whose candidate, `deep`, is 50 % faster than the baseline, `base`.
    fn default() -> Self {
        Sample {
            test: Test::Bandwidth,
            sizes: vec![Bytes(65_536)],
            candidates: vec![("deep", 1.5)],
            blocks: 10,
            noise: 0.004,
            control: 1.0,
            gates: Vec::new(),
            latencies: 2_500,
            seed: 1,
        }
    }
}

impl Sample {
    /// Makes the campaign.
    pub fn campaign(&self) -> Campaign {
        let variants = self.variants();
        let specs: BTreeMap<String, RunSpec> =
            variants.iter().map(|variant| (variant.name.clone(), self.spec(&variant.name))).collect();
        Campaign {
            schema_version: SCHEMA_VERSION,
            id: 7,
            scenario: "sample".into(),
            question: "Does a deeper send queue raise bandwidth?".into(),
            scenario_toml: "question = \"Does a deeper send queue raise bandwidth?\"\n".into(),
            started_at_unix_ms: STARTED_AT_UNIX_MS,
            state: CampaignState::Finished,
            stopped: None,
            factors: Vec::new(),
            runs: self.runs(&specs),
            workloads: vec![Workload { name: "write".into(), specs }],
            variants,
            design: Design {
                blocks: self.blocks,
                seed: self.seed,
                cooldown_ns: Nanos(0),
                grouping: Grouping::PerRun,
                stop: StopRule::AllBlocks,
            },
            gates: self.gates.clone(),
        }
    }

    fn variants(&self) -> Vec<Variant> {
        let variant = |name: &str, role| Variant {
            name: name.into(),
            role,
            settings: BTreeMap::from([("tx_depth".into(), self.spec(name).tx_depth.to_string())]),
            tuning: SidesTuning::default(),
            factors_on: Vec::new(),
        };
        let candidates = self.candidates.iter().map(|(name, _)| variant(name, Role::Candidate));
        std::iter::once(variant("base", Role::Baseline)).chain(candidates).collect()
    }

    fn spec(&self, variant: &str) -> RunSpec {
        let mut spec = RunSpec::new(self.test);
        spec.msg_bytes = self.sizes.clone();
        spec.soft_model =
            Some("latency=2us,jitter=exponential:200ns,rate=100Gbps".parse().expect("a valid model"));
        for side in [&mut spec.requester, &mut spec.responder] {
            side.device = "soft".into();
        }
        let candidate = self.candidates.iter().position(|(name, _)| *name == variant);
        if self.test == Test::Bandwidth {
            spec.tx_depth = candidate.map_or(16, |index| 128 << index);
        }
        spec
    }

    fn runs(&self, specs: &BTreeMap<String, RunSpec>) -> Vec<CampaignRun> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let mut runs = Vec::new();
        for block in 0..self.blocks {
            let mut places = vec![("base", Purpose::Measure, 1.0), ("base", Purpose::Control, self.control)];
            places.extend(self.candidates.iter().map(|(name, factor)| (*name, Purpose::Measure, *factor)));
            places.shuffle(&mut random);
            for (variant, purpose, factor) in places {
                let sequence = runs.len() as u32;
                let record = self.record(&specs[variant], factor, sequence, &mut random);
                let (workload, variant) = ("write".to_owned(), variant.to_owned());
                runs.push(CampaignRun {
                    sequence,
                    block,
                    workload,
                    variant,
                    purpose,
                    record,
                    pruned_at_unix_ms: None,
                });
            }
        }
        runs
    }

    fn record(&self, spec: &RunSpec, factor: f64, sequence: u32, random: &mut ChaCha8Rng) -> RunRecord {
        let started = STARTED_AT_UNIX_MS + 3_000 * u64::from(sequence);
        let mut record = RunRecord::start(spec.clone(), Fabric::Soft, started, Outcome::Completed);
        record.wall_ns = Nanos(2_600_000_000);
        record.granted = Some(Granted {
            max_recv_wr: 0,
            transport: None,
            post_api: None,
            outstanding_reads: None,
            thread_domains: false,
            path_mtu: 4096,
            max_send_wr: spec.tx_depth,
            max_inline_bytes: 0,
            cq_entries: spec.tx_depth,
            slots_per_qp: 1,
            working_set_bytes: spec.msg_bytes.iter().copied().max().unwrap_or(Bytes(0)),
        });
        record.requester = Some(side(Side::Requester));
        record.responder = Some(side(Side::Responder));
        record.points = spec.msg_bytes.iter().map(|size| self.point(spec, *size, factor, random)).collect();
        record
    }

    fn point(&self, spec: &RunSpec, msg_bytes: Bytes, factor: f64, random: &mut ChaCha8Rng) -> Point {
        let noise: f64 = StandardNormal.sample(random);
        let factor = factor * (self.noise * noise).exp();
        let bits = msg_bytes.get() as f64 * 8.0;
        // 3 us of cost beside the time on a 100 Gb/s wire, which `factor` shortens; half of it leaves room below the wire.
        let rate = 0.5 * factor * bits / (3e-6 + bits / 100e9);
        let median_ns =
            (2_000.0 + bits / 100.0) / factor * if self.test == Test::Bandwidth { 8.0 } else { 1.0 };
        let mut point = point_of_bandwidth(msg_bytes, rate);
        if self.latencies > 0 {
            let kind = match self.test {
                Test::Bandwidth => LatencyKind::PostToCompletion,
                Test::Latency => LatencyKind::HalfRoundTrip,
            };
            let histogram = histogram(self.latencies, median_ns);
            point.latency_ns = LatencySummary::of(kind, &histogram).expect("not empty");
            point.histogram = EncodedHistogram::encode(&histogram, 0);
        }
        if self.latencies > 0 && self.test == Test::Latency {
            let histogram = histogram(self.latencies, 0.8 * median_ns);
            point.completion_latency_ns = LatencySummary::of(LatencyKind::PostToCompletion, &histogram);
            point.completion_histogram = Some(EncodedHistogram::encode(&histogram, 0));
        }
        if spec.test == Test::Latency {
            (point.test, point.bandwidth_bits_per_sec, point.messages_per_sec) = (Test::Latency, None, None);
        }
        for interval in &mut point.intervals {
            let wobble = 1.0 + 0.01 * (random.random::<f64>() - 0.5);
            interval.messages = (interval.messages as f64 * wobble) as u64;
            interval.p50_ns = Some((median_ns * wobble) as u64);
        }
        point
    }
}

/// A log-normal latency with a tail: one message in 500 takes ten times as long.
fn histogram(latencies: u32, median_ns: f64) -> Histogram<u64> {
    let mut histogram = new_latency_histogram();
    for i in 0..latencies {
        let q = (f64::from(i) + 0.5) / f64::from(latencies);
        // The logistic curve is close to the normal one and has a closed form.
        let body = (0.05 * LN_2.recip() * (q / (1.0 - q)).ln()).exp();
        let tail = if q > 0.998 { 10.0 } else { 1.0 };
        histogram.record_n((median_ns * body * tail) as u64, SAMPLES_EACH).expect("below a minute");
    }
    histogram
}

/// A record with these points, otherwise plain, on a raw software NIC.
pub fn record_of(points: Vec<Point>) -> RunRecord {
    let mut record = RunRecord::start(RunSpec::new(Test::Bandwidth), Fabric::Soft, 0, Outcome::Completed);
    record.points = points;
    record
}

/// One microsecond, once. Made once too: simulated campaigns have tens of thousands of points.
static ONE_SAMPLE: LazyLock<(LatencySummary, EncodedHistogram)> = LazyLock::new(|| {
    let mut one = new_latency_histogram();
    one.record(1_000).expect("below a minute");
    let summary = LatencySummary::of(LatencyKind::PostToCompletion, &one).expect("not empty");
    (summary, EncodedHistogram::encode(&one, 0))
});

/// A point with this bandwidth, in twenty even intervals, with one latency sample.
pub fn point_of_bandwidth(msg_bytes: Bytes, bits_per_sec: f64) -> Point {
    let messages_per_sec = bits_per_sec / 8.0 / msg_bytes.get() as f64;
    let (latency_ns, histogram) = ONE_SAMPLE.clone();
    Point {
        test: Test::Bandwidth,
        op: Op::Write,
        msg_bytes,
        messages: (2.0 * messages_per_sec) as u64,
        duration_ns: Nanos(2_000_000_000),
        bandwidth_bits_per_sec: Some(bits_per_sec),
        messages_per_sec: Some(messages_per_sec),
        latency_ns,
        histogram,
        completion_latency_ns: None,
        completion_histogram: None,
        intervals: (0..20).map(|i| interval(i, (messages_per_sec / 10.0) as u64)).collect(),
        data_check: Some(DataCheck { checked_bytes: msg_bytes, wrong_bytes: Bytes(0), sequences: None }),
        reverse: None,
        counts: None,
        pace: None,
        nic_time: None,
    }
}

/// The i-th interval of 100 ms.
pub fn interval(i: usize, messages: u64) -> Interval {
    Interval {
        start_ns: Nanos(100_000_000 * i as u64),
        duration_ns: Nanos(100_000_000),
        messages,
        p50_ns: None,
        p99_ns: None,
        max_ns: None,
    }
}

/// One side on an ordinary host with the software NIC.
pub fn side(side: Side) -> SideRecord {
    let cpu = if side == Side::Requester { 2 } else { 3 };
    let noise = NoiseFloor {
        watched_ns: Nanos(50_000_000),
        max_gap_ns: Nanos(12_400),
        gaps_over_1us: 13,
        stolen_share: 0.0004,
    };
    SideRecord {
        side,
        host: HostFacts {
            hostname: "bench-a".into(),
            kernel: "6.12.48".into(),
            os: Some("Debian GNU/Linux 12 (bookworm)".into()),
            cpu_model: Some("Example CPU 3.0 GHz".into()),
            cpus_online: Some("0-7".into()),
            cpus_allowed: Some("0-7".into()),
            numa_nodes: Some("0-1".into()),
            memory_bytes: Some(64 << 30),
            virtualized: Some(false),
            governor: Some("performance".into()),
            ..HostFacts::default()
        },
        device: DeviceRecord {
            name: "soft".into(),
            port_num: 1,
            link_layer: "Soft".into(),
            active_mtu: 4096,
            rate_bits_per_sec: Some(BitsPerSec(100_000_000_000)),
            ..DeviceRecord::default()
        },
        gid: None,
        gid_table: Vec::new(),
        placement: PlacementRecord {
            cpus_pinned: Vec::new(),
            cpu_asked: "auto".into(),
            cpu_pinned: Some(cpu),
            cpu_reason: "first whole core of node 0 that takes no interrupts of the NIC".into(),
            cpus_seen: vec![cpu],
            memory_node_asked: "auto".into(),
            memory_node_bound: Some(0),
            pages_by_node: vec![(0, 32)],
            page_bytes: 4096,
            involuntary_switches: Some(0),
            notes: Vec::new(),
        },
        clock: ClockRecord {
            source: "tsc".into(),
            tsc_refused: None,
            ticks_per_sec: 3.0e9,
            drift_ppm: Some(0.3),
            overhead_ns: 8.1,
            resolution_ns: 0.3,
        },
        noise_before: Some(noise.clone()),
        noise_after: Some(noise),
        versions: Versions {
            verbs_bench: "0.1.0".into(),
            binary_sha256: Some("9f".repeat(32)),
            libibverbs: None,
        },
    }
}

/// Makes a run one that failed in the middle.
pub fn fail(run: &mut CampaignRun) {
    run.record.points.clear();
    run.record.outcome = Outcome::Failed {
        stage: Stage::Measure,
        side: Side::Requester,
        cause: "completion with status IBV_WC_RETRY_EXC_ERR: the peer did not answer".into(),
        advice: "look at the responder's log and at the link".into(),
    };
}

/// Makes a campaign one of datagrams in both directions, on a schedule, with losses and the NIC's own time.
fn load(campaign: &mut Campaign) {
    let pace = "250k/s poisson:7".parse().expect("a pace");
    let ask = |spec: &mut RunSpec| {
        (spec.op, spec.transport, spec.bidirectional) = (Op::Send, Transport::Ud, true);
        (spec.threads, spec.qp_count, spec.pace) = (2, 4, pace);
    };
    campaign.workloads.iter_mut().flat_map(|workload| workload.specs.values_mut()).for_each(ask);
    for run in &mut campaign.runs {
        ask(&mut run.record.spec);
        run.record.points.iter_mut().for_each(load_point);
    }
}

fn load_point(point: &mut Point) {
    point.op = Op::Send;
    point.latency_ns.kind = LatencyKind::IntendedToCompletion;
    let of = |kind| LatencySummary { kind, ..point.latency_ns.clone() };
    point.nic_time = Some(NicTime {
        nic_latency_ns: of(LatencyKind::PostToDevice),
        nic_histogram: point.histogram.clone(),
        software_latency_ns: of(LatencyKind::DeviceToPoll),
        software_histogram: point.histogram.clone(),
        device_ticks_per_sec: 1e9,
        correlation_ns: 40.0,
    });
    point.reverse = Some(Reverse {
        messages: point.messages,
        duration_ns: point.duration_ns,
        bandwidth_bits_per_sec: point.bandwidth_bits_per_sec.unwrap_or_default() * 0.9,
        messages_per_sec: point.messages_per_sec.unwrap_or_default() * 0.9,
        latency_ns: point.latency_ns.clone(),
        histogram: point.histogram.clone(),
    });
    point.counts = Some(Counts {
        requester_sent: 250_000,
        responder_received: Some(249_990),
        responder_sent: 249_000,
        requester_received: Some(248_999),
    });
    point.pace = Some(PaceReport {
        asked_messages_per_sec: 250_000.0,
        achieved_messages_per_sec: point.messages_per_sec.unwrap_or_default(),
        late_messages: 12,
        max_lateness_ns: Nanos(3_500),
        probes: Vec::new(),
    });
}

/// The samples every view is tested on.
pub const NAMES: [&str; 11] = [
    "improved",
    "regressed",
    "equivalent",
    "inconclusive",
    "unstable",
    "failed_runs",
    "several_sizes",
    "loaded",
    "watched",
    "factors",
    "one_variant",
];

/// One of [`NAMES`].
pub fn named(name: &str) -> Option<Campaign> {
    let latency = |speed| Sample {
        test: Test::Latency,
        sizes: vec![Bytes(8)],
        candidates: vec![("near", speed)],
        ..Sample::default()
    };
    let campaign = match name {
        "improved" => Sample::default().campaign(),
        "regressed" => latency(0.88).campaign(),
        "factors" => factorial::sample(),
        "one_variant" => {
            let mut campaign = Sample { candidates: Vec::new(), blocks: 5, ..Sample::default() }.campaign();
            campaign.runs.retain(|run| run.purpose == Purpose::Measure);
            campaign
        }
        "equivalent" => Sample { candidates: vec![("deep", 1.0)], ..Sample::default() }.campaign(),
        "inconclusive" => Sample { noise: 0.02, ..latency(1.015) }.campaign(),
        "unstable" => Sample { control: 1.06, ..Sample::default() }.campaign(),
        "failed_runs" => {
            let mut campaign = Sample::default().campaign();
            for lost in [4, 11] {
                fail(&mut campaign.runs[lost]);
            }
            campaign
        }
        "loaded" => {
            let mut campaign = Sample { blocks: 6, ..Sample::default() }.campaign();
            load(&mut campaign);
            campaign
        }
        "watched" => {
            let mut campaign = Sample { blocks: 8, ..Sample::default() }.campaign();
            watched::watch(&mut campaign);
            campaign
        }
        "several_sizes" => Sample {
            sizes: [512, 4096, 32_768, 262_144].map(Bytes).to_vec(),
            candidates: vec![("deep", 1.4), ("deeper", 1.42)],
            ..Sample::default()
        }
        .campaign(),
        _ => return None,
    };
    Some(campaign)
}

/// As large as reports usually get: twenty message sizes, ten blocks of three runs.
pub fn twenty_points() -> Campaign {
    Sample { sizes: (3..23).map(|power| Bytes(1 << power)).collect(), ..Sample::default() }.campaign()
}

/// Some effect of ten pairs, for tests that set of it what they are about.
pub fn effect() -> Effect {
    static SOME: LazyLock<Effect> = LazyLock::new(|| {
        let campaign = Sample { latencies: 0, ..Sample::default() }.campaign();
        let comparison = compare(&campaign, &CompareOptions::default());
        comparison.gates().find_map(|gate| gate.effect).expect("ten pairs have an effect")
    });
    *SOME
}

/// About so many runs of so many message sizes: blocks of a baseline, a candidate 3 % faster and a control.
pub fn sized(runs: u32, points: u32) -> Campaign {
    Sample {
        sizes: (0..points).map(|power| Bytes(8 << power)).collect(),
        candidates: vec![("deep", 1.03)],
        blocks: runs.div_ceil(3),
        ..Sample::default()
    }
    .campaign()
}
