//! What an audit of a host found: each finding with what was read, what is expected and by whose authority, and the remedy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::word_enum;

word_enum! {
    /// How a finding stands.
    Severity {
        /// As it should be.
        Fine = "fine",
        /// Worth knowing; nothing to do for RDMA.
        Note = "note",
        /// Costs performance or repeatability in some runs.
        Warning = "warning",
        /// Breaks runs, or makes their numbers wrong.
        Wrong = "wrong",
        /// Could not be seen; the readings say why.
        Unknown = "unknown",
        /// The host has no such thing, and needs none.
        NotApplicable = "not_applicable",
    }
}

word_enum! {
    /// What of a host's traffic a knob can change.
    Matters {
        /// Verbs traffic that the NIC carries and a polling thread takes.
        DataPath = "data_path",
        /// Completions that are waited for by events, and everything else that takes interrupts.
        EventMode = "event_mode",
        /// Connecting, registering memory, the exchange over TCP.
        ControlPath = "control_path",
        /// Sockets alone.
        TcpOnly = "tcp_only",
        /// Nothing by itself: what it says of the host is recorded for comparison.
        Provenance = "provenance",
    }
}

/// One thing that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Where: a path, or a device and the request that was made of it.
    pub at: String,
    /// What stood there; null where it could not be read.
    pub value: Option<String>,
    /// Why there is none: absent, not applicable, not readable; null where there is one.
    pub unknown: Option<String>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the check, under which `explain` knows more: `irq-placement`, `sysctl.net.core.rmem_max`.
    pub check: String,
    /// What it is about: an RDMA device, a network device, or `host`.
    pub subject: String,
    /// How it stands.
    pub severity: Severity,
    /// One line: what was found.
    pub summary: String,
    /// What was read, and where.
    pub readings: Vec<Reading>,
    /// What is expected.
    pub expected: String,
    /// Who says so: a kernel document, a vendor's, a tool's source, or our own measurement.
    pub authority: String,
    /// What it matters to.
    pub matters: Vec<Matters>,
    /// The exact command or step; empty where there is nothing to do.
    pub remedy: String,
}

/// The audit of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// `uname -n`; empty where it is not known.
    pub hostname: String,
    /// Whether it was read with root's rights; what could not be seen without them is unknown.
    pub privileged: bool,
    /// The RDMA devices that were looked at.
    pub devices: Vec<String>,
    /// In the order of the checks.
    pub findings: Vec<Finding>,
}

/// One question of the search for the cause of a symptom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// What was asked.
    pub asked: String,
    /// What was read to answer it.
    pub readings: Vec<Reading>,
    /// The answer.
    pub verdict: String,
    /// Whether it explains the symptom; null where the answer could not be seen.
    pub explains: Option<bool>,
    /// What to do if it is the cause; empty where there is nothing to do.
    pub next: String,
}

/// The search for the cause of a symptom, of one device or of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// [`crate::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The symptom: `port-down`, `low-bandwidth`.
    pub symptom: String,
    /// The RDMA device, or `host`.
    pub subject: String,
    /// In the order in which the causes are likely.
    pub steps: Vec<Step>,
    /// Whether a cause was found.
    pub found: bool,
    /// The most likely cause, or that nothing here explains it.
    pub conclusion: String,
    /// What to do next.
    pub next: String,
}
