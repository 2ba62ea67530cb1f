//! An agent on a thread of the test, with a shell script for a verbs-bench: many runs at once, and what holds up none of them.

use std::{
    cell::RefCell,
    io,
    sync::mpsc::{Receiver, channel},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use schema::{RunSpec, Side, Test};

use super::{
    Setup,
    link::{Event, Link},
    protocol::{Order, PROTOCOL, RELEASE, Report},
    serve::{self, serve},
    testing::script,
};
use crate::{interrupt::Interrupt, scenario::Place};

/// What no test waits longer for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A responder says where it listens and ends when it is killed; a requester that holds repeats the line that starts it; any
/// other is not at its end although it has said all.
const VERBS_BENCH: &str = r#"case "$*" in
serve*) echo '{"listening":"127.0.0.1:1"}'; exec sleep 600 ;;
*--hold*) read -r spec; echo '{"holding":true}'; read -r start; echo "told $start" ;;
*) exec >&-; exec sleep 600 ;;
esac
"#;

struct Served {
    link: Link<()>,
    heard: Receiver<Event<()>>,
    passed_over: RefCell<Vec<Report>>,
    agent: JoinHandle<Result<(), serve::ServeError>>,
    _folder: tempfile::TempDir,
}

impl Served {
    fn start(silence_ms: Option<u64>, change: impl FnOnce(&mut Setup)) -> Served {
        let (folder, program) = script(VERBS_BENCH);
        let mut setup = Setup { verbs_bench: Some(program), ..Setup::live() };
        change(&mut setup);
        let ((input, orders), (reports, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
        let agent = thread::spawn(move || serve(input, output, setup, &Interrupt::default()));
        let (events, heard) = channel();
        let link = Link::over(reports, orders, (), Place::Local, events);
        let passed_over = RefCell::default();
        let served = Served { link, heard, passed_over, agent, _folder: folder };
        served.order(Order::Hello { protocol: PROTOCOL, silence_ms, place: "here".into() });
        let hello = served.hear(|report| matches!(report, Report::Hello(_)));
        assert!(matches!(&hello, Report::Hello(hello) if hello.fault().is_none()), "{hello:?}");
        served
    }

    fn order(&self, order: Order) {
        self.link.order(&order);
    }

    /// The next report of a kind; others are kept for later.
    #[track_caller]
    fn hear(&self, is_it: impl Fn(&Report) -> bool) -> Report {
        let deadline = Instant::now() + PATIENCE;
        let kept = self.passed_over.borrow().iter().position(&is_it);
        if let Some(kept) = kept {
            return self.passed_over.borrow_mut().remove(kept);
        }
        loop {
            match self.heard.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Report((), report)) if is_it(&report) => return report,
                Ok(Event::Report((), Report::NotStarted { run, cause })) => panic!("run {run}: {cause}"),
                Ok(Event::Report((), report)) => self.passed_over.borrow_mut().push(report),
                other => panic!("{other:?}"),
            }
        }
    }

    #[track_caller]
    fn said(&self, run: u32) -> String {
        match self.hear(|report| matches!(report, Report::Said { run: of, .. } if *of == run)) {
            Report::Said { line, .. } => line,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn ended(&self, run: u32) -> (String, Side) {
        match self.hear(|report| matches!(report, Report::Ended { run: of, .. } if *of == run)) {
            Report::Ended { end, evidence, .. } => (end.stdout, evidence.side),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the link; the agent must end well.
    fn end(mut self) {
        self.link.hang_up();
        self.agent.join().unwrap().unwrap();
    }
}

fn serve_order(run: u32) -> Order {
    let listen = "127.0.0.1".parse().unwrap();
    Order::Serve { run, token: "ab".repeat(32), listen, device: "soft".into(), poll_cpus: Vec::new() }
}

fn measure(run: u32, hold: bool) -> Order {
    let mut spec = RunSpec::new(Test::Latency);
    spec.requester.device = "soft".into();
    let peer = "127.0.0.1:1".parse().unwrap();
    Order::Measure { run, token: "ab".repeat(32), peer, spec: Box::new(spec), hold }
}

#[test]
fn a_node_is_responder_of_several_and_requester_of_others_at_once() {
    let served = Served::start(None, |_| ());
    (0..4).for_each(|run| served.order(serve_order(run)));
    (4..8).for_each(|run| served.order(measure(run, true)));
    (0..4).for_each(|run| assert!(served.said(run).contains("listening")));
    (4..8).for_each(|run| assert_eq!(served.said(run), "{\"holding\":true}\n"));
    // In another order than they were started in; to a responder a start says nothing, nor to one that is not there.
    for run in [7, 5, 4, 6, 0, 99] {
        served.order(Order::Start { run, at_monotonic_ns: 1_000 + u64::from(run) });
    }
    for run in [4, 5, 6, 7] {
        let told = format!("told {{\"start_at_monotonic_ns\":{}}}\n", 1_000 + run);
        assert_eq!(served.ended(run), (told, Side::Requester));
    }
    (0..4).for_each(|run| served.order(Order::Stop { run }));
    (0..4).for_each(|run| assert_eq!(served.ended(run).1, Side::Responder));
    served.end();
}

#[test]
fn a_run_that_does_not_end_holds_up_no_other_and_can_be_stopped() {
    let served = Served::start(None, |setup| setup.patience = Duration::from_secs(3_600));
    served.order(measure(0, false)); // it has closed its output and lives on
    served.order(serve_order(1));
    assert!(served.said(1).contains("listening"));
    served.order(Order::Clock {});
    served.hear(|report| matches!(report, Report::Clock { monotonic_ns } if *monotonic_ns > 0));
    served.order(Order::Stop { run: 1 });
    assert_eq!(served.ended(1).1, Side::Responder);
    served.order(Order::Stop { run: 0 });
    assert_eq!(served.ended(0).1, Side::Requester);
    served.order(measure(2, false)); // its end is awaited when the link ends
    served.order(serve_order(3));
    served.said(3);
    served.end();
}

#[test]
fn the_same_run_twice_is_refused_until_it_has_ended() {
    let served = Served::start(None, |_| ());
    served.order(serve_order(1));
    served.order(serve_order(1));
    let refused = served.hear(|report| matches!(report, Report::NotStarted { .. }));
    let Report::NotStarted { run: 1, cause } = refused else { panic!("{refused:?}") };
    assert!(cause.contains("run 1 has not ended"), "{cause}");
    served.order(Order::Stop { run: 1 });
    served.ended(1);
    served.order(serve_order(1));
    served.said(1);
    served.end();
}

#[test]
fn an_agent_says_that_it_is_there_and_goes_when_its_controller_is_silent() {
    let mut served = Served::start(Some(1_200), |_| ());
    served.link.keep_alive(Duration::from_millis(1_200));
    for _ in 0..8 {
        served.hear(|report| matches!(report, Report::Alive {}));
    }
    served.link.keep_alive(Duration::from_secs(3_600)); // none for longer than the agent bears
    served.agent.join().unwrap().unwrap();
}

#[test]
fn an_audit_is_answered_with_facts_and_findings() {
    let served = Served::start(None, |setup| setup.sysroot = host::testing::fixture("two-socket-mlx5"));
    served.order(Order::Audit { device: "mlx5_0".into() });
    let audited = served.hear(|report| matches!(report, Report::Audited(_)));
    let Report::Audited(audit) = audited else { panic!("{audited:?}") };
    assert_eq!(audit.facts.0["rdma_harness"], RELEASE);
    assert_eq!(audit.facts.0["driver"], "mlx5_core");
    assert!(!audit.findings.is_empty());
    served.end();
}
