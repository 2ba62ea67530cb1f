//! Why a pattern can't be laid out over these nodes.

use schema::PatternKind;

use crate::scenario::FaultReport;

/// Why there are no rounds.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// There are fewer nodes than it takes.
    #[error("pattern `{pattern}` takes {needs} nodes or more, and there {}", are(*.nodes))]
    TooFew {
        /// The pattern.
        pattern: PatternKind,
        /// Nodes it takes.
        needs: usize,
        /// Nodes there are.
        nodes: usize,
    },
    /// More nodes at once were asked for than there are.
    #[error(
        "pattern.{key}: {asked} asked for, and of {nodes} nodes {most} can be; lower it, or take more nodes"
    )]
    TooMany {
        /// The key of the suite.
        key: &'static str,
        /// As asked.
        asked: u32,
        /// As many as there can be.
        most: usize,
        /// Nodes there are.
        nodes: usize,
    },
    /// It goes by switches, and those are not known.
    #[error(
        "pattern `{pattern}` goes by the switches above the nodes, and those of {} are not known; give them with --topology FILE or leaf= in the host file",
        some(.nodes)
    )]
    NoTopology {
        /// The pattern.
        pattern: PatternKind,
        /// Names of nodes.
        nodes: Vec<String>,
    },
    /// No leaf has two nodes.
    #[error("pattern `leaf` measures pairs below one leaf switch, and no leaf has two nodes")]
    NoLeafOfTwo,
    /// A victim's leaf has no other node that could be sent to.
    #[error(
        "pattern `victim` sends to other nodes below the responder's leaf, and {} has none beside it; leave it out, or use pattern `incast`",
        .node
    )]
    AloneBelowLeaf {
        /// Name of the node.
        node: String,
    },
    /// The file of a custom pattern does not fit the nodes.
    #[error("{0}")]
    Custom(FaultReport),
}

fn are(nodes: usize) -> String {
    match nodes {
        0 => "is none".into(),
        1 => "is 1".into(),
        more => format!("are {more}"),
    }
}

/// The first few names, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_a_few_are_shown() {
        let names = |count: usize| (1..=count).map(|n| format!("n{n}")).collect::<Vec<_>>();
        assert_eq!(some(&names(2)), "n1, n2");
        assert_eq!(some(&names(7)), "n1, n2, n3, n4, n5 and 2 more");
        let error = PatternError::TooFew { pattern: PatternKind::Pairs, needs: 2, nodes: 1 }.to_string();
        assert_eq!(error, "pattern `pairs` takes 2 nodes or more, and there is 1");
    }
}
