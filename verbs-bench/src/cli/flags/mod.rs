//! The flags about the test, by theme: each group writes its part of a RunSpec and knows nothing of the others.
//!
//! A flag is named as its field of the spec in kebab case, without the unit, and has perftest's letter where perftest has one.

mod load;
mod memory;
mod pace;
mod path;
mod sides;
mod wait;

use std::{fmt::Display, str::FromStr};

use schema::RunSpec;

pub(super) use load::LoadFlags;
pub(super) use memory::MemoryFlags;
pub(super) use pace::PaceFlags;
pub(super) use path::PathFlags;
pub(super) use sides::SideFlags;
pub(super) use wait::WaitFlags;

/// All flags about the test.
#[derive(Debug, clap::Args)]
pub(super) struct TestFlags {
    #[command(flatten)]
    load: LoadFlags,
    #[command(flatten)]
    pace: PaceFlags,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    memory: MemoryFlags,
    #[command(flatten)]
    path: PathFlags,
    #[command(flatten)]
    sides: SideFlags,
}

impl TestFlags {
    /// Names of the groups, for flags that replace them all.
    pub(super) const GROUPS: [&str; 6] =
        ["LoadFlags", "PaceFlags", "WaitFlags", "MemoryFlags", "PathFlags", "SideFlags"];

    /// The spec these flags ask for; `local` is whether the responder will run on this host.
    pub(super) fn spec(&self, local: bool) -> RunSpec {
        let mut spec = self.load.spec();
        self.pace.apply(&mut spec);
        self.wait.apply(&mut spec);
        self.memory.apply(&mut spec);
        self.path.apply(&mut spec);
        self.sides.apply(&mut spec, local);
        spec
    }
}

/// The flag that sets a field of the spec, as a user would type it.
pub(super) fn flag_of(field: &str) -> String {
    match field {
        "msg_bytes" => "--size".into(),
        "max_inline_bytes" => "--inline".into(),
        "working_set_bytes" => "--working-set".into(),
        "stride_bytes" => "--stride".into(),
        "pace" => "--rate, --search-rate".into(),
        "requester" => "--device, --ib-port".into(),
        "responder" => "--peer-device".into(),
        field => format!("--{}", field.replace('_', "-")),
    }
}

/// Reads one of the spec's words as it is typed: `RC` and `write-imm` too.
fn word<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.to_ascii_lowercase().replace('-', "_").parse().map_err(|error: T::Err| error.to_string())
}

/// Overwrites a field where the flag was given.
fn set<T: Clone>(field: &mut T, given: &Option<T>) {
    if let Some(value) = given {
        field.clone_from(value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory, Parser};
    use schema::{
        Arrivals, BitsPerSec, Bytes, ConnectBy, Nanos, Op, Pace, Pages, PostApi, Rate, Test, Transport, Wait,
    };

    use super::*;

    #[derive(Debug, Parser)]
    struct Only {
        #[command(flatten)]
        test: TestFlags,
    }

    fn spec(flags: &str) -> RunSpec {
        Only::try_parse_from(std::iter::once("test").chain(flags.split_whitespace()))
            .unwrap_or_else(|error| panic!("{flags}: {error}"))
            .test
            .spec(true)
    }

    #[test]
    fn no_flag_is_the_default_of_the_test() {
        assert_eq!(spec(""), RunSpec::new(Test::Bandwidth));
        assert_eq!(spec("--test latency"), RunSpec::new(Test::Latency));
        assert_eq!(spec("--op fetch-add"), RunSpec::with_op(Test::Bandwidth, Op::FetchAdd));
    }

    /// Each line sets one thing; what it set is all that differs from the default.
    #[test]
    fn each_flag_sets_its_field() {
        type Set = fn(&mut RunSpec);
        let lines: [(&str, Set); 26] = [
            ("--op write_imm", |spec| spec.op = Op::WriteImm),
            ("-c UC", |spec| spec.transport = Transport::Uc),
            ("--post-api extended", |spec| spec.post_api = PostApi::Extended),
            ("-R", |spec| spec.connect_by = ConnectBy::RdmaCm),
            ("--connect-by rdma-cm", |spec| spec.connect_by = ConnectBy::RdmaCm),
            ("-b", |spec| spec.bidirectional = true),
            ("-e", |spec| spec.wait = Wait::Event),
            ("--wait hybrid:20us", |spec| spec.wait = Wait::Hybrid { spin_ns: Nanos(20_000) }),
            ("-X 3", |spec| spec.comp_vector = 3),
            ("--threads 2", |spec| spec.threads = 2),
            ("-r 64", |spec| spec.rx_depth = 64),
            ("-o 4", |spec| spec.outstanding_reads = Some(4)),
            ("--working-set 1Mi", |spec| spec.working_set_bytes = Some(Bytes(1 << 20))),
            ("--stride 128Ki", |spec| spec.stride_bytes = Some(Bytes(1 << 17))),
            ("--pages 2Mi", |spec| spec.pages = Pages::Huge2Mi),
            ("--relaxed-ordering", |spec| spec.relaxed_ordering = true),
            ("--completion-timestamps", |spec| spec.completion_timestamps = true),
            ("--compat perftest", |spec| spec.compat = schema::Compat::Perftest),
            ("--flow-label 0x12345", |spec| spec.flow_label = 0x12345),
            ("--pkey-index 1", |spec| spec.pkey_index = 1),
            ("--tclass 104", |spec| spec.traffic_class = 104),
            ("--no-data-check", |spec| spec.data_check = false),
            ("-n 5000", |spec| spec.stop = schema::Stop::Iterations(5_000)),
            ("--rate 250k/s", |spec| {
                let rate = Rate::MessagesPerSec(250_000);
                spec.pace = Pace::Open { rate, arrivals: Arrivals::Fixed, seed: 1 };
            }),
            ("--rate 10Gbps --arrivals poisson --seed 7", |spec| {
                let rate = Rate::BitsPerSec(BitsPerSec(10_000_000_000));
                spec.pace = Pace::Open { rate, arrivals: Arrivals::Poisson, seed: 7 };
            }),
            ("--search-rate p99=50us", |spec| {
                let p99_at_most_ns = Nanos(50_000);
                spec.pace = Pace::Search { p99_at_most_ns, arrivals: Arrivals::Fixed, seed: 1 };
            }),
        ];
        for (flags, set) in lines {
            let mut expected = RunSpec::new(Test::Bandwidth);
            set(&mut expected);
            assert_eq!(spec(flags), expected, "{flags}");
        }
    }

    /// A field that no flag can set is a field that only `--spec` reaches.
    #[test]
    fn every_field_of_the_spec_has_its_flag() {
        let command = Only::command();
        let flags: BTreeSet<String> = command
            .get_arguments()
            .filter_map(|flag| flag.get_long())
            .map(|long| format!("--{long}"))
            .collect();
        let spec = serde_json::to_value(RunSpec::new(Test::Bandwidth)).expect("a spec is JSON");
        let fields = spec.as_object().expect("of an object").keys();
        for field in fields {
            let wanted = match field.as_str() {
                "schema_version" => continue,
                "stop" => "--duration".to_owned(),
                "data_check" => "--no-data-check".to_owned(),
                field => flag_of(field.strip_suffix("_ns").unwrap_or(field)),
            };
            for flag in wanted.split(", ") {
                assert!(flags.contains(flag), "no {flag} for {field}");
            }
        }
    }

    #[test]
    fn what_belongs_together_is_refused_apart() {
        for flags in ["--arrivals poisson", "--seed 3", "--rate 1k/s --search-rate p99=1us", "-n 5 -D 1s"] {
            assert!(
                Only::try_parse_from(std::iter::once("test").chain(flags.split(' '))).is_err(),
                "{flags}"
            );
        }
    }
}
