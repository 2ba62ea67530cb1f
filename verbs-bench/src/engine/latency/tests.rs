use std::{
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

use schema::{Bytes, Compat, Nanos, Op, PostApi, RunSpec, Side, Stage, Stop, Test, Transport};

use super::{single::Single, stamp::Stamp, *};
use crate::clock::Tsc;
use crate::engine::{
    pattern,
    post::Preset,
    recorder::Recorder,
    rig::{End, pair, spec as any_spec},
};

const COUNT: u64 = 200;

fn spec(op: Op, change: impl FnOnce(&mut RunSpec)) -> RunSpec {
    any_spec(Test::Latency, op, |spec| {
        (spec.stop, spec.msg_bytes) = (Stop::Iterations(COUNT), vec![Bytes(8)]);
        change(spec);
    })
}

fn watch<'a>(clock: &Clock, side: Side, call: Option<&'a AtomicBool>, spec: &RunSpec) -> Watch<'a> {
    Watch::new(call, side, Stage::Measure, clock.scale(), spec.deadline_ns)
}

/// What the requester says in the end.
#[derive(Debug)]
struct Asked {
    measured: Measured,
    exchanges: u64,
    completions: u64,
    /// The shortest exchange.
    least_ns: u64,
}

/// What both sides say in the end.
struct Seen {
    asked: Asked,
    answered: u64,
    received: Option<(u64, u64)>,
}

fn receiver(end: &End, spec: &RunSpec, clock: &Clock, watch: &Watch<'_>) -> Option<Receiver> {
    spec.op.consumes_receives().then(|| {
        // SAFETY: the ends outlive the loops in every test here.
        let mut receiver = unsafe { Receiver::new(&end.job(spec), clock.scale()) };
        receiver.fill(watch).unwrap();
        receiver
    })
}

/// Lets one end ask and the other answer; `first` is done to the responder before it starts.
fn play(
    spec: &RunSpec,
    asks: &End,
    answers: &End,
    first: impl FnOnce(&End, Option<&mut Receiver>) + Send,
) -> Seen {
    let clock = Clock::calibrate();
    let over = &AtomicBool::new(false);
    let (ready, start) = mpsc::channel();
    /// The ends' loops are used by one thread each.
    struct Shared<'a>(&'a End);
    // SAFETY: the requester's thread and the responder's each use an end of their own.
    unsafe impl Send for Shared<'_> {}
    let there = Shared(answers);
    thread::scope(|scope| {
        let clock = &clock;
        let responder = scope.spawn(move || {
            let Shared(end) = { there };
            let mut watch = watch(clock, Side::Responder, Some(over), spec);
            let mut receiver = receiver(end, spec, clock, &watch);
            ready.send(()).unwrap();
            first(end, receiver.as_mut());
            // SAFETY: the end outlives the scope.
            let sent = unsafe { pong(&end.job(spec), clock, receiver.as_mut(), &mut watch) }.unwrap();
            (sent, receiver.map(|receiver| receiver.received()))
        });
        let mut watch = watch(clock, Side::Requester, None, spec);
        let mut receiver = receiver(asks, spec, clock, &watch);
        start.recv().unwrap();
        let asked = ask(spec, asks, clock, receiver.as_mut(), &mut watch).unwrap();
        over.store(true, Ordering::Release);
        let (answered, there) = responder.join().unwrap();
        let received = receiver.map(|receiver| receiver.received()).zip(there);
        Seen { asked, answered, received }
    })
}

fn ask(
    spec: &RunSpec,
    end: &End,
    clock: &Clock,
    receiver: Option<&mut Receiver>,
    watch: &mut Watch<'_>,
) -> Result<Asked, Halt> {
    let recorder = || Recorder::new(clock.scale(), spec.interval_ns);
    let [mut exchange, mut completion, mut warm, mut warm_completion] = [(); 4].map(|()| recorder());
    let kept = Samples { exchange: &mut exchange, completion: &mut completion };
    let scrap = Samples { exchange: &mut warm, completion: &mut warm_completion };
    // SAFETY: the end outlives the call.
    let measured = unsafe { ping(&end.job(spec), clock, receiver, kept, scrap, watch) }?;
    let (exchanges, completions) = (exchange.samples().0, completion.samples().0);
    Ok(Asked {
        measured,
        exchanges: exchanges.len(),
        completions: completions.len(),
        least_ns: exchanges.min(),
    })
}

fn exchanged(spec: &RunSpec) -> Seen {
    let (asks, answers) = pair(spec);
    play(spec, &asks, &answers, |_, _| {})
}

/// Every message completed; over rc every ping is answered and every answer heard, over uc and ud as many as were not late.
fn check_ping_pong(spec: &RunSpec) {
    let seen = exchanged(spec);
    let Asked { measured, exchanges, completions, .. } = seen.asked;
    let text = format!("{} over {}", spec.op, spec.transport);
    let lost = if spec.transport == Transport::Rc { 0 } else { measured.lost };
    assert_eq!((measured.messages, measured.lost), (COUNT - lost, lost), "{text}");
    assert_eq!((measured.sent, completions), (COUNT, COUNT), "{text}");
    assert_eq!(exchanges, measured.messages, "{text}");
    assert!(measured.ended > measured.began, "{text}");
    if spec.transport == Transport::Rc {
        assert_eq!(seen.answered, COUNT, "{text}");
    }
    if spec.transport == Transport::Rc && spec.op.consumes_receives() {
        assert_eq!(seen.received, Some((COUNT, COUNT)), "{text}");
    }
}

#[test]
fn writes_are_answered_one_by_one() {
    check_ping_pong(&spec(Op::Write, |_| {}));
    check_ping_pong(&spec(Op::Write, |s| (s.transport, s.msg_bytes) = (Transport::Uc, vec![Bytes(1)])));
}

#[test]
fn messages_are_answered_one_by_one_on_every_transport() {
    for transport in Transport::ALL.iter().copied() {
        check_ping_pong(&spec(Op::Send, |s| (s.transport, s.msg_bytes) = (transport, vec![Bytes(100)])));
    }
    for transport in [Transport::Rc, Transport::Uc] {
        check_ping_pong(&spec(Op::WriteImm, |s| (s.transport, s.rx_depth) = (transport, 2)));
    }
}

#[test]
fn perftest_takes_no_warm_up_and_a_sample_from_post_to_post() {
    for op in [Op::Write, Op::Send] {
        let spec = spec(op, |s| (s.compat, s.warmup_ns) = (Compat::Perftest, Nanos(1 << 40)));
        let Asked { measured, exchanges, completions, .. } = exchanged(&spec).asked;
        assert_eq!((measured.messages, measured.sent, exchanges), (COUNT, COUNT, COUNT - 1));
        assert_eq!(completions, COUNT);
    }
}

#[test]
fn reads_fetch_what_the_responder_has() {
    let spec = spec(Op::Read, |s| s.msg_bytes = vec![Bytes(1000)]);
    let (mut asks, mut answers) = pair(&spec);
    let layout = asks.layout();
    pattern::fill(answers.halves().0, 3);
    let Asked { measured, exchanges, completions, .. } = fetch(&spec, &asks);
    assert_eq!((measured.messages, exchanges, completions), (COUNT, COUNT, 0));
    let check = pattern::check_in_place(asks.halves().1, &layout, 1000, 3, Transport::Rc);
    assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(1000), Bytes(0)));
}

#[test]
fn atomics_count_exactly() {
    for op in [Op::FetchAdd, Op::CompareSwap] {
        let spec = spec(op, |s| s.warmup_ns = Nanos(100_000));
        let (mut asks, mut answers) = pair(&spec);
        let measured = fetch(&spec, &asks).measured;
        let layout = asks.layout();
        assert!(measured.sent >= COUNT);
        let there = pattern::check_counters(answers.halves().1, &layout, &[measured.sent]);
        let here = pattern::check_found(asks.halves().0, &layout, &[measured.sent]);
        assert_eq!(there.wrong_bytes.get() + here.wrong_bytes.get(), 0, "{op}");
    }
}

fn fetch(spec: &RunSpec, asks: &End) -> Asked {
    let clock = Clock::calibrate();
    ask(spec, asks, &clock, None, &mut watch(&clock, Side::Requester, None, spec)).unwrap()
}

#[test]
fn a_lost_message_is_counted_and_the_next_one_sent() {
    for transport in [Transport::Uc, Transport::Ud] {
        let spec = spec(Op::Send, |s| s.transport = transport);
        let (asks, answers) = pair(&spec);
        let Asked { measured, exchanges, .. } = play(&spec, &asks, &answers, |_, receiver| {
            // The first ping arrives and is not answered.
            let receiver = receiver.unwrap();
            while receiver.turn() == 0 {}
        })
        .asked;
        assert!(measured.lost >= 1);
        assert_eq!(measured.messages + measured.lost, COUNT);
        assert_eq!((measured.sent, exchanges), (COUNT, measured.messages));
    }
}

#[test]
fn a_late_answer_is_not_taken_for_the_next() {
    let spec = spec(Op::Send, |s| s.transport = Transport::Ud);
    let (asks, answers) = pair(&spec);
    let clock = Clock::calibrate();
    let seen = play(&spec, &asks, &answers, |end, receiver| {
        let receiver = receiver.unwrap();
        // The second ping says that the requester gave the first one up.
        for _ in 0..2 {
            while receiver.turn() == 0 {}
        }
        let job = end.job(&spec);
        let mut watch = watch(&clock, Side::Responder, None, &spec);
        // SAFETY: the end outlives both.
        let (mut single, stamp) = unsafe { (Single::classic::<Preset>(&job), Stamp::new(&job)) };
        stamp.write(1);
        single.post(0, &watch).unwrap();
        single.settle(Tsc, |_| {}, &mut watch).unwrap();
    });
    assert!(seen.asked.measured.lost >= 2);
    assert!(seen.answered >= seen.asked.exchanges);
}

#[test]
fn without_a_peer_the_deadline_ends_it() {
    for (op, transport) in [(Op::Write, Transport::Rc), (Op::Write, Transport::Uc), (Op::Send, Transport::Ud)]
    {
        let spec = spec(op, |s| (s.transport, s.deadline_ns) = (transport, Nanos(30_000_000)));
        let (asks, _silent) = pair(&spec);
        let clock = Clock::calibrate();
        let mut watch = watch(&clock, Side::Requester, None, &spec);
        let mut receiver = receiver(&asks, &spec, &clock, &watch);
        match ask(&spec, &asks, &clock, receiver.as_mut(), &mut watch) {
            Err(Halt::Fault(fault)) => assert!(fault.cause.contains("no answer to a ping for"), "{fault}"),
            other => panic!("{op} over {transport}: {other:?}"),
        }
    }
}

#[test]
fn the_extended_api_measures_the_same() {
    for (op, transport) in
        [(Op::Write, Transport::Rc), (Op::WriteImm, Transport::Rc), (Op::Send, Transport::Ud)]
    {
        check_ping_pong(&spec(op, |s| (s.transport, s.post_api) = (transport, PostApi::Extended)));
    }
    let spec = spec(Op::CompareSwap, |s| s.post_api = PostApi::Extended);
    let (asks, mut answers) = pair(&spec);
    let measured = fetch(&spec, &asks).measured;
    let check = pattern::check_counters(answers.halves().1, &asks.layout(), &[measured.sent]);
    assert_eq!(check.wrong_bytes, Bytes(0));
}

#[test]
fn a_sleeper_is_woken_by_each_message() {
    let wait = schema::Wait::Event;
    check_ping_pong(&spec(Op::Send, |s| s.wait = wait));
    let spec = spec(Op::Read, |s| s.wait = wait);
    let (asks, _answers) = pair(&spec);
    assert_eq!(fetch(&spec, &asks).measured.messages, COUNT);
}

/// A link is never faster than its model. A busy machine can make it slower, so the shortest of some exchanges must agree, in
/// one of some attempts.
#[test]
fn a_sample_is_what_the_model_of_the_link_says() {
    const ONE_WAY_NS: u64 = 200_000;
    const ATTEMPTS: u32 = 20;
    for (op, ways) in [
        (Op::Write, 1),
        (Op::Send, 1),
        (Op::WriteImm, 1),
        (Op::Read, 2),
        (Op::FetchAdd, 2),
        (Op::CompareSwap, 2),
    ] {
        for compat in [Compat::None, Compat::Perftest] {
            let spec = spec(op, |s| {
                (s.soft_model, s.compat) = (Some("latency=200us".parse().unwrap()), compat);
                s.stop = Stop::Iterations(30);
            });
            let put_in = ways * ONE_WAY_NS;
            let agrees = |_| {
                let found = match op.fetches() {
                    true => {
                        let (asks, _answers) = pair(&spec);
                        fetch(&spec, &asks).least_ns
                    }
                    false => exchanged(&spec).asked.least_ns,
                };
                // The histogram keeps three digits.
                assert!(found >= put_in - put_in / 500, "{op} {compat}: {found} ns");
                found <= put_in + put_in / 20
            };
            assert!((0..ATTEMPTS).any(agrees), "{op} {compat}: never {put_in} ns");
        }
    }
}
