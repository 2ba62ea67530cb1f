//! The title of a test: `RDMA_Write Bidirectional BW Test` in a table, `RDMA_Write_Bidirectional_BW_Test` in JSON.

/// What a title says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Title {
    /// The verb, in our words.
    pub(super) op: &'static str,
    /// Bandwidth, or else latency.
    pub(super) bandwidth: bool,
    /// Both sides send.
    pub(super) bidirectional: bool,
}

/// The verbs as perftest writes them, the longer first where one begins with another.
const VERBS: [(&[&str], &str); 7] = [
    (&["RDMA", "Write", "imm"], "write_imm"),
    (&["RDMA", "Write"], "write"),
    (&["RDMA", "Read"], "read"),
    (&["Send", "imm"], "send_imm"),
    (&["Send"], "send"),
    (&["Atomic", "CMP", "AND", "SWAP"], "cmp_and_swap"),
    (&["Atomic", "FETCH", "AND", "ADD"], "fetch_and_add"),
];

impl Title {
    /// None for a text that is no title.
    pub(super) fn of(text: &str) -> Option<Title> {
        let words: Vec<&str> = text.split([' ', '_']).filter(|word| !word.is_empty()).collect();
        let (rest, op) = VERBS.iter().find_map(|(verb, op)| Some((words.strip_prefix(*verb)?, *op)))?;
        let (last, options) = rest.split_last()?;
        let known = |word: &&str| {
            ["Bidirectional", "Post", "List", "Multicast", "forwarding", "BW", "Latency"].contains(word)
        };
        if *last != "Test" || !options.iter().all(known) {
            return None;
        }
        let bandwidth = options.contains(&"BW");
        if bandwidth == options.contains(&"Latency") {
            return None;
        }
        Some(Title { op, bandwidth, bidirectional: options.contains(&"Bidirectional") })
    }

    /// `write_bw`, as the tool is named.
    pub(super) fn workload(self) -> String {
        format!("{}_{}", self.op, if self.bandwidth { "bw" } else { "lat" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_tables_and_of_json() {
        let title = Title::of("RDMA_Write Bidirectional Post List BW Test").unwrap();
        assert_eq!(title, Title { op: "write", bandwidth: true, bidirectional: true });
        assert_eq!(Title::of("RDMA_Write_Bidirectional_Post_List_BW_Test"), Some(title));
        assert_eq!(Title::of("Atomic FETCH_AND_ADD Latency Test").unwrap().workload(), "fetch_and_add_lat");
        assert_eq!(Title::of("RDMA_Write_imm BW Test").unwrap().op, "write_imm");
        assert_eq!(Title::of("Send BW Test").unwrap().workload(), "send_bw");
    }

    #[test]
    fn other_texts_are_no_titles() {
        for text in
            ["", "Test", "RDMA_Write Test", "RDMA_Write BW", "RDMA_Write BW Latency Test", "Send a BW Test"]
        {
            assert_eq!(Title::of(text), None, "{text}");
        }
    }
}
