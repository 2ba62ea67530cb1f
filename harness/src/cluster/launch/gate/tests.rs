//! Agents, late ones, wrong ones and strangers at a gate on the loopback interface.

use std::{
    io::{self, Write as _},
    sync::Arc,
};

use super::{super::seats::Numbered, *};
use crate::{
    agent::{
        join::{DialError, Target, dial},
        protocol::Order,
    },
    interrupt::Interrupt,
};

const LONG: Duration = Duration::from_secs(60);

fn listener() -> Option<SocketAddr> {
    Some("127.0.0.1:0".parse().unwrap())
}

fn come(address: SocketAddr, token: &JoinToken, rank: u32) -> Result<String, DialError> {
    let target = address.to_string().parse::<Target>().unwrap();
    let (size, node, switches) = (None, Some(format!("n{rank}")), Vec::new());
    let identity = Identity { told_by: "flags".into(), rank, size, node, switches, address: None };
    let (input, _output) = dial(&target, token, &identity, None, LONG, &Interrupt::default())?;
    Ok(io::read_to_string(input).unwrap())
}

/// A gate for so many, and what is heard at it.
fn open(
    seats: u32,
    within: Duration,
    visit: impl FnOnce(SocketAddr, &JoinToken) + Send,
) -> (Vec<(Identity, Link<Rank>)>, Vec<String>) {
    let gate = Gate::open(listener()).unwrap();
    let (token, address) = (JoinToken::drawn().unwrap(), gate.address());
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let say = Say::new(move |line| lock(&heard).push(line.to_owned()));
    let (events, _heard) = channel();
    let comers = thread::scope(|scope| {
        let token = &token;
        scope.spawn(move || visit(address, token));
        let comers = gate.admit(token, &Numbered { count: seats }, within, &say, || false);
        let who = |(rank, comer): (Rank, Comer)| (comer.identity.clone(), comer.link(rank, &events));
        let mut comers = comers.into_iter().map(who).collect::<Vec<_>>();
        for (_, link) in &mut comers {
            link.order(&Order::Stop { run: link.key });
            link.hang_up();
        }
        comers
    });
    let told = lock(&told).clone();
    (comers, told)
}

#[test]
fn each_that_knows_the_token_is_let_in_under_its_rank() {
    let (comers, told) = open(20, LONG, |address, token| {
        thread::scope(|scope| {
            for rank in (0..20).rev() {
                scope.spawn(move || {
                    let orders = come(address, token, rank).unwrap();
                    assert!(orders.contains(&format!("{{\"stop\":{{\"run\":{rank}}}}}")), "{orders}");
                });
            }
        });
    });
    assert_eq!(comers.iter().map(|(_, link)| link.key).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert_eq!(comers[3].1.place.to_string(), "flags:n3");
    assert_eq!(comers[3].0.address, Some("127.0.0.1".parse().unwrap()));
    assert!(comers[3].1.silence().is_some(), "a host can vanish without a word");
    assert!(told.is_empty(), "{told:?}");
}

#[test]
fn strangers_are_told_of_and_hold_nobody_up() {
    let (comers, told) = open(1, LONG, |address, token| {
        let silent = TcpStream::connect(address).unwrap();
        let mut scanner = TcpStream::connect(address).unwrap();
        scanner.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!(io::read_to_string(scanner).unwrap_or_default(), "", "strangers are told nothing");
        let wrong = come(address, &JoinToken::drawn().unwrap(), 0).unwrap_err();
        assert!(matches!(wrong, DialError::Handshake { .. }), "{wrong}");
        assert!(come(address, token, 7).unwrap_err().to_string().contains("rank is 7"));
        come(address, token, 0).unwrap();
        drop(silent);
    });
    assert_eq!(comers.len(), 1);
    for said in ["not a message", "another token", "rank is 7"] {
        assert!(
            told.iter().any(|line| line.contains(said) && line.contains("127.0.0.1")),
            "{said} in {told:?}"
        );
    }
}

#[test]
fn a_rank_comes_once() {
    let (comers, told) = open(2, LONG, |address, token| {
        thread::scope(|scope| {
            // Who of the two is first does not matter; the other is sent away, and rank 1 ends the wait.
            let both = [0, 0].map(|rank| scope.spawn(move || come(address, token, rank)));
            while both.iter().all(|one| !one.is_finished()) {
                thread::sleep(Duration::from_millis(5));
            }
            come(address, token, 1).unwrap();
            let refused =
                both.map(|one| one.join().unwrap()).into_iter().filter_map(Result::err).collect::<Vec<_>>();
            assert_eq!(refused.len(), 1);
            assert!(refused[0].to_string().contains("came already"), "{}", refused[0]);
        });
    });
    assert_eq!(comers.len(), 2);
    assert!(told.iter().any(|line| line.contains("came already")), "{told:?}");
}

#[test]
fn who_does_not_come_is_not_waited_for_for_ever() {
    let (comers, _) = open(2, Duration::from_secs(1), |address, token| {
        let _ = come(address, token, 1);
    });
    assert_eq!(comers.iter().map(|(_, link)| link.key).collect::<Vec<_>>(), [1]);
}
