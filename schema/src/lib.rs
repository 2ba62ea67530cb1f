//! The types that cross rdma-harness's process borders and lie in its store.
//!
//! A leaf room: everyone may enter, it sees no one. Types, units and their text forms only; no I/O, no host, no engine.
//! Every quantity carries its unit in its type here and in its JSON key outside. What each key means is in
//! `docs/record-format.md`; the JSON Schema is generated from these types.
#![forbid(unsafe_code)]

pub mod campaign;
pub mod cluster;
pub mod evidence;
pub mod finding;
pub mod histogram;
pub mod history;
pub mod hold;
pub mod host;
pub mod metric;
pub mod outcome;
pub mod record;
pub mod soft;
pub mod spec;
pub mod tuning;
pub mod units;

pub use campaign::{
    Campaign, CampaignRun, CampaignState, Design, Factor, Grouping, Purpose, Role, StopRule, Stopped,
    Variant, Workload,
};
pub use cluster::{
    Cluster, ClusterNode, ClusterWorkload, Directions, HistoryLevel, LauncherKind, NodeAudit, NodeState,
    PairOutcome, PairPoint, PairRole, PairRun, PatternKind, Round, RoundPart,
};
pub use evidence::{CounterDelta, FrequencyEvidence, HostEvidence, Judgement, Level, Unit, VectorEvidence};
pub use finding::{Audit, Diagnosis, Finding, Matters, Reading, Severity, Step};
pub use histogram::{EncodedHistogram, LatencyKind, LatencySummary};
pub use history::{
    Acknowledgement, Baseline, Certainty, Configuration, ConfigurationChange, Endpoint, FoundBy, History,
    Limit, Night, NightCampaign, NightPart, NightValue, Note, Origin, Reported, Series, SeriesKey, Trend,
};
pub use hold::{Holding, StartAt};
pub use host::HostFacts;
pub use metric::{Direction, Gate, Metric};
pub use outcome::{Outcome, Side, Stage};
pub use record::{Fabric, Point, RunRecord, SideRecord};
pub use soft::{Jitter, SoftFault, SoftModel};
pub use spec::{
    Arrivals, Compat, ConnectBy, CpuChoice, NodeChoice, Op, Pace, Pages, PostApi, Rate, RunSpec, SideSpec,
    Stop, Test, Transport, Wait,
};
pub use tuning::{Class, Knob, KnobRecord, KnobSetting, KnobState, SidesTuning, Tuning};
pub use units::{BitsPerSec, Bytes, Nanos, UnitError};

/// Version of every JSON document and wire message this build reads and writes.
///
/// It grows by one when a field is removed or changes meaning; adding an optional field does not change it.
pub const SCHEMA_VERSION: u32 = 1;
