//! A cluster with every kind of finding and every state of a node, judged by hand: what views and exports are tested on. The
//! figures are plausible, and no rule computed them; how clusters are judged is tested elsewhere.

mod judged;
mod measured;

pub use judged::{awkward_cluster_report, cluster_report, fine_cluster_report};
pub use measured::{awkward_cluster, fine_cluster, measured_cluster};

/// What quotes, ends of lines and markup in names must not break.
const AWKWARD: [&str; 4] =
    ["a \"quoted\" one", "two\nlines\r\nand more", "<b>bold</b> & | bar", "=1+1,semi;colon"];
