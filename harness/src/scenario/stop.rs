//! Reads when a campaign has enough blocks: the keys of `[design]` that belong to `stop`.
//!
//! How many blocks a look needs depends on the questions, which are known when the plan is made; here only what each key
//! says by itself is checked.

use schema::Nanos;

use super::{
    fault::{Fault, Span, did_you_mean},
    section::{At, Section},
};

/// The keys that only mean something where the campaign may stop early.
const OF_THE_RULE: [&str; 3] = ["first_look", "look_every", "max_time"];
/// The most blocks a design may have.
pub(super) const MOST_BLOCKS: u64 = 10_000;

/// `stop = "when-decided"`, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenStop {
    /// Place of `stop`.
    pub span: Span,
    /// Place of `blocks`, the most that are made; absent where it is the default.
    pub blocks: Option<Span>,
    /// Blocks before the first look.
    pub first_look: Option<At<u32>>,
    /// Blocks between two looks.
    pub look_every: Option<At<u32>>,
    /// Time the campaign may take.
    pub max_time: Option<At<Nanos>>,
}

/// The rule of a design; none where all blocks are made.
pub(super) fn read_stop(design: &Section<'_>) -> Option<WrittenStop> {
    let early = design.text("stop").filter(|stop| is_early(design, stop));
    let blocks = |key| {
        let number = design.whole(key, 1, MOST_BLOCKS)?;
        Some(At { value: number.value as u32, span: number.span })
    };
    let (first_look, look_every) = (blocks("first_look"), blocks("look_every"));
    let max_time = design.parsed::<Nanos>("max_time").filter(|time| is_some_time(design, time));
    let Some(stop) = early else {
        refuse_without_rule(design);
        return None;
    };
    let blocks = design.raw("blocks").map(toml::Spanned::span);
    Some(WrittenStop { span: stop.span, blocks, first_look, look_every, max_time })
}

fn is_early(design: &Section<'_>, stop: &At<String>) -> bool {
    match stop.value.as_str() {
        "when-decided" => true,
        "all-blocks" => false,
        other => {
            let near = did_you_mean(other, ["when-decided", "all-blocks"]).unwrap_or("when-decided");
            design.push(
                Fault::new(
                    design.field("stop"),
                    stop.span.clone(),
                    format!("`{other}` is no rule to stop by"),
                )
                .advice(format!("write \"{near}\"; known are all-blocks and when-decided")),
            );
            false
        }
    }
}

fn is_some_time(design: &Section<'_>, time: &At<Nanos>) -> bool {
    let some = time.value.get() > 0;
    if !some {
        design.fault(
            "max_time",
            time.span.clone(),
            "is no time; write for example \"20min\", or leave it out",
        );
    }
    some
}

/// A budget that nothing keeps to would be a promise broken in silence.
fn refuse_without_rule(design: &Section<'_>) {
    for key in OF_THE_RULE {
        if let Some(value) = design.raw(key) {
            design.push(
                Fault::new(design.field(key), value.span(), "has no meaning where all blocks are made")
                    .advice("add stop = \"when-decided\", or remove it"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::scenario::{WrittenStop, parse};

    fn design(keys: &str) -> Result<Option<WrittenStop>, String> {
        let rest = "[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\n[[variants]]\nname = \"a\"\nbaseline = true\n[[variants]]\nname = \"b\"\ntx_depth = 1\n";
        let text = format!("question = \"x\"\n[design]\n{keys}\n{rest}");
        let scenario = parse(Path::new("x.toml"), text).map_err(|error| error.to_string())?;
        Ok(scenario.design.stop)
    }

    #[test]
    fn without_a_rule_all_blocks_are_made() {
        assert_eq!(design("").unwrap(), None);
        assert_eq!(design("stop = \"all-blocks\"").unwrap(), None);
    }

    #[test]
    fn the_rule_is_read_as_written() {
        let stop = design("stop = \"when-decided\"\nfirst_look = 8\nlook_every = 4\nmax_time = \"20min\"");
        let stop = stop.unwrap().unwrap();
        assert_eq!(stop.first_look.map(|look| look.value), Some(8));
        assert_eq!(stop.look_every.map(|look| look.value), Some(4));
        assert_eq!(stop.max_time.map(|time| time.value.get()), Some(1_200_000_000_000));
        let bare = design("stop = \"when-decided\"").unwrap().unwrap();
        assert_eq!((bare.first_look, bare.look_every, bare.max_time), (None, None, None));
    }

    #[test]
    fn what_could_not_be_meant_is_refused_at_its_place() {
        for (keys, wanted) in [
            ("stop = \"when-decide\"", "design.stop: `when-decide` is no rule to stop by"),
            ("stop = 5", "design.stop: "),
            ("first_look = 6", "design.first_look: has no meaning where all blocks are made"),
            ("stop = \"all-blocks\"\nmax_time = \"1h\"", "design.max_time: has no meaning"),
            ("stop = \"when-decided\"\nmax_time = \"0s\"", "design.max_time: is no time"),
            ("stop = \"when-decided\"\nmax_time = \"20m\"", "unknown unit `m`; use ns, us, ms, s, min or h"),
            ("stop = \"when-decided\"\nlook_every = 0", "design.look_every: 0 is outside 1..=10000"),
        ] {
            let text = design(keys).expect_err(keys);
            assert!(
                text.contains(wanted) && text.contains("x.toml:"),
                "{keys}: wanted {wanted}, got:\n{text}"
            );
        }
    }
}
