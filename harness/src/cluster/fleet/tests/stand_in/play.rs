//! What a stand-in answers to an order.

use std::{
    collections::BTreeMap,
    io::{BufReader, PipeReader},
    sync::{Arc, Mutex, atomic::Ordering},
    thread,
    time::Duration,
};

use schema::{
    Fabric, HostEvidence, Nanos, NodeAudit, Outcome, RunRecord, RunSpec, SCHEMA_VERSION, Side,
    record::StartUp,
};

use super::{Between, Deed, Kind, Manner, Output, Rank};
use crate::{
    agent::{
        protocol::{Answer, End, Hello, Order, PROTOCOL, RELEASE, Report},
        wire::{MOST_ORDER, receive},
    },
    words,
};

/// Statuses as waitpid(2) gives them: exit code 2, and killed.
const REFUSED: i32 = 2 << 8;
const KILLED: i32 = 9;

/// A requester under way.
struct Requester {
    token: String,
    spec: Box<RunSpec>,
}

pub(super) fn play(
    rank: Rank,
    mut input: BufReader<PipeReader>,
    output: Arc<Output>,
    mut manner: Manner,
    between: &Mutex<Between>,
) {
    let mut requesters: BTreeMap<u32, Requester> = BTreeMap::new();
    let mut responders: Vec<u32> = Vec::new();
    while let Ok(Some(order)) = receive::<Order>(&mut input, MOST_ORDER) {
        between.lock().unwrap().seen.push((rank, Kind::of(&order)));
        let deed = (manner.deeds)(&order);
        let run = match &order {
            Order::Serve { run, .. } | Order::Measure { run, .. } | Order::Start { run, .. } => *run,
            _ => 0,
        };
        match deed {
            Deed::Obey => {}
            Deed::Ignore => continue,
            Deed::Die => {
                output.pipe.lock().unwrap().take();
                return;
            }
            Deed::Hang => {
                output.hangs.store(true, Ordering::SeqCst);
                loop {
                    thread::park();
                }
            }
            Deed::NotStart => {
                output.say(&Report::NotStarted { run, cause: "no such file".into() });
                continue;
            }
            Deed::Refuse => {
                output.say(&ended(run, side_of(&order), REFUSED, String::new()));
                continue;
            }
            Deed::Babble => {
                output.say(&Report::Said { run, line: "mumble".into() });
                requesters.extend(requester(&order));
                responders.push(run);
                continue;
            }
        }
        match order {
            Order::Hello { silence_ms, .. } => {
                output.say(&Report::Hello(Box::new(hello(rank))));
                let (output, pause) = (output.clone(), Duration::from_millis(silence_ms.unwrap_or(600) / 6));
                thread::spawn(move || {
                    while output.pipe.lock().unwrap().is_some() {
                        thread::sleep(pause);
                        output.say(&Report::Alive {});
                    }
                });
            }
            Order::Clock {} => {
                output.say(&Report::Clock { monotonic_ns: words::monotonic_ns() + manner.ahead_ns });
            }
            Order::Audit { device } => {
                let facts = schema::Configuration([("device".to_owned(), device)].into());
                output.say(&Report::Audited(Box::new(NodeAudit { facts, findings: Vec::new() })));
            }
            Order::Serve { run, token, .. } => {
                between.lock().unwrap().waiting.insert(token, (run, output.clone()));
                responders.push(run);
                output.say(&Report::Said { run, line: r#"{"listening":"127.0.0.1:1"}"#.into() });
            }
            Order::Measure { run, .. } => {
                requesters.extend(requester(&order));
                output.say(&Report::Said { run, line: r#"{"holding":true}"#.into() });
            }
            Order::Start { run, at_monotonic_ns } => {
                let Some(Requester { token, spec }) = requesters.remove(&run) else { continue };
                if let Some((run, responder)) = between.lock().unwrap().waiting.remove(&token) {
                    responder.say(&ended(run, Side::Responder, 0, String::new()));
                }
                let record = record(*spec, at_monotonic_ns + manner.late_ns);
                output.say(&ended(run, Side::Requester, 0, serde_json::to_string(&record).unwrap()));
            }
            Order::Stop { run } => {
                let side = match requesters.remove(&run) {
                    Some(_) => Side::Requester,
                    None if responders.contains(&run) => Side::Responder,
                    None => continue,
                };
                output.say(&ended(run, side, KILLED, String::new()));
            }
            Order::Alive {} => {}
            _ => output.say(&Report::Answer(Answer { knobs: Vec::new(), fault: None })),
        }
    }
    output.pipe.lock().unwrap().take();
}

fn side_of(order: &Order) -> Side {
    if matches!(order, Order::Serve { .. }) { Side::Responder } else { Side::Requester }
}

fn requester(order: &Order) -> Option<(u32, Requester)> {
    match order {
        Order::Measure { run, token, spec, .. } => {
            Some((*run, Requester { token: token.clone(), spec: spec.clone() }))
        }
        _ => None,
    }
}

fn ended(run: u32, side: Side, status: i32, stdout: String) -> Report {
    let evidence = HostEvidence {
        side,
        place: "local".into(),
        tuning: Vec::new(),
        watched_ns: Nanos(1),
        counters: Vec::new(),
        vectors: Vec::new(),
        movers: Vec::new(),
        frequencies: Vec::new(),
        cpus_online: (None, None),
        notes: Vec::new(),
    };
    let stderr = if status == REFUSED { "error: tx_depth: 0 is too small\n".into() } else { String::new() };
    Report::Ended { run, end: End { status, stdout, stderr }, evidence: Box::new(evidence) }
}

fn record(spec: RunSpec, first_post_monotonic_ns: u64) -> RunRecord {
    let mut record = RunRecord::start(spec, Fabric::Soft, 0, Outcome::Completed);
    record.start_up = Some(StartUp {
        main_to_first_post_ns: Nanos(1),
        device_ns: Nanos(0),
        peer_ns: Nanos(0),
        held_ns: Some(Nanos(1)),
        first_post_monotonic_ns,
    });
    record
}

fn hello(rank: Rank) -> Hello {
    Hello {
        protocol: PROTOCOL,
        schema_version: SCHEMA_VERSION,
        release: RELEASE.into(),
        boot_id: Some(format!("boot {rank}")),
        netns: None,
        hostname: Some(format!("host{rank}")),
        identity: None,
        verbs_bench: Ok(String::new()),
    }
}
