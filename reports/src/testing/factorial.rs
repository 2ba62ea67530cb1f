//! Factorial campaigns with a known answer: every run's bandwidth is what the test says it is.

use std::collections::BTreeMap;

use schema::{
    Bytes, Campaign, CampaignRun, CampaignState, Design, Factor, Grouping, Nanos, Purpose, Role,
    SCHEMA_VERSION, SidesTuning, StopRule, Test, Variant, Workload,
};

use super::{STARTED_AT_UNIX_MS, Sample, point_of_bandwidth, record_of};

/// The message size of [`campaign`]'s only workload, `write`.
pub const SIZE: Bytes = Bytes(65_536);

/// One factor a letter.
pub fn factors(letters: &str) -> Vec<Factor> {
    let factor = |letter: char| Factor {
        name: letter.to_string(),
        settings: setting(letter).into_iter().collect(),
        tuning: SidesTuning::default(),
    };
    letters.chars().map(factor).collect()
}

/// A variant a row, written as the letters that are on; the first is the baseline.
pub fn variants(rows: &[&str]) -> Vec<Variant> {
    let variant = |(n, letters): (usize, &&str)| Variant {
        name: if letters.is_empty() { "none".into() } else { joined(letters) },
        role: if n == 0 { Role::Baseline } else { Role::Candidate },
        settings: letters.chars().flat_map(setting).collect(),
        tuning: SidesTuning::default(),
        factors_on: letters.chars().map(String::from).collect(),
    };
    rows.iter().enumerate().map(variant).collect()
}

/// Every combination of the letters, in standard order.
pub fn full(letters: &str) -> Vec<String> {
    let on = |row: usize| letters.chars().enumerate().filter(move |(n, _)| row >> n & 1 == 1);
    (0..1usize << letters.len()).map(|row| on(row).map(|(_, letter)| letter).collect()).collect()
}

/// A campaign of bandwidth runs; `bits_per_sec` is asked of every block for each row, and for the control with none.
pub fn campaign(
    letters: &str,
    rows: &[&str],
    blocks: u32,
    mut bits_per_sec: impl FnMut(u32, Option<&str>) -> f64,
) -> Campaign {
    let variants = variants(rows);
    let mut runs = Vec::new();
    for block in 0..blocks {
        let places = variants.iter().zip(rows).map(|(variant, row)| (variant, Some(*row)));
        for (variant, row) in places.chain([(&variants[0], None)]) {
            runs.push(CampaignRun {
                sequence: runs.len() as u32,
                block,
                workload: "write".into(),
                variant: variant.name.clone(),
                purpose: if row.is_some() { Purpose::Measure } else { Purpose::Control },
                record: record_of(vec![point_of_bandwidth(SIZE, bits_per_sec(block, row))]),
                pruned_at_unix_ms: None,
            });
        }
    }
    let mut spec = schema::RunSpec::new(Test::Bandwidth);
    spec.msg_bytes = vec![SIZE];
    let specs = variants.iter().map(|variant| (variant.name.clone(), spec.clone())).collect();
    Campaign {
        schema_version: SCHEMA_VERSION,
        id: 11,
        scenario: "factors".into(),
        question: "Which of these settings mattered?".into(),
        scenario_toml: "question = \"Which of these settings mattered?\"\n".into(),
        started_at_unix_ms: STARTED_AT_UNIX_MS,
        state: CampaignState::Finished,
        stopped: None,
        factors: factors(letters),
        variants,
        workloads: vec![Workload { name: "write".into(), specs }],
        design: Design {
            blocks,
            seed: 3,
            cooldown_ns: Nanos(0),
            grouping: Grouping::PerRun,
            stop: StopRule::AllBlocks,
        },
        gates: Vec::new(),
        runs,
    }
}

/// The sample `factors`: half of the combinations of four factors, of which `deep` brings 12 %, `governor` and `pause` nothing, and
/// `list` 2 % where `deep` is on, too.
pub fn sample() -> Campaign {
    const FACTORS: [(&str, &str, &str); 4] = [
        ("deep", "tx_depth", "128"),
        ("list", "post_list", "16"),
        ("governor", "requester.cpu", "2"),
        ("pause", "qp_timeout", "14"),
    ];
    const ROWS: [(&str, f64); 7] = [
        ("deep+pause", 1.12),
        ("list+pause", 1.0),
        ("deep+list", 1.12 * 1.02),
        ("governor+pause", 1.0),
        ("deep+governor", 1.12),
        ("list+governor", 1.0),
        ("deep+list+governor+pause", 1.12 * 1.02),
    ];
    let mut campaign =
        Sample { candidates: ROWS.to_vec(), blocks: 12, noise: 0.006, ..Sample::default() }.campaign();
    campaign.scenario = "factors".into();
    campaign.question = "Which of four settings raises write bandwidth?".into();
    campaign.scenario_toml = "question = \"Which of four settings raises write bandwidth?\"\n".into();
    let set = |(_, key, value): &(&str, &str, &str)| ((*key).to_owned(), (*value).to_owned());
    campaign.factors = FACTORS
        .iter()
        .map(|factor| Factor {
            name: factor.0.into(),
            settings: [set(factor)].into(),
            tuning: SidesTuning::default(),
        })
        .collect();
    for variant in &mut campaign.variants {
        let on = |factor: &&(&str, &str, &str)| variant.name.split('+').any(|name| name == factor.0);
        let on: Vec<_> = FACTORS.iter().filter(on).collect();
        variant.settings = on.iter().map(|factor| set(factor)).collect();
        variant.factors_on = on.iter().map(|factor| factor.0.to_owned()).collect();
    }
    let none = |name: &mut String| {
        if name == "base" {
            *name = "none".into();
        }
    };
    campaign.variants.iter_mut().for_each(|variant| none(&mut variant.name));
    campaign.runs.iter_mut().for_each(|run| none(&mut run.variant));
    for workload in &mut campaign.workloads {
        let specs = std::mem::take(&mut workload.specs);
        let named = |(mut name, spec)| {
            none(&mut name);
            (name, spec)
        };
        workload.specs = specs.into_iter().map(named).collect();
    }
    campaign
}

fn setting(letter: char) -> BTreeMap<String, String> {
    BTreeMap::from([(format!("setting_{letter}"), "on".to_owned())])
}

fn joined(letters: &str) -> String {
    letters.chars().map(String::from).collect::<Vec<_>>().join("+")
}
