//! Reads the values of perftest's flags: whole, in range, or refused; never cast, never cut off.

use std::str::FromStr;

use schema::{CpuChoice, Op, Transport};

use super::draft::RateUnits;

/// A whole number, decimal or after `0x`, that fits what it is for.
pub(super) fn number<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => u64::from_str(text),
    };
    let value = parsed.map_err(|_| format!("`{text}` is not a whole number"))?;
    T::try_from(value)
        .map_err(|_| format!("{text} is out of range: it does not fit in {} bits", 8 * size_of::<T>()))
}

/// A whole number above 0.
pub(super) fn positive(text: &str) -> Result<u64, String> {
    match number(text)? {
        0 => Err("0 measures nothing".into()),
        value => Ok(value),
    }
}

/// A number above 0 that may have a fraction.
pub(super) fn positive_real(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if value.is_finite() && value > 0.0 { Ok(value) } else { Err(format!("`{text}` is not above 0")) }
}

pub(super) fn atomic(text: &str) -> Result<Op, String> {
    match text {
        "FETCH_AND_ADD" => Ok(Op::FetchAdd),
        "CMP_AND_SWAP" => Ok(Op::CompareSwap),
        _ => Err(format!("`{text}`: write CMP_AND_SWAP or FETCH_AND_ADD")),
    }
}

pub(super) fn transport(text: &str) -> Result<Transport, String> {
    match text {
        "RC" => Ok(Transport::Rc),
        "UC" => Ok(Transport::Uc),
        "UD" => Ok(Transport::Ud),
        "XRC" | "DC" | "SRD" | "RawEth" => Err(format!("{text} is not here; RC, UC and UD are")),
        _ => Err(format!("`{text}`: write RC, UC or UD")),
    }
}

pub(super) fn rate_units(text: &str) -> Result<RateUnits, String> {
    match text {
        "M" => Ok(RateUnits::Mebibytes),
        "g" => Ok(RateUnits::Gigabits),
        "p" => Ok(RateUnits::Messages),
        _ => Err(format!("`{text}`: write M (MiB/s), g (Gb/s) or p (messages/s)")),
    }
}

pub(super) fn flow_label(text: &str) -> Result<u32, String> {
    if text.contains(',') {
        return Err(format!(
            "`{text}`: one label for all QPs here; run several sizes or runs for several labels"
        ));
    }
    number(text)
}

/// A list of CPUs; `auto` and `none` are not perftest's words for one.
pub(super) fn cpu_list(text: &str) -> Result<CpuChoice, String> {
    match text.replace(' ', "").parse() {
        Ok(list @ CpuChoice::List(_)) => Ok(list),
        Ok(_) => Err(format!("`{text}`: write a list of CPUs such as 0, 0-3 or 0-3,8")),
        Err(error) => Err(error.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perftest_casts_or_cuts_off_is_refused() {
        assert_eq!(number::<u8>("255"), Ok(255));
        assert!(number::<u8>("257").unwrap_err().contains("out of range"));
        for text in ["-1", "12x", "", "1.5"] {
            assert!(number::<u32>(text).is_err(), "{text}");
        }
        assert_eq!(number::<u32>("0x20"), Ok(32));
        assert!(positive("0").is_err());
        for text in ["nan", "inf", "0", "-3", "x"] {
            assert!(positive_real(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_are_perftests_or_refused_by_name() {
        assert_eq!(transport("UD"), Ok(Transport::Ud));
        assert!(transport("XRC").unwrap_err().contains("XRC is not here"));
        assert_eq!(atomic("CMP_AND_SWAP"), Ok(Op::CompareSwap));
        assert!(cpu_list("auto").is_err());
        assert_eq!(cpu_list("0, 2-3"), Ok(CpuChoice::List(vec![0, 2, 3])));
    }
}
