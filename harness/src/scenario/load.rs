//! Reads a scenario file, table by table, and collects what is wrong with it.

use std::{net::IpAddr, net::Ipv4Addr, path::Path};

use schema::{Nanos, Op, Test};

use super::{
    Factorial, Hosts, Order, Place, Scenario, ScenarioError, SideHost, WrittenDesign, WrittenFactor,
    WrittenGate, WrittenVariant, WrittenWorkload, check,
    fault::{Fault, did_you_mean},
    parameter::{Allowed, Assignment, read_assignments},
    section::{At, Section, read_tables},
    stop::{MOST_BLOCKS, read_stop},
    tune::read_sides,
};

/// Blocks when the design says nothing: ten pairs.
const DEFAULT_BLOCKS: u64 = 10;
/// Pause between two runs when the design says nothing.
const DEFAULT_COOLDOWN: Nanos = Nanos(50_000_000);

/// Reads and checks a scenario file.
pub fn load(file: &Path) -> Result<Scenario, ScenarioError> {
    let source = std::fs::read_to_string(file)
        .map_err(|cause| ScenarioError::Read { file: file.to_owned(), cause })?;
    parse(file, source)
}

/// Reads and checks the text of a scenario file.
pub fn parse(file: &Path, source: String) -> Result<Scenario, ScenarioError> {
    let scenario = read_tables(file, &source, |root, faults| {
        let scenario = read(root, file, source.clone())?;
        check::names_and_references(&scenario, faults);
        Some(scenario)
    });
    scenario.map_err(ScenarioError::Faults)
}

fn read(root: &Section<'_>, file: &Path, source: String) -> Option<Scenario> {
    let question = read_question(root, "scenario", "Does a deeper send queue raise write bandwidth?");
    let mut ground = Vec::new();
    let hosts = read_hosts(root, &mut ground);
    let design = read_design(root, &mut ground);
    read_soft(root, &mut ground);
    let workloads = root.sections("workloads").iter().filter_map(read_workload).collect();
    let folder = file.parent().unwrap_or(Path::new(""));
    let variants =
        root.sections("variants").iter().filter_map(|variant| read_variant(variant, folder)).collect();
    let factors = root.sections("factors").iter().filter_map(|factor| read_factor(factor, folder)).collect();
    let gates = root.sections("gates").iter().filter_map(read_gate).collect();
    root.finish();
    Some(Scenario {
        name: file.file_stem()?.to_string_lossy().into_owned(),
        file: file.to_owned(),
        source,
        question: question?,
        hosts: hosts?,
        design,
        ground,
        workloads,
        variants,
        factors,
        gates,
    })
}

/// The question that a file answers, which must be there; `example` is one.
pub(crate) fn read_question(root: &Section<'_>, noun: &str, example: &str) -> Option<String> {
    let Some(question) = root.text("question") else {
        let what = format!("is missing; a {noun} starts with the question it answers");
        let advice = format!("question = \"{example}\"");
        root.push(Fault::new("question", root.span(), what).advice(advice));
        return None;
    };
    if question.value.trim().is_empty() {
        root.fault("question", question.span, "is empty");
        return None;
    }
    Some(question.value)
}

fn read_hosts(root: &Section<'_>, ground: &mut Vec<Assignment>) -> Option<Hosts> {
    let hosts = root.section("hosts");
    let requester = hosts.as_ref().and_then(|hosts| hosts.section("requester"));
    let responder = hosts.as_ref().and_then(|hosts| hosts.section("responder"));
    if let Some(hosts) = &hosts {
        hosts.finish();
    }
    let address = responder.as_ref().and_then(|side| side.parsed::<IpAddr>("address"));
    let requester_host = requester.as_ref().map_or(Some(SideHost::default()), read_side_host);
    let responder_host = responder.as_ref().map_or(Some(SideHost::default()), read_side_host);
    for (side, allowed) in [(&requester, Allowed::Requester), (&responder, Allowed::Responder)] {
        if let Some(side) = side {
            ground.extend(read_assignments(side, allowed));
        }
    }
    let (requester, responder) = (requester_host?, responder_host?);
    if requester.at != responder.at && address.is_none() {
        root.push(
            Fault::new(
                "hosts.responder.address",
                hosts.map_or(0..0, |hosts| hosts.span()),
                "is missing; two network namespaces, or two hosts, do not share 127.0.0.1",
            )
            .advice("give the responder's address that the requester can reach, for example \"10.0.0.2\""),
        );
    }
    let address = address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |address| address.value);
    Some(Hosts { requester, responder, address })
}

fn read_side_host(side: &Section<'_>) -> Option<SideHost> {
    let agent = side.text("agent");
    if let Some(agent) = agent.as_ref().filter(|agent| agent.value.trim().is_empty()) {
        side.fault("agent", agent.span.clone(), "is empty; leave it out, or name a program");
    }
    let at = match side.text("at") {
        None => Place::Local,
        Some(at) => match at.value.parse() {
            Ok(place) => place,
            Err(what) => {
                side.fault("at", at.span, what);
                return None;
            }
        },
    };
    Some(SideHost { at, agent: agent.map(|agent| agent.value) })
}

fn read_design(root: &Section<'_>, ground: &mut Vec<Assignment>) -> WrittenDesign {
    let design = root.section("design");
    let design = design.as_ref();
    let written = WrittenDesign {
        blocks: design
            .and_then(|design| design.whole("blocks", 1, MOST_BLOCKS))
            .map_or(DEFAULT_BLOCKS, |blocks| blocks.value) as u32,
        seed: design.and_then(|design| design.whole("seed", 0, i64::MAX as u64)).map(|seed| seed.value),
        cooldown_ns: design
            .and_then(|design| design.parsed("cooldown"))
            .map_or(DEFAULT_COOLDOWN, |cooldown| cooldown.value),
        order: design.map_or(Order::default(), read_order),
        factorial: design.and_then(read_factorial),
        combinations: design
            .and_then(|design| design.whole("combinations", 2, 64))
            .map(|asked| At { value: asked.value as u32, span: asked.span }),
        stop: design.and_then(read_stop),
    };
    if let Some(design) = design {
        ground.extend(read_assignments(design, Allowed::All));
    }
    written
}

fn read_order(design: &Section<'_>) -> Order {
    let Some(order) = design.text("order") else { return Order::default() };
    match order.value.as_str() {
        "randomized" => Order::Randomized,
        "as_written" => Order::AsWritten,
        other => {
            let advice = did_you_mean(other, ["randomized", "as_written"]).unwrap_or("randomized");
            design.push(
                Fault::new("design.order", order.span, format!("`{other}` is not an order"))
                    .advice(format!("write \"{advice}\"; known are randomized and as_written")),
            );
            Order::default()
        }
    }
}

fn read_factorial(design: &Section<'_>) -> Option<At<Factorial>> {
    let span = design.raw("factorial")?.span();
    let words = [Factorial::Full, Factorial::Fractional, Factorial::Screening];
    let words = words.map(|word| (word.to_string(), word));
    let words: Vec<(&str, Factorial)> = words.iter().map(|(name, word)| (name.as_str(), *word)).collect();
    Some(At { value: read_word(design, "factorial", &words)?, span })
}

fn read_soft(root: &Section<'_>, ground: &mut Vec<Assignment>) {
    let Some(soft) = root.section("soft") else { return };
    ground.extend(read_assignments(&soft, Allowed::Soft));
}

fn read_name(section: &Section<'_>) -> Option<At<String>> {
    let Some(name) = section.text("name") else {
        section.fault("name", section.span(), "is missing");
        return None;
    };
    let fine = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    if name.value.is_empty() || !name.value.chars().all(fine) {
        section.fault("name", name.span, "must be of letters, digits, `-`, `_`, `.` and `+`");
        return None;
    }
    Some(name)
}

fn read_workload(section: &Section<'_>) -> Option<WrittenWorkload> {
    let name = read_name(section);
    let test = read_word(section, "test", &[("bandwidth", Test::Bandwidth), ("latency", Test::Latency)]);
    let ops: Vec<(&str, Op)> = Op::ALL.iter().map(|op| (op.word(), *op)).collect();
    let op = read_word(section, "op", &ops);
    let with = section.section("with").map(|with| read_with(&with)).unwrap_or_default();
    let sets = read_assignments(section, Allowed::All);
    Some(WrittenWorkload { name: name?, test: test?, op: op?, sets, with })
}

fn read_with(with: &Section<'_>) -> Vec<(At<String>, Vec<Assignment>)> {
    with.subsections()
        .into_iter()
        .map(|(variant, section)| (variant, read_assignments(&section, Allowed::AllButSize)))
        .collect()
}

/// One of a few words, which must be there.
fn read_word<T: Copy>(section: &Section<'_>, key: &'static str, words: &[(&str, T)]) -> Option<T> {
    let known = words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
    let Some(text) = section.text(key) else {
        section.push(Fault::new(section.field(key), section.span(), format!("is missing; write {known}")));
        return None;
    };
    let found = words.iter().find(|(word, _)| *word == text.value).map(|(_, value)| *value);
    if found.is_none() {
        section.fault(key, text.span, format!("`{}` is unknown; write {known}", text.value));
    }
    found
}

fn read_variant(section: &Section<'_>, folder: &Path) -> Option<WrittenVariant> {
    let name = read_name(section);
    let baseline = section.flag("baseline");
    let tune = section.section("tune").map(|tune| read_sides(&tune, folder)).unwrap_or_default();
    let sets = read_assignments(section, Allowed::AllButSize);
    Some(WrittenVariant { name: name?, baseline, sets, tune })
}

/// A factor is read as a variant is: by itself it is one, against a baseline that has it off.
fn read_factor(section: &Section<'_>, folder: &Path) -> Option<WrittenFactor> {
    let WrittenVariant { name, baseline, sets, tune } = read_variant(section, folder)?;
    if let Some(baseline) = baseline {
        let what = "has no meaning for a factor: the baseline is every factor off";
        section.fault("baseline", baseline.span, what);
    }
    Some(WrittenFactor { name, sets, tune })
}

fn read_gate(section: &Section<'_>) -> Option<WrittenGate> {
    let metric = section.parsed("metric");
    if metric.is_none() && section.raw("metric").is_none() {
        section.fault("metric", section.span(), "is missing; write for example \"bandwidth\" or \"p99\"");
    }
    let gate = WrittenGate {
        table: At { value: section.field("metric").replace(".metric", ""), span: section.span() },
        workload: section.text("workload"),
        size: section.parsed("size"),
        margin: section.share("margin"),
        metric: metric?,
    };
    section.finish();
    Some(gate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schema::Metric;

    const GOOD: &str = r#"
question = "Deeper?"
[hosts.requester]
device = "soft"
[design]
blocks = 6
seed = 9
duration = "100ms"
[[workloads]]
name = "w"
test = "bandwidth"
op = "write"
size = ["64", "4Ki"]
[workloads.with.deep]
cq_poll_batch = 32
[[variants]]
name = "shallow"
baseline = true
tx_depth = 1
[[variants]]
name = "deep"
tx_depth = 128
requester.cpu = "0"
[[gates]]
metric = "p99.9"
size = "4Ki"
margin = "5%"
"#;

    fn read(source: &str) -> Result<Scenario, String> {
        parse(Path::new("dir/deeper.toml"), source.to_owned()).map_err(|error| error.to_string())
    }

    /// The error of GOOD with one text replaced by another.
    fn refused(from: &str, to: &str) -> String {
        assert!(GOOD.contains(from), "{from}");
        read(&GOOD.replacen(from, to, 1)).err().unwrap_or_else(|| panic!("{to} was accepted"))
    }

    #[test]
    fn a_scenario_is_read_as_written() {
        let scenario = read(GOOD).unwrap();
        assert_eq!((scenario.name.as_str(), scenario.question.as_str()), ("deeper", "Deeper?"));
        assert_eq!((scenario.design.blocks, scenario.design.seed), (6, Some(9)));
        assert_eq!(scenario.design.cooldown_ns, DEFAULT_COOLDOWN);
        assert!(scenario.variants[0].is_baseline() && !scenario.variants[1].is_baseline());
        let set: Vec<String> =
            scenario.variants[1].sets.iter().map(|set| format!("{}={}", set.key, set.value.value)).collect();
        assert_eq!(set, ["requester.cpu=0", "tx_depth=128"]);
        assert_eq!(scenario.gates[0].metric.value, Metric::P99_9);
        assert_eq!(scenario.gates[0].margin, Some(0.05));
        assert_eq!(scenario.hosts.address.to_string(), "127.0.0.1");
    }

    #[test]
    fn every_refusal_names_its_field_and_its_place() {
        for (from, to, wanted) in [
            ("tx_depth = 128", "tx_dpeth = 128", "variants[1].tx_dpeth: is not a key of this table"),
            ("size = [\"64\", \"4Ki\"]", "size = \"64k\"", "workloads[0].size: size `64k`: `k` is unclear"),
            ("name = \"deep\"", "name = \"shallow\"", "variants[1].name: `shallow` is given twice"),
            (
                "[workloads.with.deep]",
                "[workloads.with.dep]",
                "workloads[0].with.dep: there is no variant `dep`",
            ),
            ("baseline = true\n", "", "variants: none is the baseline"),
            (
                "tx_depth = 128",
                "tx_depth = 128\nbaseline = true",
                "variants[1].baseline: is a second baseline",
            ),
            ("metric = \"p99.9\"", "metric = \"p98\"", "gates[0].metric: unknown metric `p98`"),
            ("metric = \"p99.9\"", "metric = \"p99.99\"", "gates[0].metric: p99.99 is reported, never gated"),
            (
                "metric = \"p99.9\"",
                "metric = \"p99\"\nworkload = \"v\"",
                "gates[0].workload: there is no workload `v`",
            ),
            ("margin = \"5%\"", "margin = 5", "gates[0].margin: must be a share"),
            ("blocks = 6", "blocks = 0", "design.blocks: 0 is outside 1..=10000"),
            ("question = \"Deeper?\"", "", "question: is missing"),
            ("test = \"bandwidth\"", "test = \"bandwith\"", "workloads[0].test: `bandwith` is unknown"),
            ("tx_depth = 128", "size = 8", "variants[1].size: belongs to a workload"),
            ("op = \"write\"", "op = \"wirte\"", "workloads[0].op: `wirte` is unknown; write \"write\" or"),
            (
                "tx_depth = 128",
                "transport = \"xrc\"",
                "variants[1].transport: `xrc` is not one of rc, uc, ud",
            ),
            ("tx_depth = 128", "pace = \"250\"", "variants[1].pace: rate `250`"),
            ("tx_depth = 128", "pace = \"1k/s uniform\"", "`uniform` are no gaps"),
            ("tx_depth = 128", "wait = \"hybrid\"", "variants[1].wait: wait `hybrid`: write poll, event"),
            (
                "tx_depth = 128",
                "bidirectional = \"yes\"",
                "variants[1].bidirectional: `yes` must be true or false",
            ),
            (
                "requester.cpu = \"0\"",
                "cpu = \"1\"\nrequester.cpu = \"0\"",
                "sets what `variants[1].cpu` sets already",
            ),
            (
                "duration = \"100ms\"",
                "duration = \"100ms\"\niterations = 5",
                "sets what `design.duration` sets already",
            ),
            (
                "device = \"soft\"",
                "at = \"netns:a\"\ndevice = \"soft\"",
                "hosts.responder.address: is missing",
            ),
            (
                "device = \"soft\"",
                "at = \"ssh:-oProxyCommand=x\"\ndevice = \"soft\"",
                "hosts.requester.at: `ssh:-oProxyCommand=x` is not a place",
            ),
            (
                "device = \"soft\"",
                "at = \"ssh:far\"\ndevice = \"soft\"",
                "hosts.responder.address: is missing; two network namespaces, or two hosts",
            ),
            ("device = \"soft\"", "agent = \" \"\ndevice = \"soft\"", "hosts.requester.agent: is empty"),
            ("tx_depth = 128", "tx_depth = \"deep\"", "variants[1].tx_depth: `deep` must be a whole number"),
            ("tx_depth = 128", "tx_depth = -1", "variants[1].tx_depth: -1 is out of the range"),
            (
                "[design]",
                "[soft]\nmodle = \"rate=1Gbps\"\n[design]",
                "soft.modle: is not a key of this table",
            ),
            ("[design]", "[desing]", "desing: is not a key of this table"),
            ("blocks = 6", "blocks = ", "deeper.toml:6"),
        ] {
            let text = refused(from, to);
            assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
            assert!(text.contains("dir/deeper.toml:") && text.contains('^'), "{to}:\n{text}");
        }
    }

    #[test]
    fn a_near_miss_is_offered() {
        assert!(refused("tx_depth = 128", "tx_dpeth = 128").contains("did you mean `tx_depth`?"));
        assert!(refused("[design]", "[desing]").contains("did you mean `design`?"));
        assert!(refused("[workloads.with.deep]", "[workloads.with.dep]").contains("did you mean `deep`?"));
    }

    #[test]
    fn an_empty_file_says_all_that_is_missing() {
        let text = read("").err().unwrap();
        assert!(text.contains("question: is missing"), "{text}");
        let text = read("question = \"x\"").err().unwrap();
        assert!(text.contains("workloads: there is none"), "{text}");
    }

    #[test]
    fn all_faults_of_a_file_are_shown_at_once() {
        let text =
            read(&GOOD.replace("tx_depth = 1\n", "tx_dpth = 1\n").replace("5%", "500%")).err().unwrap();
        assert_eq!(text.matches("error: ").count(), 2, "{text}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = load(Path::new("/nowhere/x.toml")).err().unwrap().to_string();
        assert!(error.contains("/nowhere/x.toml") && error.contains("scenarios/quickstart.toml"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z\\[\\]=\"\\n. 0-9é]{0,80}") {
            let _ = read(&text);
        }

        #[test]
        fn no_change_to_a_good_file_panics(at in 0usize..GOOD.len(), junk in "[\\[\\]=\"\\n.a0]{0,3}", cut in 0usize..6) {
            let end = (at + cut).min(GOOD.len());
            let _ = read(&format!("{}{junk}{}", &GOOD[..at], &GOOD[end..]));
        }
    }
}
