//! What the two processes say to each other, in the order in which they say it.

use std::net::SocketAddr;

use schema::{
    Fabric, Nanos, RunSpec, SideRecord, Stop,
    record::{DataCheck, Reverse},
};
use serde::{Deserialize, Serialize};

use crate::{fault::Fault, verbs::RemoteQp};

/// Version of this conversation; both sides must have the same.
pub const PROTOCOL_VERSION: u32 = 3;

/// First words of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Always `verbs-bench`.
    pub program: String,
    /// [`PROTOCOL_VERSION`].
    pub protocol_version: u32,
    /// [`schema::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Release, for the message when they differ.
    pub release: String,
    /// 32 random bytes, hex: makes every proof good for one connection.
    pub nonce: String,
    /// Whether this side holds a token.
    pub has_token: bool,
}

/// What one side tells about itself before queue pairs are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// RDMA device or software NIC.
    pub fabric: Fabric,
    /// Link layer of its port.
    pub link_layer: String,
    /// Active MTU of its port, bytes.
    pub active_mtu: u32,
    /// Its GID; none where the port needs none.
    pub gid: Option<[u8; 16]>,
    /// Boot id of its kernel: equal means the same host.
    pub boot_id: Option<String>,
    /// The CPUs its polling threads are pinned to.
    pub cpus: Vec<u32>,
    /// Reads and atomics of a peer that one of its QPs answers at once.
    pub max_qp_rd_atom: u8,
    /// Reads and atomics that one of its QPs can have outstanding.
    pub max_qp_init_rd_atom: u8,
}

/// The registered region; where messages lie in it both sides know from the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Address of its first byte, as the owner sees it.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
    /// Remote key.
    pub rkey: u32,
}

/// A listener of rdma_cm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CmOffer {
    /// Where it is.
    pub address: SocketAddr,
    /// What a request must carry to be one of this session.
    pub nonce: [u8; 32],
}

/// One side's queue pairs and target memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Who.
    pub party: Party,
    /// Path MTU in bytes that both sides shall use.
    pub path_mtu: u32,
    /// Reads and atomics outstanding per QP that both sides shall use; 0 where there are none.
    pub outstanding_reads: u8,
    /// Where the responder awaits rdma_cm, if that brings the QPs to life.
    pub cm: Option<CmOffer>,
    /// One per QP, in order: thread by thread: QP i talks to QP i.
    pub qps: Vec<RemoteQp>,
    /// Its memory.
    pub region: Region,
}

/// What both sides do next.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Index of the message size in the plan.
    pub point: u32,
    /// What is done with it.
    pub work: Work,
    /// From its receipt to the responder's first post, where that is to wait for the requester's; none is at once.
    pub after_ns: Option<Nanos>,
}

/// What is done with a message size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Every slot of every QP is sent once, to be compared afterwards.
    Check {
        /// Of the pattern.
        generation: u8,
    },
    /// WarmUp, Measure, Drain.
    Measure {
        /// When Measure ends.
        stop: Stop,
        /// Messages a second of a whole side; none in a closed loop.
        messages_per_sec: Option<f64>,
    },
}

/// What the responder did for an order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Stopped {
    /// Messages it sent on each QP, in order; empty where it sends nothing.
    pub sent: Vec<u64>,
    /// Messages it received; none where the operation does not tell it.
    pub received: Option<u64>,
    /// What it measured of a bidirectional order.
    pub reverse: Option<Reverse>,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "body", rename_all = "snake_case")]
pub enum Message {
    /// Both sides: versions and nonce.
    Hello(Hello),
    /// Both sides: HMAC over both nonces; empty without a token.
    Proof(String),
    /// Requester: the whole plan.
    Plan(Box<(RunSpec, Party)>),
    /// Responder, then requester: queue pairs and memory.
    Offer(Box<Offer>),
    /// Responder: its queue pairs are ready to send.
    Connected,
    /// Requester: make ready for this, whose start someone else is going to name.
    Await(Order),
    /// Responder: it is ready for that.
    Ready,
    /// Requester: make ready for this unless it is what was awaited, and begin it.
    Start(Order),
    /// Responder: it has begun.
    Started,
    /// Requester: it has sent all it had to; so many messages on each QP, in order.
    Stop(Vec<u64>),
    /// Responder: it has sent all it had to, and received what it could.
    Stopped(Box<Stopped>),
    /// Requester: compare what the last order left in memory.
    Check,
    /// Responder: what it found; none where there is nothing to compare on its side.
    Checked(Option<DataCheck>),
    /// Requester: no more points.
    Finish,
    /// Responder: its side of the record.
    Report(Box<SideRecord>),
    /// Either: what went wrong on its side; the connection ends.
    Fault(Fault),
}

impl Message {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Hello(_) => "hello",
            Message::Proof(_) => "proof",
            Message::Plan(_) => "plan",
            Message::Offer(_) => "offer",
            Message::Connected => "connected",
            Message::Await(_) => "await",
            Message::Ready => "ready",
            Message::Start(_) => "start",
            Message::Started => "started",
            Message::Stop(_) => "stop",
            Message::Stopped(_) => "stopped",
            Message::Check => "check",
            Message::Checked(_) => "checked",
            Message::Finish => "finish",
            Message::Report(_) => "report",
            Message::Fault(_) => "fault",
        }
    }
}
