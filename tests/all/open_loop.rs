//! Open load against the software NIC's model: what was asked is what came, a stall shows in every message it delayed, and a
//! search finds what the model bears. A busy machine may spoil an attempt; one of five must agree.

use e2e::{finish, programs::PATIENCE, verbs_bench};
use schema::{LatencyKind, Outcome, Point, RunRecord};

const ATTEMPTS: u32 = 5;

/// A search on a busy machine may find nothing; that is an attempt too.
fn measure(arguments: &[&str]) -> Result<Point, String> {
    let command = ["run", "--device", "soft", "--op", "write", "-s", "64", "--warmup", "50ms", "--json"];
    let mut record: RunRecord = finish(verbs_bench(&command).args(arguments), PATIENCE).json();
    match record.outcome {
        Outcome::Completed => Ok(record.points.remove(0)),
        failed => Err(failed.to_string()),
    }
}

#[track_caller]
fn agrees(arguments: &[&str], check: impl Fn(&Point) -> Result<(), String>) {
    let attempt = || measure(arguments).and_then(|point| check(&point));
    let said: Vec<String> = (0..ATTEMPTS).map_while(|_| attempt().err()).collect();
    assert!(said.len() < ATTEMPTS as usize, "{ATTEMPTS} attempts at {arguments:?}:\n{}", said.join("\n"));
}

fn near(what: &str, found: f64, put_in: f64, share: f64) -> Result<(), String> {
    match (found / put_in - 1.0).abs() <= share {
        true => Ok(()),
        false => Err(format!("{what}: {put_in} was put in, {found} came out")),
    }
}

#[test]
fn a_rate_is_kept_whatever_its_gaps() {
    for arrivals in ["fixed", "poisson"] {
        let arguments = [
            "--rate",
            "20k/s",
            "--arrivals",
            arrivals,
            "--seed",
            "7",
            "--soft-model",
            "latency=10us",
            "--duration",
            "1s",
        ];
        agrees(&arguments, |point| {
            let pace = point.pace.as_ref().expect("a schedule");
            assert_eq!((pace.asked_messages_per_sec, &pace.probes[..]), (20_000.0, &[][..]));
            assert_eq!(point.latency_ns.kind, LatencyKind::IntendedToCompletion);
            assert_eq!(point.histogram.decode().unwrap().len(), point.messages);
            near("messages per second", pace.achieved_messages_per_sec, 20_000.0, 0.02)
        });
    }
}

/// Messages are due evenly and the link stands still for 50 of every 500 ms, so a tenth of them waits, from 50 ms down to
/// nothing: 0.1 % of all wait longer than 50 ms less 0.1 % of 500 ms.
#[test]
fn a_stall_is_in_the_tail_of_a_schedule_and_hidden_from_a_closed_loop() {
    let model = ["--soft-model", "latency=5us", "--soft-fault", "stall=50ms/500ms", "--duration", "4s"];
    let p99_9 = |point: &Point| point.latency_ns.p99_9.expect("enough samples") as f64;
    let open = [&model[..], &["--rate", "5k/s", "--tx-depth", "512"]].concat();
    agrees(&open, |point| near("corrected p99.9", p99_9(point), 49_500_000.0 + 10_000.0, 0.05));
    let closed = [&model[..], &["--tx-depth", "1"]].concat();
    agrees(&closed, |point| match p99_9(point) < 10_000_000.0 {
        true => Ok(()),
        false => Err(format!("one message a stall, and yet a p99.9 of {} ns", p99_9(point))),
    });
}

/// The model bears 5,000 messages a second; beyond, each waits longer than the one before it.
#[test]
fn a_search_finds_the_rate_the_model_bears() {
    let arguments = [
        "--search-rate",
        "p99=40ms",
        "--soft-model",
        "latency=10us,message_rate=5000",
        "--duration",
        "3s",
        "-t",
        "256",
    ];
    agrees(&arguments, |point| {
        let pace = point.pace.as_ref().expect("a schedule");
        assert!((2..=9).contains(&pace.probes.len()), "{:?}", pace.probes);
        let best = pace.probes.iter().filter(|probe| probe.held).map(|probe| probe.asked_messages_per_sec);
        assert_eq!(
            best.fold(0.0, f64::max),
            pace.asked_messages_per_sec,
            "the point is measured at the best rate"
        );
        near("fastest rate", pace.asked_messages_per_sec, 5_000.0, 0.1)
    });
}

#[test]
fn a_search_that_finds_nothing_says_what_it_tried() {
    let hopeless = [
        "run",
        "--device",
        "soft",
        "-s",
        "64",
        "--search-rate",
        "p99=10us",
        "--soft-model",
        "latency=200us",
        "--warmup",
        "10ms",
        "--duration",
        "300ms",
        "--json",
    ];
    let ended = finish(&mut verbs_bench(&hopeless), PATIENCE).failed();
    let Outcome::Failed { cause, .. } = ended.outcome else { panic!("{:?}", ended.outcome) };
    assert!(cause.contains("p99 of 10us") && cause.contains("messages/s"), "{cause}");
}
