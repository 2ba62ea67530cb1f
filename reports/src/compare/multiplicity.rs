//! Corrections for asking more than one question: Holm where a verdict hangs on it, Benjamini-Hochberg where one only looks.

/// Holm's step-down p-values: whatever is true, the chance of any false finding among those below alpha is at most alpha.
pub(super) fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0f64;
    for (rank, index) in ascending(p).into_iter().enumerate() {
        largest = largest.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = largest;
    }
    adjusted
}

/// Benjamini-Hochberg p-values: of the findings below q, at most a share of q is expected to be false.
pub(crate) fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest = 1.0f64;
    for (rank, index) in ascending(p).into_iter().enumerate().rev() {
        smallest = smallest.min(p.len() as f64 / (rank + 1) as f64 * p[index]);
        adjusted[index] = smallest;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(got: &[f64], want: &[f64]) {
        assert_eq!(got.len(), want.len());
        assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?} {want:?}");
    }

    #[test]
    fn holm_by_hand() {
        close(&holm(&[0.01, 0.04, 0.03, 0.005]), &[0.03, 0.06, 0.06, 0.02]);
        close(&holm(&[]), &[]);
    }

    #[test]
    fn benjamini_hochberg_agrees_with_scipy() {
        // scipy.stats.false_discovery_control([0.01, 0.04, 0.03, 0.005, 0.5])
        close(&benjamini_hochberg(&[0.01, 0.04, 0.03, 0.005, 0.5]), &[0.025, 0.05, 0.05, 0.025, 0.5]);
    }

    proptest! {
        #[test]
        fn corrections_keep_the_order_and_never_help(p in proptest::collection::vec(0.0f64..=1.0, 1..20)) {
            for adjusted in [holm(&p), benjamini_hochberg(&p)] {
                for (i, a) in adjusted.iter().enumerate() {
                    prop_assert!(*a >= p[i] && *a <= 1.0);
                    for (j, b) in adjusted.iter().enumerate() {
                        prop_assert!(p[i] > p[j] || a <= b);
                    }
                }
            }
        }
    }
}
