//! A moment as tables write it: RFC 3339, a date, or seconds since 1970 UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Reads a moment, in ms since 1970 UTC.
pub fn moment(text: &str) -> Result<u64, String> {
    let refused = || {
        format!("`{text}` is no moment: write 2026-03-01T02:00:00Z, 2026-03-01, or seconds since 1970 UTC")
    };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds: u64 = text.parse().map_err(|_| refused())?;
        // A number of this many digits counts milliseconds, or is no moment of a log.
        return if seconds < 100_000_000_000 { Ok(seconds * 1_000) } else { Err(refused()) };
    }
    let whole = if text.len() == "2026-03-01".len() { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let at: SystemTime = humantime::parse_rfc3339_weak(&whole).map_err(|_| refused())?;
    let since = at.duration_since(UNIX_EPOCH).map_err(|_| refused())?;
    u64::try_from(since.as_millis()).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_in_all_forms() {
        assert_eq!(moment("1970-01-02"), Ok(86_400_000));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(1_000));
        assert_eq!(moment("1970-01-01 00:00:01"), Ok(1_000));
        assert_eq!(moment("1767225600"), Ok(1_767_225_600_000));
        for wrong in ["", "yesterday", "2026-13-01", "1767225600000", "-1"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
