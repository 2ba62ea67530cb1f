//! How far apart the pairs of a round began, as bars: rounds by the time between the first post of the first pair and that of the
//! last.

use schema::Round;

use crate::render::number;

/// Rounds of one range.
pub(super) struct Bar {
    /// `20 us to 50 us`
    pub(super) range: String,
    pub(super) rounds: usize,
    /// Of the highest bar, in percent.
    pub(super) percent: usize,
}

/// Ranges whose ends are 1, 2 and 5 times powers of ten, from the shortest skew to the longest; none where no skew is known.
pub(super) fn bars(rounds: &[Round]) -> Vec<Bar> {
    let skews: Vec<u64> = rounds.iter().filter_map(|round| Some(round.skew_ns?.get())).collect();
    let (Some(least), Some(most)) = (skews.iter().min(), skews.iter().max()) else { return Vec::new() };
    let ends: Vec<u64> =
        (0..18).map(|power| 10_u64.pow(power)).flat_map(|ten| [ten, 2 * ten, 5 * ten]).collect();
    // A skew below a nanosecond is none: it is in the first range.
    let range = |skew: u64| ends.partition_point(|end| *end <= skew).max(1) - 1;
    let counted: Vec<(usize, usize)> = (range(*least)..=range(*most))
        .map(|of| (of, skews.iter().filter(|skew| range(**skew) == of).count()))
        .collect();
    let highest = counted.iter().map(|(_, rounds)| *rounds).max().unwrap_or(1);
    let bar = |(of, rounds): (usize, usize)| {
        let end = |at: usize| {
            ends.get(at).map_or_else(|| "more".to_owned(), |end| number::nanos_short(*end as f64))
        };
        Bar { range: format!("{} to {}", end(of), end(of + 1)), rounds, percent: rounds * 100 / highest }
    };
    counted.into_iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::measured_cluster;
    use schema::Nanos;

    #[test]
    fn every_round_is_in_one_range() {
        let mut rounds = measured_cluster().rounds;
        rounds.truncate(6);
        for (round, skew) in rounds.iter_mut().zip([0, 19_999, 20_000, 49_999, 50_000, 210_000]) {
            round.skew_ns = Some(Nanos(skew));
        }
        let told: Vec<(String, usize)> =
            bars(&rounds[1..]).into_iter().map(|bar| (bar.range, bar.rounds)).collect();
        let range = |text: &str, rounds| (text.to_owned(), rounds);
        assert_eq!(
            told,
            [
                range("10 us to 20 us", 1),
                range("20 us to 50 us", 2),
                range("50 us to 100 us", 1),
                range("100 us to 200 us", 0),
                range("200 us to 500 us", 1)
            ]
        );
        assert_eq!(bars(&rounds).iter().map(|bar| bar.rounds).sum::<usize>(), 6);
        rounds.iter_mut().for_each(|round| round.skew_ns = None);
        assert!(bars(&rounds).is_empty());
    }
}
