//! What is slow in a simulated cluster.

/// What a plant slows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slow {
    /// What a node sends.
    Sends(u32),
    /// What a node receives.
    Receives(u32),
    /// Both.
    Node(u32),
    /// What passes between two nodes, both ways.
    Link(u32, u32),
    /// What passes from one node to another.
    Way(u32, u32),
    /// What crosses a leaf switch, by its number from 0.
    Leaf(u32),
}

/// Something slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plant {
    /// What.
    pub what: Slow,
    /// Share of the bandwidth that is lost; latency grows as much as bandwidth shrinks.
    pub by: f64,
}

impl Plant {
    /// Whether it slows what one node sends to another; `leaf` tells the leaf of a node.
    pub(super) fn slows(&self, requester: u32, responder: u32, leaf: impl Fn(u32) -> Option<u32>) -> bool {
        match self.what {
            Slow::Sends(node) => requester == node,
            Slow::Receives(node) => responder == node,
            Slow::Node(node) => requester == node || responder == node,
            Slow::Link(a, b) => (requester, responder) == (a, b) || (requester, responder) == (b, a),
            Slow::Way(a, b) => (requester, responder) == (a, b),
            Slow::Leaf(slow) => (leaf(requester) == Some(slow)) != (leaf(responder) == Some(slow)),
        }
    }
}
