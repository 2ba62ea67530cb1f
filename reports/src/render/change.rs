//! A change as it is written beside its interval and its margin: never finer than its noise, and never on the other side of
//! the margin than it lies.
//!
//! An interval of several percent either way says nothing about tenths, so change and ends are rounded to the second digit
//! of the interval's half width, and at best to 0.1 %, which is what the histograms keep. Where that rounding would carry a
//! number across the margin it is named by the side it is on: `just past +2%`.

use crate::compare::Effect;

use super::number;

/// Finest step of a change, in percent: latencies are kept to 0.1 %.
const FINEST: f64 = 0.1;
/// Above this, in percent, the number says no more than that it is large.
const LARGEST: f64 = 9_999.0;

/// The texts of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Written {
    /// `+1.2%`
    pub(super) change: String,
    /// Lower end of its interval.
    pub(super) low: String,
    /// Upper end of it.
    pub(super) high: String,
}

impl Written {
    /// An effect that is judged against a margin.
    pub(super) fn of(effect: &Effect, margin: f64) -> Self {
        Written::between(effect.change, [effect.low, effect.high], margin)
    }

    /// A change with the ends of its interval.
    pub(super) fn between(change: f64, [low, high]: [f64; 2], margin: f64) -> Self {
        let noise = (high - low) / 2.0;
        let text = |share| beside_margin(share, noise, margin);
        Written { change: text(change), low: text(low), high: text(high) }
    }
}

/// A change that has no interval, to the finest step there is.
pub(super) fn alone(share: f64, margin: f64) -> String {
    beside_margin(share, 0.0, margin)
}

/// A change without its sign, where a verb tells the direction.
pub(super) fn unsigned(share: f64, noise: f64, margin: f64) -> String {
    beside_margin(share, noise, margin).replace(['+', '\u{2212}'], "")
}

fn beside_margin(share: f64, noise: f64, margin: f64) -> String {
    let shown = rounded(share, noise);
    // Half a step of the smallest digit a margin is written with is no difference.
    let past = |share: f64| share.abs() > margin * (1.0 + 1e-9);
    if past(share) == past(shown.percent / 100.0) || !share.is_finite() {
        return signed(share, shown);
    }
    let side = if past(share) { "past" } else { "within" };
    let sign = if share < 0.0 { "\u{2212}" } else { "+" };
    format!("just {side} {sign}{}", number::margin(margin))
}

/// A number of percent and how many decimals it has.
#[derive(Clone, Copy)]
struct Rounded {
    percent: f64,
    step: f64,
}

fn rounded(share: f64, noise: f64) -> Rounded {
    let percent = share * 100.0;
    let digits = |value: f64, digits: i32| match value.abs() {
        value if value > 0.0 && value.is_finite() => 10f64.powi(value.log10().floor() as i32 + 1 - digits),
        _ => FINEST,
    };
    let at_least = FINEST.max(digits(noise * 100.0, 2));
    let step = at_least.max(digits(percent, 3));
    let once = (percent / step).round() * step;
    // 99.97 becomes 100, which has three digits without a decimal.
    let step = at_least.max(digits(once, 3));
    Rounded { percent: (percent / step).round() * step, step }
}

fn signed(share: f64, Rounded { percent, step }: Rounded) -> String {
    let sign = match percent {
        0.0 => "",
        _ if share < 0.0 => "\u{2212}",
        _ => "+",
    };
    let size = percent.abs();
    if !size.is_finite() || size > LARGEST {
        return format!("> {sign}{}%", number::grouped(LARGEST as u64));
    }
    if step < 1.0 {
        format!("{sign}{size:.1}%")
    } else {
        format!("{sign}{}%", number::grouped(size.round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn written(change: f64, low: f64, high: f64, margin: f64) -> [String; 3] {
        let effect = Effect { change, low, high, ..testing::effect() };
        let Written { change, low, high } = Written::of(&effect, margin);
        [change, low, high]
    }

    #[test]
    fn a_quiet_change_has_tenths_and_a_noisy_one_has_none() {
        assert_eq!(written(0.501, 0.498, 0.504, 0.02), ["+50.1%", "+49.8%", "+50.4%"]);
        assert_eq!(written(0.374, 0.116, 0.696, 0.02), ["+37%", "+12%", "+70%"]);
        assert_eq!(written(-0.0003, -0.002, 0.0014, 0.02), ["0.0%", "\u{2212}0.2%", "+0.1%"]);
        assert_eq!(written(4.0, -0.7, 18.3, 0.02), ["+400%", "\u{2212}70%", "+1,830%"]);
        assert_eq!(written(98.76, 98.75, 98.77, 0.02)[0], "+9,880%");
        assert_eq!(written(1.0, -0.99, f64::INFINITY, 0.02)[2], "> +9,999%");
    }

    #[test]
    fn rounding_does_not_cross_the_margin_in_silence() {
        assert_eq!(written(0.0204, 0.0196, 0.0212, 0.02)[0], "just past +2%");
        assert_eq!(written(-0.0204, -0.0212, -0.0196, 0.02)[0], "just past \u{2212}2%");
        assert_eq!(written(0.0196, 0.0188, 0.0204, 0.02), ["+2.0%", "+1.9%", "just past +2%"]);
        assert_eq!(written(0.0284, 0.02, 0.03, 0.0285)[0], "+2.8%");
        assert_eq!(written(0.02847, 0.02, 0.03, 0.0285)[0], "+2.8%");
        assert_eq!(written(0.0287, 0.02, 0.03, 0.0288)[0], "just within +2.88%");
    }

    /// What a text says: the number in percent, or the side of the margin.
    fn number_of(text: &str) -> Option<f64> {
        let plain = text.replace('\u{2212}', "-").replace([',', '%', '+'], "");
        plain.parse().ok()
    }

    proptest! {
        #[test]
        fn no_text_is_finer_than_its_noise(share in -0.95f64..20.0, noise in 1e-5f64..3.0) {
            let text = signed(share, rounded(share, noise));
            let decimals = text.split_once('.').map_or(0, |(_, rest)| rest.len() - 1);
            prop_assert!(decimals <= 1, "{}", text);
            prop_assert!(decimals == 0 || noise < 0.1, "{} though the interval is {} either way", text, noise);
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            prop_assert!(digits.trim_start_matches('0').trim_end_matches('0').len() <= 3, "{}", text);
            // Still the number: off by half a step of 0.1 %, of a tenth of the noise, or of its own third digit.
            let off = (number_of(&text).unwrap() / 100.0 - share).abs();
            let allowed = 0.0005f64.max(noise / 2.0).max(share.abs() * 0.005);
            prop_assert!(off <= allowed * 1.001, "{} for {} with {}", text, share, noise);
        }

        #[test]
        fn every_text_is_on_the_side_of_the_margin_that_the_number_is_on(
            share in -0.2f64..0.2,
            noise in 1e-5f64..0.3,
            margin in 0.001f64..0.15,
        ) {
            let effect = Effect { change: share, low: share - noise, high: share + noise, ..testing::effect() };
            let text = Written::of(&effect, margin).change;
            let past = match number_of(&text) {
                Some(percent) => percent.abs() / 100.0 > margin,
                None => text.starts_with("just past"),
            };
            prop_assert_eq!(past, share.abs() > margin, "{} for {} beside {}", text, share, margin);
        }
    }
}
