//! Two moments of a counter become one growth, or the reason why there is none.

use host::Value;
use schema::evidence::{CounterDelta, Unit};

use super::{
    catalogue::{self, Kind},
    snapshot::{Key, Snapshot},
};

/// How the reason begins of a counter that is smaller than before.
pub(super) const BACKWARDS: &str = "it ran backwards";

/// The counters worth keeping: those that moved, those that can't be told, and those whose standing still is evidence.
/// Counters of single queues of a network device are left out: there are hundreds, and they count the kernel's traffic.
pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Vec<CounterDelta> {
    let vanished = before.counters.iter().filter(|(key, _)| !after.counters.contains_key(*key));
    let gone = vanished.map(|(key, value)| (key, Some(value), None));
    let there = after.counters.iter().map(|(key, value)| (key, before.counters.get(key), Some(value)));
    let mut deltas: Vec<CounterDelta> =
        there.chain(gone).filter_map(|(key, before, after)| delta(key, before, after)).collect();
    deltas.sort_by(|a, b| (&a.source, &a.name).cmp(&(&b.source, &b.name)));
    deltas
}

fn delta(key: &Key, before: Option<&Value<u64>>, after: Option<&Value<u64>>) -> Option<CounterDelta> {
    let (source, name) = key;
    let kind = Kind::of(source);
    let known = catalogue::look_up(kind, name);
    let of_a_queue = kind == Kind::Ethtool && catalogue::is_of_a_queue(name);
    if known.is_none() && (of_a_queue || catalogue::is_a_stock(kind, name)) {
        return None;
    }
    let unit = known.map_or_else(|| catalogue::unit_by_name(name), |known| known.unit);
    let factor = known.map_or(1, |known| known.factor);
    let growth = match (before, after) {
        _ if unit == Unit::Percent => match after {
            Some(Value::Known(now)) => Ok(*now),
            _ => return None,
        },
        (Some(Value::Known(before)), Some(Value::Known(after))) => match after.checked_sub(*before) {
            Some(steps) => steps.checked_mul(factor).ok_or_else(|| "it grew beyond 64 bits".to_owned()),
            None => Err(format!("{BACKWARDS}, from {before} to {after}: wrapped, or reset by its driver")),
        },
        (Some(Value::Known(_)), Some(unknown)) => {
            Err(format!("it could not be read at the end: {}", unknown.why_unknown().unwrap_or_default()))
        }
        (Some(Value::Known(_)), None) => Err("it vanished while the run lasted".to_owned()),
        (None, Some(Value::Known(_))) => Err("it appeared while the run lasted".to_owned()),
        // It never had a value (`N/A`): there is nothing to tell.
        _ => return None,
    };
    let keep = growth != Ok(0) || known.is_some_and(|known| catalogue::is_key(&known));
    keep.then(|| CounterDelta {
        source: source.clone(),
        name: name.clone(),
        unit,
        delta: growth.as_ref().ok().copied(),
        invalid: growth.err(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(source: &str, name: &str, before: Value<u64>, after: Value<u64>) -> Option<CounterDelta> {
        delta(&(source.to_owned(), name.to_owned()), Some(&before), Some(&after))
    }

    #[test]
    fn words_become_bytes_and_a_gauge_is_its_last_reading() {
        let data =
            told("counters mlx5_0/1", "port_xmit_data", Value::Known(10), Value::Known(15)).expect("kept");
        assert_eq!((data.delta, data.unit), (Some(20), Unit::Bytes));
        let gauge = "outbound_pci_stalled_rd";
        let stalled = told("ethtool e", gauge, Value::Known(80), Value::Known(3)).expect("kept");
        assert_eq!((stalled.delta, stalled.unit, stalled.invalid), (Some(3), Unit::Percent, None));
    }

    #[test]
    fn backwards_is_no_growth_modulo_anything() {
        let wrapped =
            told("hw_counters mlx5_0/1", "out_of_sequence", Value::Known(u64::MAX), Value::Known(0));
        let wrapped = wrapped.expect("kept");
        assert_eq!(wrapped.delta, None);
        assert!(wrapped.invalid.expect("why").contains("backwards"));
    }

    #[test]
    fn standing_still_is_kept_where_it_is_evidence_and_never_having_a_value_is_nothing() {
        let still = |source, name| told(source, name, Value::Known(7), Value::Known(7));
        assert_eq!(still("hw_counters rxe0/1", "rcvd_seq_err").expect("kept").delta, Some(0));
        assert_eq!(still("hw_counters rxe0/1", "sent_pkts"), None);
        assert_eq!(still("counters mlx5_0/1", "symbol_error"), None, "RoCE never counts it");
        let na = || Value::NotApplicable("N/A (no PMA)".into());
        assert_eq!(told("counters m/1", "link_downed", na(), na()), None);
        let lost = told("counters m/1", "link_downed", Value::Known(0), na()).expect("kept");
        assert!(lost.invalid.expect("why").contains("N/A"));
    }

    #[test]
    fn how_many_there_are_is_no_counter() {
        assert_eq!(told("hw_counters bnxt_re0/1", "active_qps", Value::Known(9), Value::Known(4)), None);
    }

    #[test]
    fn queues_are_left_out_and_strangers_that_moved_are_kept() {
        assert_eq!(told("ethtool e", "rx0_packets", Value::Known(1), Value::Known(9)), None);
        let stranger = told("ethtool e", "tx_novel_thing", Value::Known(1), Value::Known(9)).expect("kept");
        assert_eq!((stranger.delta, stranger.unit), (Some(8), Unit::Unknown));
        let moved = told("ethtool e", "ch3_aff_change", Value::Known(1), Value::Known(2)).expect("kept");
        assert_eq!(moved.delta, Some(1));
    }

    proptest! {
        #[test]
        fn a_growth_is_never_made_up(before: u64, after: u64) {
            let told = told("counters m/1", "port_xmit_data", Value::Known(before), Value::Known(after));
            match told {
                None => prop_assert_eq!(before, after),
                Some(told) => match told.delta {
                    Some(bytes) => prop_assert_eq!(u128::from(bytes), u128::from(after - before) * 4),
                    None => prop_assert!(told.invalid.is_some()),
                },
            }
        }
    }
}
