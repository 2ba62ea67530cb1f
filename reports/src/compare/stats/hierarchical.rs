//! The bootstrap over groups and the values within each (Davison & Hinkley 1997, 3.8; Kalibera & Jones 2013): node pairs are drawn,
//! then pairs of runs of each. What differs from node pair to node pair is then in the interval, which pairs thrown together leave out.

use std::collections::BTreeMap;

use super::resample::{Drawn, Draws, resamples};

/// The mean over all values with the draws of its error; none where all are of one group. `groups` has the group of each value.
///
/// Draws of m groups are too close together by sqrt((m - 1) / m), and are stretched by that much. Of two or three groups this still says
/// little of others than these.
pub(in crate::compare) fn of(values: &[f64], groups: &[u32], seed: u64) -> Option<(Drawn, u32)> {
    let members = members(values, groups);
    if members.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let mut draws = Draws::of(seed);
    let drawn = (0..resamples(values.len())).map(|_| draw(&members, &mut draws)).collect();
    let m = members.len() as f64;
    Some((Drawn::of(mean, drawn, (m / (m - 1.0)).sqrt()), members.len() as u32))
}

fn members(values: &[f64], groups: &[u32]) -> Vec<Vec<f64>> {
    let mut members: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (value, group) in values.iter().zip(groups) {
        members.entry(*group).or_default().push(*value);
    }
    members.into_values().collect()
}

/// The mean of a drawn set of groups, each drawn anew from its own values.
fn draw(members: &[Vec<f64>], draws: &mut Draws) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for _ in 0..members.len() {
        let group = &members[draws.below(members.len())];
        sum += (0..group.len()).map(|_| group[draws.below(group.len())]).sum::<f64>();
        count += group.len();
    }
    sum / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::stats::student::Student;

    fn two_levels(between: f64) -> (Vec<f64>, Vec<u32>) {
        let value = |i: u32| between * (f64::from(i / 5) - 1.5) + 0.01 * (f64::from(i) * 2.3).sin();
        ((0..20).map(value).collect(), (0..20).map(|i| i / 5).collect())
    }

    #[test]
    fn one_group_has_no_second_level() {
        let (values, _) = two_levels(0.1);
        assert!(of(&values, &[3; 20], 1).is_none());
        assert!(of(&values, &[], 1).is_none());
    }

    #[test]
    fn what_differs_between_node_pairs_widens_the_interval() {
        let width = |(low, high): (f64, f64)| high - low;
        let (values, groups) = two_levels(0.1);
        let (drawn, node_pairs) = of(&values, &groups, 1).unwrap();
        assert_eq!(node_pairs, 4);
        assert!(width(drawn.interval(0.025)) > 2.0 * width(Student::of(&values).interval(0.025)));
        // Means of four groups 0.1 apart have a standard error of 0.0645, and 1.96 of them are 0.127.
        let reach = width(drawn.interval(0.025)) / 2.0;
        assert!((0.11..0.14).contains(&reach), "{reach}");
    }
}
