//! The kernel's mask format for CPUs: groups of eight hexadecimal digits, the highest first, the lowest bit CPU 0.

/// Far above any kernel's NR_CPUS; it bounds what a hostile text can allocate.
const MOST_DIGITS: usize = 16_384;

/// The CPUs of a mask, ascending: `2` is CPU 1, `00000001,00000000` is CPU 32.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let digits: Vec<char> = text.trim().trim_start_matches("0x").chars().filter(|c| *c != ',').collect();
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return Err(format!("`{}` is no mask of CPUs", text.chars().take(60).collect::<String>()));
    }
    let mut cpus = Vec::new();
    for (at, digit) in digits.iter().rev().enumerate() {
        let bits =
            digit.to_digit(16).ok_or_else(|| format!("mask of CPUs: `{digit}` is no hexadecimal digit"))?;
        cpus.extend((0..4).filter(|bit| bits & 1 << bit != 0).map(|bit| at as u32 * 4 + bit));
    }
    Ok(cpus)
}

/// The mask of these CPUs as the kernel takes it; `0` for none.
pub fn format(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |highest| *highest as usize / 32 + 1);
    let mut mask = vec![0_u32; words];
    for cpu in cpus {
        mask[*cpu as usize / 32] |= 1 << (cpu % 32);
    }
    let mut text = format!("{:x}", mask[words - 1]);
    for word in mask.iter().rev().skip(1) {
        text += &format!(",{word:08x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lowest_bit_is_cpu_0() {
        assert_eq!(parse("2"), Ok(vec![1]), "not CPU 2");
        assert_eq!(parse("ff\n"), Ok((0..8).collect()));
        assert_eq!(parse("00000010,00000000,00000000,00000000"), Ok(vec![100]));
        assert_eq!(parse("0"), Ok(vec![]));
        assert_eq!(format(&[100]), "10,00000000,00000000,00000000");
        assert_eq!((format(&[2]).as_str(), format(&[]).as_str()), ("4", "0"));
        assert!(parse("").is_err() && parse("0-3").is_err() && parse("g").is_err());
    }

    proptest! {
        #[test]
        fn any_set_survives_the_round_trip(cpus in proptest::collection::btree_set(0u32..2048, 0..200)) {
            let cpus: Vec<u32> = cpus.into_iter().collect();
            prop_assert_eq!(parse(&format(&cpus)), Ok(cpus));
        }

        #[test]
        fn no_text_panics(text in "[0-9a-fx,\n]{0,40}|.{0,20}") {
            let _ = parse(&text);
        }
    }
}
