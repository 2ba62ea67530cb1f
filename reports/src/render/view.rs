//! What HTML and Markdown both say, in the order in which they say it: all text, all numbers with unit and n.

use schema::{Bytes, Campaign, CampaignState, Pace, Purpose, RunSpec, Stop, Test, Transport, Wait, Workload};

use super::{
    change::Written,
    evidence::{self, EvidenceView},
    factorial::design_limits,
    facts::{self, Environment, FactGroup},
    methods::{self, MethodRow},
    number,
    numbers::{self, NumberRow},
    ranking::FactorsView,
    sentence::claim,
    words,
};
use crate::{
    compare::{
        Asks, Cell, Comparison, Effect, Look, Looks, Spread, Unusable, fewest_blocks_for_factors,
        fewest_pairs,
    },
    index::Index,
};

/// A report, in words.
pub(super) struct View {
    pub(super) scenario: String,
    pub(super) question: String,
    /// Whether there are variants to compare; a campaign of a night has one.
    pub(super) compares: bool,
    /// The verdict in one word or two, and the class of its colour.
    pub(super) verdict: Badge,
    /// The verdict in one sentence, without its name.
    pub(super) claim: String,
    /// Labels of the simulated fabrics; none with real devices.
    pub(super) simulated: Option<String>,
    /// What the reader must know before anything else, for example that the campaign is unfinished.
    pub(super) warnings: Vec<String>,
    /// When, how many runs.
    pub(super) summary: String,
    pub(super) interval_name: String,
    pub(super) gates: Vec<EffectRow>,
    /// What brought what; none where variants are listed.
    pub(super) factors: Option<FactorsView>,
    pub(super) others: Vec<EffectRow>,
    pub(super) variants: Vec<String>,
    pub(super) workloads: Vec<WorkloadView>,
    pub(super) settings: Vec<facts::FactRow>,
    pub(super) unusable: Vec<UnusableRow>,
    pub(super) unasked_changes: Vec<String>,
    /// The gates by every method.
    pub(super) methods: Vec<MethodRow>,
    /// Of a campaign that may stop early: how far it has looked, and a row a planned look.
    pub(super) looks: Option<(String, Vec<Vec<String>>)>,
    /// What the hosts did; none where nobody watched.
    pub(super) evidence: Option<EvidenceView>,
    pub(super) facts: Vec<FactGroup>,
    pub(super) method: Vec<String>,
    pub(super) limits: Vec<String>,
    pub(super) scenario_toml: String,
    pub(super) version: String,
}

/// A verdict as it is shown: never by colour alone.
pub(super) struct Badge {
    pub(super) word: &'static str,
    pub(super) sign: &'static str,
    pub(super) class: &'static str,
}

/// One cell.
pub(super) struct EffectRow {
    pub(super) metric: String,
    pub(super) workload: String,
    pub(super) size: String,
    pub(super) candidate: String,
    pub(super) baseline_median: String,
    pub(super) candidate_median: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) margin: String,
    pub(super) p: String,
    pub(super) control: String,
    pub(super) pairs: String,
    pub(super) verdict: Badge,
    /// What stands behind the verdict, and what is odd; may be empty.
    pub(super) remarks: Vec<String>,
}

/// One workload.
pub(super) struct WorkloadView {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) sizes: Vec<SizeView>,
}

/// One message size of a workload.
pub(super) struct SizeView {
    pub(super) msg_bytes: Bytes,
    pub(super) verdicts: Vec<(String, Badge)>,
    /// The size in words.
    pub(super) name: String,
    /// A row per metric: its name, then its numbers per variant.
    pub(super) numbers: Vec<(String, Vec<Option<RunNumbers>>)>,
}

/// A metric over the valid runs of a variant.
pub(super) struct RunNumbers {
    /// Median, with its unit.
    pub(super) median: String,
    /// Smallest, largest and n.
    pub(super) detail: String,
}

/// A run that counts for nothing.
pub(super) struct UnusableRow {
    pub(super) run: String,
    pub(super) place: String,
    pub(super) kind: &'static str,
    pub(super) reason: String,
}

impl View {
    /// Puts a comparison into words.
    pub(super) fn of(campaign: &Campaign, comparison: &Comparison, index: &Index<'_>) -> Self {
        let rows = |gated| {
            // Interactions stand with the factors they are of.
            let ours = move |cell: &&Cell| cell.gated == gated && cell.asks != Asks::Interaction;
            comparison.cells.iter().filter(ours).map(effect_row).collect()
        };
        let mut facts: Vec<FactGroup> =
            campaign.workloads.iter().map(|workload| facts::parameters(campaign, &workload.name)).collect();
        let environment = Environment::of(campaign);
        facts.extend(environment.groups());
        let (verdict, claim) = verdict(campaign, comparison);
        View {
            scenario: campaign.scenario.clone(),
            question: campaign.question.clone(),
            compares: compares(campaign),
            verdict,
            claim,
            simulated: (!comparison.simulated.is_empty()).then(|| comparison.simulated.join("; ")),
            warnings: warnings(campaign, comparison),
            summary: summary(campaign),
            interval_name: words::interval_name(comparison),
            gates: rows(true),
            factors: FactorsView::of(campaign, comparison),
            others: rows(false),
            variants: campaign.variants.iter().map(|variant| variant.name.clone()).collect(),
            workloads: campaign
                .workloads
                .iter()
                .map(|workload| workload_view(campaign, comparison, index, workload))
                .collect(),
            settings: settings(campaign),
            unusable: comparison.unusable.iter().map(unusable_row).collect(),
            unasked_changes: environment.unasked_changes(),
            methods: methods::rows(comparison),
            looks: comparison.looks.as_ref().map(|looks| (words::looks(looks), look_rows(looks))),
            evidence: comparison.evidence.as_ref().map(EvidenceView::of),
            facts,
            method: method(campaign, comparison),
            limits: limits(campaign, comparison),
            scenario_toml: campaign.scenario_toml.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }
}

/// Whether there is anything to compare.
fn compares(campaign: &Campaign) -> bool {
    campaign.variants.len() > 1
}

/// The verdict and what is said behind it.
fn verdict(campaign: &Campaign, comparison: &Comparison) -> (Badge, String) {
    let usable = comparison.unusable.len() < campaign.runs.len();
    match compares(campaign) {
        true => {
            (badge(words::campaign_verdict(comparison.verdict)), words::capitalised(&claim(comparison)) + ".")
        }
        false if usable => {
            (badge("Measured"), "One variant was measured, so there is nothing to compare.".to_owned())
        }
        false => (badge("Could not run"), "Nothing was measured that could be used.".to_owned()),
    }
}

/// Sign and colour class of a verdict.
pub(super) fn badge(word: &'static str) -> Badge {
    let (sign, class) = match word {
        "Improved" => ("▲", "good"),
        "Regressed" => ("▼", "bad"),
        "Equivalent" => ("=", "same"),
        "Negligible" => ("≈", "same"),
        "Inconclusive" => ("?", "open"),
        "Acts together" => ("×", "open"),
        "Unstable" => ("~", "open"),
        "Invalid" | "Could not run" => ("✕", "bad"),
        _ => ("·", "none"),
    };
    Badge { word, sign, class }
}

fn warnings(campaign: &Campaign, comparison: &Comparison) -> Vec<String> {
    let mut warnings = Vec::new();
    if campaign.state == CampaignState::Unfinished {
        warnings.push("The campaign is unfinished: runs are missing, and the verdict may change.".to_owned());
    }
    let lost = comparison.unusable.len();
    if lost > 0 {
        let of = campaign.runs.len();
        let what = if comparison.factorial.is_some() { "block" } else { "pair" };
        let each = if lost == 1 { "it" } else { "each" };
        let each =
            if compares(campaign) { format!("; {each} takes its {what} with it") } else { String::new() };
        warnings.push(format!("{lost} of {of} runs could not be used{each}. They are listed below."));
    }
    warnings.extend(evidence::invalid(comparison));
    warnings.extend(pruned(campaign, comparison));
    warnings
}

/// What is no longer there to be shown, and since when.
fn pruned(campaign: &Campaign, comparison: &Comparison) -> Option<String> {
    let last = campaign.runs.iter().filter_map(|run| run.pruned_at_unix_ms).max()?;
    Some(format!(
        "The samples, time series and host evidence of {} of {} runs were pruned, last on {} UTC. What was published of them is kept and compared; distributions and findings of those runs are not shown.",
        comparison.pruned_runs,
        campaign.runs.len(),
        number::utc(last),
    ))
}

fn summary(campaign: &Campaign) -> String {
    let started = number::utc(campaign.started_at_unix_ms);
    if !compares(campaign) {
        return format!(
            "Started {started} UTC. {} of one variant.",
            number::counted(campaign.runs.len() as u32, "run")
        );
    }
    let controls = campaign.runs.iter().filter(|run| run.purpose == Purpose::Control).count();
    format!(
        "Started {started} UTC. {} runs in {}, {controls} of them A/A controls.",
        campaign.runs.len(),
        number::counted(campaign.design.blocks, "block"),
    )
}

fn effect_row(cell: &Cell) -> EffectRow {
    let side = |side: &Option<crate::compare::Spread>| {
        side.map_or_else(|| "none".into(), |side| number::value(cell.metric, side.median))
    };
    let effect = |text: fn(Written, &Effect) -> String| match &cell.effect {
        Some(effect) => text(Written::of(effect, cell.margin), effect),
        None => "none".into(),
    };
    let remark = Some(words::remark(cell)).filter(|remark| !remark.is_empty());
    EffectRow {
        metric: words::metric(cell.metric, cell.test),
        workload: cell.workload.clone(),
        size: number::size(cell.msg_bytes),
        candidate: cell.candidate.clone(),
        baseline_median: side(&cell.baseline),
        candidate_median: side(&cell.candidate_runs),
        change: effect(|written, _| written.change),
        interval: effect(|written, _| format!("{} to {}", written.low, written.high)),
        margin: format!("±{}", number::margin(cell.margin)),
        p: effect(|_, effect| number::p_value(effect.p_adjusted)),
        control: cell
            .control
            .as_ref()
            .map_or_else(|| "none".into(), |control| Written::of(control, cell.margin / 2.0).change),
        pairs: cell.pairs.len().to_string(),
        verdict: badge(words::verdict(&cell.verdict)),
        remarks: remark
            .into_iter()
            .chain(words::aliases(cell))
            .chain(cell.flags.iter().map(|flag| words::flag(*flag)))
            .collect(),
    }
}

fn workload_view(
    campaign: &Campaign,
    comparison: &Comparison,
    index: &Index<'_>,
    workload: &Workload,
) -> WorkloadView {
    let spec = baseline_spec(campaign, workload);
    WorkloadView {
        name: workload.name.clone(),
        about: spec.map_or_else(String::new, about),
        sizes: spec.map_or_else(Vec::new, |spec| {
            let view = |size: &Bytes| {
                let rows = numbers::rows(campaign, index, workload, spec.test, *size);
                let texts = |row: &NumberRow| {
                    row.variants.iter().map(|of| of.as_ref().map(|spread| run_numbers(row, spread))).collect()
                };
                SizeView {
                    msg_bytes: *size,
                    verdicts: verdicts(comparison, workload, *size),
                    numbers: rows.iter().map(|row| (row.name.clone(), texts(row))).collect(),
                    name: number::size(*size),
                }
            };
            spec.msg_bytes.iter().map(view).collect()
        }),
    }
}

/// What the baseline of a workload asks.
pub(super) fn baseline_spec<'c>(campaign: &'c Campaign, workload: &'c Workload) -> Option<&'c RunSpec> {
    campaign.variants.first().and_then(|variant| workload.specs.get(&variant.name))
}

fn about(spec: &RunSpec) -> String {
    let what = match (spec.test, spec.pace) {
        (Test::Bandwidth, Pace::Closed) => "Bandwidth: a window of messages kept full".to_owned(),
        (Test::Bandwidth, pace) => format!("Latency under load: {pace}"),
        (Test::Latency, _) if spec.op.fetches() => {
            "Latency: one message at a time, a whole round trip".to_owned()
        }
        (Test::Latency, _) => "Latency: a ping-pong of one message, half the round trip".to_owned(),
    };
    let over = match spec.transport {
        Transport::Rc => "a reliable connection",
        Transport::Uc => "an unreliable connection",
        Transport::Ud => "unreliable datagrams",
    };
    let mut text = format!("{what}; RDMA {} on {over}", spec.op);
    if spec.bidirectional {
        text.push_str("; both directions at once, and bandwidth and message rate are of both together");
    }
    if spec.threads > 1 {
        text.push_str(&format!("; {} threads with {} QPs each", spec.threads, spec.qp_count));
    }
    if spec.wait != Wait::Poll {
        text.push_str(&format!("; waiting: {}", spec.wait));
    }
    text + "."
}

/// What the gates of a size say.
fn verdicts(comparison: &Comparison, workload: &Workload, msg_bytes: Bytes) -> Vec<(String, Badge)> {
    let here = |cell: &&Cell| cell.workload == workload.name && cell.msg_bytes == msg_bytes;
    let gates = comparison.gates().filter(here);
    gates
        .map(|cell| {
            let about = format!("{} {}", cell.candidate, words::metric(cell.metric, cell.test));
            (about, badge(words::verdict(&cell.verdict)))
        })
        .collect()
}

/// A number over the valid runs of a variant, as it is written.
fn run_numbers(row: &NumberRow, spread: &Spread) -> RunNumbers {
    let text = |value| row.text(value);
    let detail =
        format!("{} to {}, n = {}", text(spread.min), text(spread.max), number::counted(spread.runs, "run"));
    RunNumbers { median: text(spread.median), detail }
}

/// A row a planned look: its number, its blocks, what may be spent up to it, its level, and whether it is made.
fn look_rows(looks: &Looks) -> Vec<Vec<String>> {
    let made = |n: usize| looks.at.is_some_and(|at| n <= at as usize);
    let row = |(n, look): (usize, &Look)| {
        vec![
            (n + 1).to_string(),
            number::counted(look.blocks, "block"),
            number::p_value(look.spent),
            number::p_value(look.level),
            if made(n) { "yes".into() } else { "no".into() },
        ]
    };
    looks.planned.iter().enumerate().map(row).collect()
}

/// What the variants set, as written; empty where one does not.
fn settings(campaign: &Campaign) -> Vec<facts::FactRow> {
    let keys: std::collections::BTreeSet<&String> =
        campaign.variants.iter().flat_map(|variant| variant.settings.keys()).collect();
    keys.into_iter()
        .map(|key| {
            let values: Vec<String> = campaign
                .variants
                .iter()
                .map(|variant| variant.settings.get(key).cloned().unwrap_or_else(|| "not set".into()))
                .collect();
            let differs = values.windows(2).any(|two| two[0] != two[1]);
            facts::FactRow { key: key.clone(), values, differs }
        })
        .collect()
}

fn unusable_row(run: &crate::compare::UnusableRun) -> UnusableRow {
    let control = if run.control { ", A/A control" } else { "" };
    UnusableRow {
        run: format!("Run {}, block {}", run.number(), run.block + 1),
        place: format!("{}, {}{control}", run.workload, run.variant),
        kind: match run.kind {
            Unusable::Failed => "Failed",
            Unusable::Skipped => "Skipped",
            Unusable::Invalid => "Invalid",
            Unusable::Excluded => "Invalid by its evidence",
        },
        reason: run.reason.clone(),
    }
}

fn method(campaign: &Campaign, comparison: &Comparison) -> Vec<String> {
    let design = &campaign.design;
    let level = number::margin(comparison.alpha);
    let sure = number::margin(1.0 - comparison.alpha);
    let gates = comparison.gates().count() as u32;
    let control = if compares(campaign) {
        format!(", and a second run of {} as A/A control", comparison.baseline)
    } else {
        String::new()
    };
    let mut method = vec![
        format!(
            "Each of {} holds one run of every variant and workload{control}. The order within a block is random (seed {}), with a pause of {} between runs.",
            number::counted(design.blocks, "block"), design.seed, design.cooldown_ns
        ),
        "A run is a fresh pair of processes with their own queue pairs and buffers. The unit of evidence is the run, not the message: millions of messages in one run share its luck.".to_owned(),
    ];
    for workload in &campaign.workloads {
        method.extend(baseline_spec(campaign, workload).map(|spec| phases(&workload.name, spec)));
    }
    if comparison.evidence.is_some() {
        method.push("Both hosts were read before and after each run and sampled in between. A run is invalid, and takes its pair with it, when a queue pair gave up, a needed counter ran backwards, a polling thread left its CPU, pages lay off the node they were bound to, CPUs came or went, or tuning did not stay; whatever else the evidence shows is a finding beside the numbers.".to_owned());
    }
    if !compares(campaign) {
        return method;
    }
    let options = crate::CompareOptions { alpha: comparison.alpha, ..Default::default() };
    let many = number::counted(gates, "gate");
    if comparison.factorial.is_some() {
        method.push(format!(
            "A change is the mean over the blocks of a contrast, the mean logarithm of the runs with the factor on less that of the runs with it off, turned back into percent; its {sure} interval is Student's. Whether it is there at all is asked of an exact sign-flip test, corrected by Holm for {many}; whether it is absent, of two one-sided tests within the margin. A block that lacks a run counts for nothing.",
        ));
        method.push(format!(
            "Improved and regressed need p below {} and a change beyond the margin. A contrast is steadier than the A/A control, which is one run against another, so the control may stray further than half the margin, by the square root of half the runs of a block; beyond that nothing is claimed. With this many gates no verdict is possible below {}.",
            number::margin(comparison.alpha / 5.0),
            number::counted(fewest_blocks_for_factors(gates, &options), "block")
        ));
        return method;
    }
    method.push(format!(
        "A change is the mean of ln(candidate / baseline) over the pairs, turned back into percent; its {sure} interval is Student's. Whether it is there at all is asked of an exact sign-flip test, corrected by Holm for {many}; whether it is absent, of two one-sided tests within the margin."
    ));
    method.push(format!(
        "Improved and regressed need p below {level} and a change beyond the margin. A control that differs significantly, or by more than half the margin, makes its gate unstable: then nothing is claimed. With this many gates no verdict is possible below {}.",
        number::counted(fewest_pairs(gates, &options), "pair")
    ));
    method
}

fn phases(workload: &str, spec: &RunSpec) -> String {
    let stop = match spec.stop {
        Stop::DurationNs(duration) => format!("for {duration}"),
        Stop::Iterations(messages) => format!("for {} messages", number::grouped(messages)),
    };
    let check = match spec.data_check {
        true => {
            "every slot of the target is written once and checked before, and what is left is checked after; "
        }
        false => "data is not checked; ",
    };
    format!(
        "{workload}: {check}{} of warm-up that is not kept, then measured {stop} in intervals of {}. Every latency sample is kept, to 0.1%.",
        spec.warmup_ns, spec.interval_ns
    )
}

fn limits(campaign: &Campaign, comparison: &Comparison) -> Vec<String> {
    let mut specs = campaign.workloads.iter().flat_map(|workload| workload.specs.values());
    let closed = specs.all(|spec| spec.pace == Pace::Closed);
    let mut limits = vec![
        "The result holds for these hosts, with these settings, at this time; another host is another campaign.".to_owned(),
        if closed {
            "One message in flight at a time or a full window: traffic that arrives on its own schedule can see longer tails."
        } else {
            "Messages of a schedule count from the time that was intended for them; of a closed loop, from their post: a stall delays what would have come meanwhile, and few samples show it."
        }
        .to_owned(),
    ];
    limits.push(if compares(campaign) {
        "What is not a gate is shown for exploration, its p corrected by Benjamini-Hochberg, and carries no verdict."
    } else {
        "One variant says how fast it was, and not whether that is faster or slower than anything."
    }
    .to_owned());
    if let Some(design) = &comparison.factorial {
        limits.push(format!("{}.", words::capitalised(&design_limits(design))));
    }
    if !comparison.simulated.is_empty() {
        limits.insert(0, "Simulated: the software NIC moved real bytes between two processes, and a link model set the pace. It says how the engine and the method behave, and nothing about a network.".to_owned());
    }
    limits
}
