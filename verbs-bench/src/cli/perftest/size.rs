//! perftest's grammar of sizes, without its surprises: what it reads as something else than it says is an error here.

use schema::Bytes;

/// Reads `65536`, `64K`, `1M`, `0x1000`; and `64Ki`, `1Mi`, which mean the same everywhere.
pub(super) fn size(text: &str) -> Result<Bytes, String> {
    let misread =
        |as_what: &str| Err(format!("`{text}`: perftest reads this as {as_what}; write {}", advice(text)));
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    match unit {
        _ if number.is_empty() => not_a_size(text),
        _ if text.starts_with("0x") => hexadecimal(text),
        "" | "K" | "M" if number.len() > 1 && number.starts_with('0') => {
            Err(format!("`{text}`: perftest reads a leading 0 as octal; write it in decimal or after 0x"))
        }
        "" | "Ki" | "Mi" | "Gi" => text.parse().map_err(|error: schema::UnitError| error.0),
        "K" | "M" => format!("{text}i").parse().map_err(|error: schema::UnitError| error.0),
        "k" | "m" | "g" | "G" => misread(&format!("{number} B")),
        _ => not_a_size(text),
    }
}

fn not_a_size(text: &str) -> Result<Bytes, String> {
    Err(format!("`{text}` is not a size; write bytes, or K (1024) or M (1048576) after a number"))
}

fn hexadecimal(text: &str) -> Result<Bytes, String> {
    u64::from_str_radix(&text[2..], 16)
        .map(Bytes)
        .map_err(|_| format!("`{text}` is not a hexadecimal number of bytes below 2^64"))
}

/// The spelling for a unit that perftest ignores.
fn advice(text: &str) -> String {
    let (number, unit) = text.split_at(text.len() - 1);
    match unit {
        "k" => format!("{number}K"),
        "m" => format!("{number}M"),
        _ => format!("{number}Gi"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perftests_own_spellings_mean_what_they_mean_there() {
        for (text, bytes) in [
            ("65536", 65_536),
            ("64K", 65_536),
            ("1M", 1 << 20),
            ("0x1000", 4_096),
            ("64Ki", 65_536),
            ("1Gi", 1 << 30),
        ] {
            assert_eq!(size(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn what_perftest_misreads_is_refused_with_the_way_out() {
        for (text, way_out) in [
            ("64k", "64 B; write 64K"),
            ("1G", "1 B; write 1Gi"),
            ("2m", "write 2M"),
            ("010", "octal"),
            ("64KB", "not a size"),
            ("", "not a size"),
            ("-1", "not a size"),
            ("k", "not a size"),
            ("0xzz", "hexadecimal"),
        ] {
            let error = size(text).unwrap_err();
            assert!(error.contains(way_out), "{text}: {error}");
        }
    }
}
