//! What a cluster's pairs say about its nodes, links and switches.
//!
//! The peers of one night are the reference: no history is asked. Pure: what is suspected, who should be measured again with
//! whom, and what is said in the end are functions of the [`schema::Cluster`] alone.

pub mod model;

pub use model::{
    ClusterCounts, ClusterFinding, ClusterHead, ClusterReport, ClusterRules, ClusterVerdict, Effect,
    FindingKind, GroupReport, Matrix, Measure, NodeReport, NotRun, RetestReport, RoundsReport, Subject,
};
