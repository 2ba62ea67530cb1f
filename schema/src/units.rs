//! Quantities with their unit in the type, and the one grammar by which people write them.
//!
//! Sizes are binary and say so (`64Ki`); durations need a unit (`2s`, `100ms`, `500ns`); rates are decimal bits
//! (`100Gbps`). What two people could read in two ways (`64k`, `1M`, a bare `5` for a duration) is refused with the reason.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a text is not a quantity. The message says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(pub String);

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The bare number, in the unit the type names.
            pub const fn get(self) -> u64 {
                self.0
            }
        }
    };
}

quantity!(
    /// A number of bytes.
    Bytes
);
quantity!(
    /// A span of time in nanoseconds.
    Nanos
);
quantity!(
    /// A rate in bits per second; 1 Gb/s is 1e9 of them.
    BitsPerSec
);

const KI: u64 = 1 << 10;
const MI: u64 = 1 << 20;
const GI: u64 = 1 << 30;

/// Splits `12.5ms` into the number text and the unit text.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text.trim());
        let factor = match unit.trim() {
            "" | "B" => 1,
            "Ki" | "KiB" => KI,
            "Mi" | "MiB" => MI,
            "Gi" | "GiB" => GI,
            short @ ("k" | "K" | "m" | "M" | "g" | "G" | "kB" | "KB" | "MB" | "GB") => {
                let binary = short[..1].to_uppercase();
                return Err(UnitError(format!(
                    "size `{text}`: `{short}` is unclear (1000 or 1024?); write `{number}{binary}i` for powers of 1024 or the number of bytes"
                )));
            }
            other => {
                return Err(UnitError(format!(
                    "size `{text}`: unknown unit `{other}`; use bytes, Ki, Mi or Gi"
                )));
            }
        };
        let count: u64 = number.parse().map_err(|_| {
            UnitError(format!("size `{text}`: `{number}` is not a whole number of bytes, Ki, Mi or Gi"))
        })?;
        count
            .checked_mul(factor)
            .map(Bytes)
            .ok_or_else(|| UnitError(format!("size `{text}` does not fit in 64 bits")))
    }
}

impl fmt::Display for Bytes {
    /// The largest binary unit that divides the value exactly, so that the text reads back as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        for (unit, name) in [(GI, "Gi"), (MI, "Mi"), (KI, "Ki")] {
            if b >= unit && b.is_multiple_of(unit) {
                return f.pad(&format!("{}{name}", b / unit));
            }
        }
        f.pad(&b.to_string())
    }
}

/// Multiplies a decimal text by an integer factor without going through a binary fraction.
pub(crate) fn scale_decimal(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 || fraction.contains('.') {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let scale = 10u128.pow(fraction.len() as u32);
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scaled = (whole.checked_mul(scale)?.checked_add(part)?).checked_mul(u128::from(factor))?;
    (scaled % scale == 0).then_some(())?;
    u64::try_from(scaled / scale).ok()
}

impl FromStr for Nanos {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text.trim());
        let factor = match unit.trim() {
            "ns" => 1,
            "us" | "µs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "" => {
                return Err(UnitError(format!(
                    "duration `{text}` has no unit; write for example `{text}s` or `{text}ms`"
                )));
            }
            other => {
                return Err(UnitError(format!(
                    "duration `{text}`: unknown unit `{other}`; use ns, us, ms, s, min or h"
                )));
            }
        };
        scale_decimal(number, factor).map(Nanos).ok_or_else(|| {
            UnitError(format!("duration `{text}` is not a whole number of nanoseconds below 2^64"))
        })
    }
}

impl fmt::Display for Nanos {
    /// The largest unit that divides the value exactly, so that the text reads back as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if n >= unit && n.is_multiple_of(unit) {
                return f.pad(&format!("{}{name}", n / unit));
            }
        }
        f.pad(&format!("{n}ns"))
    }
}

impl FromStr for BitsPerSec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let (number, unit) = split_number(text.trim());
        let factor = match unit.trim() {
            "bps" => 1,
            "kbps" => 1_000,
            "Mbps" => 1_000_000,
            "Gbps" => 1_000_000_000,
            "Tbps" => 1_000_000_000_000,
            other => {
                return Err(UnitError(format!(
                    "rate `{text}`: unknown unit `{other}`; use bps, kbps, Mbps, Gbps or Tbps (decimal bits per second)"
                )));
            }
        };
        match scale_decimal(number, factor) {
            Some(rate) if rate > 0 => Ok(BitsPerSec(rate)),
            _ => Err(UnitError(format!("rate `{text}` is not a positive whole number of bits per second"))),
        }
    }
}

impl fmt::Display for BitsPerSec {
    /// The largest decimal unit that divides the value exactly, so that the text reads back as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.0;
        for (unit, name) in
            [(1_000_000_000_000, "Tbps"), (1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "kbps")]
        {
            if r >= unit && r.is_multiple_of(unit) {
                return f.pad(&format!("{}{name}", r / unit));
            }
        }
        f.pad(&format!("{r}bps"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unclear_sizes_are_refused_with_the_way_out() {
        let error = "64k".parse::<Bytes>().unwrap_err().to_string();
        assert!(error.contains("unclear") && error.contains("`64Ki`"), "{error}");
        assert!("1G".parse::<Bytes>().is_err());
        assert!("1.5Ki".parse::<Bytes>().is_err());
        assert!("-1".parse::<Bytes>().is_err());
        assert!("20000000000Gi".parse::<Bytes>().is_err());
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!("1.5us".parse(), Ok(Nanos(1_500)));
        assert_eq!("2s".parse(), Ok(Nanos(2_000_000_000)));
        assert!("5".parse::<Nanos>().unwrap_err().to_string().contains("no unit"));
        assert!("0.5ns".parse::<Nanos>().is_err());
    }

    #[test]
    fn rates_are_decimal_bits() {
        assert_eq!("100Gbps".parse(), Ok(BitsPerSec(100_000_000_000)));
        assert_eq!("0.08Gbps".parse(), Ok(BitsPerSec(80_000_000)));
        assert!("100G".parse::<BitsPerSec>().is_err());
        assert!("0Gbps".parse::<BitsPerSec>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(n in any::<u64>()) {
            prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
            prop_assert_eq!(Nanos(n).to_string().parse(), Ok(Nanos(n)));
            prop_assert_eq!(BitsPerSec(n.max(1)).to_string().parse(), Ok(BitsPerSec(n.max(1))));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanos>();
            let _ = text.parse::<BitsPerSec>();
        }
    }
}
