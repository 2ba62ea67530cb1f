//! A run that stands ready until it is told its moment: pairs that start together, and every way in which the moment can be missed.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{ChildStdin, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Finished, Serving, finish,
    programs::{PATIENCE, await_end},
    verbs_bench,
};
use rustix::time::{ClockId, clock_gettime};
use schema::{
    Arrivals, Bytes, Nanos, Op, Outcome, Pace, Rate, RunRecord, RunSpec, Side, Stage, Stop, Test,
    record::StartUp,
};

/// From a moment to the first post, where the machine is busy with other tests.
const LATEST: Duration = Duration::from_millis(500);

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

fn spec(test: Test, op: Op) -> RunSpec {
    let mut spec = RunSpec::with_op(test, op);
    (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
    spec.msg_bytes = if op.is_atomic() { vec![Bytes(8)] } else { vec![Bytes(64), Bytes(4_096)] };
    spec.warmup_ns = Nanos(5_000_000);
    spec.stop = Stop::DurationNs(Nanos(20_000_000));
    spec
}

/// A run that stands ready.
struct Held {
    stdin: ChildStdin,
    rest: thread::JoinHandle<Finished>,
}

impl Held {
    /// Starts it and waits for its word.
    #[track_caller]
    fn start(spec: &RunSpec, more: &[&str]) -> Held {
        let mut command = verbs_bench(&["run", "--spec", "-", "--hold", "--json"]);
        command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (started, mut child) = (Instant::now(), command.spawn().expect("verbs-bench starts"));
        let mut stdin = child.stdin.take().expect("stdin is piped");
        writeln!(stdin, "{}", serde_json::to_string(spec).unwrap()).expect("it reads its spec");
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut word = String::new();
        stdout.read_line(&mut word).expect("it says something");
        let rest = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).expect("it says its record");
            Finished { stdout: text, ..await_end(child, started, PATIENCE) }
        });
        if word != "{\"holding\":true}\n" {
            panic!("not the word: {word}{:?}", rest.join());
        }
        Held { stdin, rest }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("it listens");
    }

    fn tell_moment(&mut self, at_monotonic_ns: u64) {
        self.tell(&format!("{{\"start_at_monotonic_ns\":{at_monotonic_ns}}}"));
    }

    fn end(self) -> Finished {
        let Held { stdin, rest } = self;
        drop(stdin);
        rest.join().expect("the reader does not panic")
    }
}

/// Where and why a run failed.
#[track_caller]
fn failure(record: &RunRecord) -> (Stage, Side, &str) {
    match &record.outcome {
        Outcome::Failed { stage, side, cause, .. } => (*stage, *side, cause),
        other => panic!("it did not fail: {other:?}"),
    }
}

#[test]
fn pairs_of_every_kind_start_together_and_none_before_the_moment() {
    let bidirectional = RunSpec { bidirectional: true, ..spec(Test::Bandwidth, Op::Send) };
    let rate = Rate::MessagesPerSec(5_000);
    let open = Pace::Open { rate, arrivals: Arrivals::Poisson, seed: 1 };
    let open = RunSpec { pace: open, ..spec(Test::Bandwidth, Op::Write) };
    let unchecked = RunSpec { data_check: false, ..spec(Test::Latency, Op::Write) };
    for specs in [
        [spec(Test::Latency, Op::Write), spec(Test::Bandwidth, Op::Read)],
        [bidirectional, open],
        [spec(Test::Latency, Op::Send), unchecked],
        [
            RunSpec { threads: 2, qp_count: 2, ..spec(Test::Bandwidth, Op::Write) },
            spec(Test::Latency, Op::FetchAdd),
        ],
    ] {
        let mut pairs = specs.each_ref().map(|spec| Held::start(spec, &[]));
        let told = monotonic_ns();
        let moment = told + 300_000_000;
        pairs.iter_mut().for_each(|pair| pair.tell_moment(moment));
        for (pair, spec) in pairs.into_iter().zip(&specs) {
            let record = pair.end().completed();
            assert_eq!(record.points.len(), spec.msg_bytes.len());
            let StartUp { first_post_monotonic_ns, held_ns, main_to_first_post_ns, .. } =
                record.start_up.expect("it began");
            let late = first_post_monotonic_ns.checked_sub(moment);
            let late = Duration::from_nanos(late.unwrap_or_else(|| panic!("it began too early: {spec:?}")));
            assert!(late < LATEST, "{late:?} late: {spec:?}");
            let held = held_ns.expect("it was held");
            assert!(held >= Nanos(moment - told), "{held}");
            let all = first_post_monotonic_ns.saturating_sub(held.get());
            assert!(main_to_first_post_ns.get() < all, "{main_to_first_post_ns}");
        }
    }
}

#[test]
fn a_moment_that_has_passed_is_at_once() {
    let mut pair = Held::start(&spec(Test::Latency, Op::Write), &[]);
    let told = monotonic_ns();
    pair.tell_moment(1);
    let start_up = pair.end().completed().start_up.expect("it began");
    assert!(start_up.first_post_monotonic_ns > told, "{start_up:?}");
    assert!(start_up.held_ns.is_some(), "{start_up:?}");
}

#[test]
fn a_moment_that_is_never_told_fails_the_run_with_its_stage() {
    let minutes_ahead = || format!("{{\"start_at_monotonic_ns\":{}}}", monotonic_ns() + 300_000_000_000);
    for (line, said) in [
        (None, "standard input ended"),
        (Some("go".to_owned()), "start_at_monotonic_ns"),
        (Some(minutes_ahead()), "the most is 60 s"),
    ] {
        let mut pair = Held::start(&spec(Test::Bandwidth, Op::Write), &[]);
        line.iter().for_each(|line| pair.tell(line));
        let record = pair.end().failed();
        let (stage, side, cause) = failure(&record);
        assert_eq!((stage, side), (Stage::WarmUp, Side::Requester));
        assert!(cause.contains("stood ready") && cause.contains(said), "{cause}");
        assert_eq!(record.start_up, None);
    }
}

#[test]
fn a_responder_that_dies_meanwhile_is_noticed_at_once() {
    let serving = Serving::start(&["--device", "soft"]);
    let pair = Held::start(&spec(Test::Latency, Op::Write), &["--peer", serving.address()]);
    drop(serving);
    let record = pair.rest.join().unwrap().failed();
    let (stage, _, cause) = failure(&record);
    assert_eq!(stage, Stage::WarmUp);
    assert!(cause.contains("closed the connection"), "{cause}");
}

/// Longer than a responder waits for any other message.
#[test]
fn a_responder_bears_with_a_long_hold() {
    let bidirectional = RunSpec { bidirectional: true, ..spec(Test::Bandwidth, Op::Write) };
    let mut pairs =
        [spec(Test::Latency, Op::Write), bidirectional].each_ref().map(|spec| Held::start(spec, &[]));
    thread::sleep(Duration::from_secs(12));
    // And as long again between the telling and the moment.
    let moment = monotonic_ns() + 12_000_000_000;
    pairs.iter_mut().for_each(|pair| pair.tell_moment(moment));
    for pair in pairs {
        let start_up = pair.end().completed().start_up.expect("it began");
        assert!(start_up.held_ns.expect("it was held") > Nanos(24_000_000_000), "{start_up:?}");
        assert!(start_up.main_to_first_post_ns < Nanos(12_000_000_000), "{start_up:?}");
    }
}

#[test]
fn what_can_not_be_held_is_refused_before_anything_is_touched() {
    for arguments in [
        &["run", "--hold", "--device", "soft"] as &[&str],
        &["run", "--hold", "--spec", "-"],
        &["run", "--hold", "--json", "--spec", "/dev/null"],
        &["run", "--hold", "--json", "--spec", "-"],
    ] {
        let refused = finish(&mut verbs_bench(arguments), PATIENCE).expect(2);
        assert!(refused.stdout.is_empty(), "{}", refused.stdout);
    }
}
