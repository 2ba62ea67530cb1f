//! perftest's users' fingers: defaults, rules, refusals, and that no flag of perftest is unknown.

use std::collections::BTreeSet;

use schema::{
    Arrivals, BitsPerSec, Bytes, Compat, Nanos, Op, Pace, PostApi, Rate, RunSpec, Stop, Transport, Wait,
};

use super::{
    command::{command, draft, given_of},
    flag::Answer,
    flags::OURS,
    rows,
    tool::{TOOLS, Tool},
};

/// Names of all flags that perftest 6.29 declares, and those of an older release that were renamed.
const DECLARED: &str = include_str!("perftest-flags.txt");

fn tool(name: &str) -> Tool {
    TOOLS.into_iter().find(|tool| tool.name == name).expect("a tool")
}

fn try_plan(line: &str) -> Result<(RunSpec, Vec<String>), String> {
    let (name, flags) = line.split_once(' ').unwrap_or((line, ""));
    let draft = draft(tool(name), &given_of(tool(name), flags)).map_err(|faults| faults.join("\n"))?;
    draft.plan().map(|plan| (plan.spec, plan.notes))
}

fn plan(line: &str) -> RunSpec {
    let spec = try_plan(line).unwrap_or_else(|error| panic!("{line}: {error}")).0;
    assert_eq!(spec.faults(), [], "{line}");
    spec
}

fn note(line: &str, word: &str) -> bool {
    try_plan(line).expect(line).1.iter().any(|note| note.contains(word))
}

#[test]
fn no_flag_of_perftest_is_unknown() {
    let longs: BTreeSet<String> =
        rows().flat_map(|flag| flag.spellings().into_iter().chain([flag.long.to_owned()])).collect();
    let letters: BTreeSet<char> = rows().filter_map(|flag| flag.letter).collect();
    let mut count = 0;
    for line in DECLARED.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let long = words.next().expect("a name");
        assert!(longs.contains(long), "--{long} has no row");
        if let Some(letter) = words.next() {
            assert!(letters.contains(&letter.chars().next().unwrap()), "-{letter} has no row");
        }
        count += 1;
    }
    assert!(count > 150, "the list of flags has {count} lines");
}

#[test]
fn a_row_says_what_it_does() {
    let declared: BTreeSet<&str> = DECLARED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(' ').next())
        .collect();
    for flag in rows() {
        let ours = OURS.iter().any(|ours| ours.long == flag.long);
        assert_eq!(ours, !declared.contains(flag.long), "{}", flag.long);
        match flag.answer {
            Answer::Field(field, _) => {
                let spec = serde_json::to_value(RunSpec::new(schema::Test::Bandwidth)).unwrap();
                assert!(spec.get(field).is_some(), "{} sets no field {field}", flag.long);
                assert!(!flag.help.is_empty(), "{}", flag.long);
            }
            Answer::Here(_) => assert!(!flag.help.is_empty(), "{}", flag.long),
            Answer::Always(why) | Answer::Not(why) => assert!(!why.is_empty(), "{}", flag.long),
        }
    }
}

#[test]
fn clap_takes_the_command_of_every_program() {
    for tool in TOOLS {
        command(tool).debug_assert();
    }
}

#[test]
fn the_defaults_are_perftests() {
    for (name, size, count, depth, interval, inline) in [
        ("write-bw", 65_536, 5_000, 128, 1, 0),
        ("read-bw", 65_536, 1_000, 128, 1, 0),
        ("send-bw", 65_536, 1_000, 128, 1, 0),
        ("atomic-bw", 8, 1_000, 128, 100, 0),
        ("write-lat", 2, 1_000, 1, 1, 220),
        ("read-lat", 2, 1_000, 1, 1, 0),
        ("send-lat", 2, 1_000, 1, 1, 236),
        ("atomic-lat", 8, 1_000, 1, 1, 0),
    ] {
        let spec = plan(name);
        assert_eq!((spec.msg_bytes[0], spec.stop), (Bytes(size), Stop::Iterations(count)), "{name}");
        assert_eq!((spec.tx_depth, spec.signal_interval), (depth, interval), "{name}");
        assert_eq!((spec.max_inline_bytes, spec.rx_depth), (inline, 512), "{name}");
        assert_eq!((spec.post_api, spec.compat), (PostApi::Extended, Compat::None), "{name}");
    }
    assert_eq!(plan("send-bw -c UD").msg_bytes, [Bytes(1_024)]);
    assert_eq!(plan("send-bw -c UD -m 2048").msg_bytes, [Bytes(2_048)]);
    assert_eq!(plan("send-lat -c UD").max_inline_bytes, 188);
    assert_eq!(plan("send-lat -I 0").max_inline_bytes, 0);
}

#[test]
fn cq_moderation_follows_perftests_rules_and_says_so() {
    for (line, interval) in [
        ("write-bw -s 8192", 100),
        ("write-bw -s 8193", 1),
        ("write-bw -a", 100),
        ("write-bw -e", 100),
        ("send-bw -c UD -s 4096", 100),
        ("write-bw -s 64 -t 16", 16),
        ("write-bw -l 16", 16),
        ("write-bw -s 64 -l 16 -Q 4", 4),
        ("write-bw -Q 50", 50),
    ] {
        assert_eq!(plan(line).signal_interval, interval, "{line}");
    }
    assert!(note("write-bw", "perftest's rule for messages above 8192"));
    assert!(note("write-bw -s 64 -l 16", "size of the post list"));
    assert!(note("write-bw -s 64 -Q 100 -t 16", "at most the TX depth"));
    assert!(try_plan("write-bw -l 16 -Q 5").unwrap_err().contains("not a multiple"));
}

#[test]
fn letters_mean_what_they_mean_there() {
    let spec = plan("write-bw -d rxe0 -i 2 -x 3 -m 1024 -S 3 -u 16 -t 64 -l 4 -q 2 -b -s 64 -n 100 -Q 4");
    assert_eq!((spec.requester.device.as_str(), spec.requester.port_num), ("rxe0", 2));
    assert_eq!((spec.requester.gid_index, spec.path_mtu), (Some(3), Some(1024)));
    assert_eq!((spec.service_level, spec.qp_timeout, spec.tx_depth, spec.post_list), (3, 16, 64, 4));
    assert_eq!((spec.qp_count, spec.bidirectional), (2, true));
    assert_eq!(spec.stop, Stop::Iterations(200), "-n counts for each QP");
    let spec = plan("send-bw -c UC -r 64 -e -X 2 --tclass 104 --pkey_index 1 --retry_count 3 --cqe_poll 8");
    assert_eq!((spec.transport, spec.rx_depth), (Transport::Uc, 64));
    assert_eq!((spec.wait, spec.comp_vector), (Wait::Event, 2));
    assert_eq!((spec.traffic_class, spec.pkey_index, spec.retry_count, spec.cq_poll_batch), (104, 1, 3, 8));
    assert_eq!(plan("atomic-bw -A CMP_AND_SWAP -o 4").op, Op::CompareSwap);
    assert_eq!(plan("write-bw --write_with_imm").op, Op::WriteImm);
    assert_eq!(plan("write-bw --use_old_post_send").post_api, PostApi::Classic);
    assert!(plan("write-bw").relaxed_ordering && !plan("write-bw --disable_pcie_relaxed").relaxed_ordering);
    assert!(!plan("write-lat").relaxed_ordering, "its last byte is polled");
    assert_eq!(plan("write-bw -a").msg_bytes.len(), 23);
    assert_eq!(plan("send-bw -c UD -a -m 1024").msg_bytes.last(), Some(&Bytes(1024)));
}

#[test]
fn underscores_hyphens_and_beginnings_of_names_are_taken() {
    for line in [
        "write-bw --tx_depth 7 --report-gbits",
        "write-bw --tx-depth=7 --report_gbits",
        "write-bw -t7 --report_gb",
    ] {
        assert_eq!(plan(line).tx_depth, 7, "{line}");
    }
    assert!(
        try_plan("read-lat --report-histogram -n100").is_ok()
            && try_plan("read-lat --report-histogrm").is_ok()
    );
}

#[test]
fn durations_have_perftests_margins() {
    for (line, counted_s, warmup_ms) in [
        ("write-bw -D 10", 6, 2_000),
        ("write-bw -D 60", 30, 15_000),
        ("write-bw -D 3", 3, 200),
        ("write-lat -D 10 -f 1", 8, 1_000),
    ] {
        let spec = plan(line);
        assert_eq!(spec.stop, Stop::DurationNs(Nanos(counted_s * 1_000_000_000)), "{line}");
        assert_eq!(spec.warmup_ns, Nanos(warmup_ms * 1_000_000), "{line}");
    }
    assert!(note("write-bw -D 10", "6 s are counted"));
    for line in ["write-bw -D 4 -f 2", "write-bw -f 2", "write-bw -D 4 -n 5", "write-bw -D 0"] {
        assert!(try_plan(line).is_err(), "{line}");
    }
}

#[test]
fn a_rate_is_an_open_load() {
    let open = |rate| Pace::Open { rate, arrivals: Arrivals::Fixed, seed: 1 };
    let spec = plan("write-bw --rate_limit 2.5");
    assert_eq!(spec.pace, open(Rate::BitsPerSec(BitsPerSec(2_500_000_000))));
    assert_eq!(spec.signal_interval, 1);
    let spec = plan("write-bw --rate_limit=100 --rate_units=M --rate_limit_type=SW -s 64");
    assert_eq!(spec.pace, open(Rate::BitsPerSec(BitsPerSec(838_860_800))));
    assert_eq!(plan("write-bw --rate_limit 5000 --rate_units p").pace, open(Rate::MessagesPerSec(5_000)));
    assert!(try_plan("write-bw --rate_limit 1 --rate_limit_type HW").unwrap_err().contains("SW is"));
}

#[test]
fn compat_is_perftests_method() {
    let spec = plan("write-bw --compat perftest");
    assert_eq!((spec.compat, spec.warmup_ns, spec.data_check), (Compat::Perftest, Nanos(0), false));
    let spec = plan("write-bw --compat perftest --perform_warm_up --data_validation");
    assert!(spec.warmup_ns > Nanos(0) && spec.data_check);
}

#[test]
fn refusals_name_the_flag_and_the_reason() {
    for (line, words) in [
        ("write-bw -s 64k", "-s, --size: `64k`: perftest reads this as 64 B; write 64K"),
        ("write-bw -x 5000000000", "-x, --gid-index: 5000000000 is out of range"),
        ("write-lat -C", "-C, --report-cycles: a cycle is no unit of time"),
        ("read-bw -I 8", "-I, --inline_size: has no meaning for read-bw"),
        ("write-bw -c XRC", "-c, --connection: XRC is not here"),
        ("write-bw --use_cuda=0", "--use_cuda: GPU"),
        ("atomic-bw -s 8", "-s, --size: has no meaning for atomic-bw"),
        ("write-lat -b", "-b, --bidirectional: has no meaning for write-lat"),
        ("write-bw -a -s 8", "--all and --size"),
    ] {
        let error = try_plan(line).unwrap_err();
        assert!(error.contains(words), "{line}: {error}");
    }
    let both = try_plan("write-bw -O -W x").unwrap_err();
    assert_eq!(both.lines().count(), 2, "every refused flag is named at once: {both}");
}
