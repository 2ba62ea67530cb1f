//! /proc/net/softnet_stat: what each CPU took from the network through the kernel's stack, and what it dropped. Hexadecimal,
//! a line per CPU online; newer kernels write the CPU's number in the 13th column, older ones leave it out.

use crate::{sysroot::Sysroot, value::Value};

/// The column of the CPU's number.
const CPU_COLUMN: usize = 12;

/// What one CPU did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softnet {
    /// Its number; none where the kernel does not write it.
    pub cpu: Option<u32>,
    /// Packets it processed.
    pub processed: u64,
    /// Packets it dropped because its backlog (`netdev_max_backlog`) was full.
    pub dropped: u64,
    /// Times it stopped with packets left because its budget or its time was up.
    pub time_squeeze: u64,
}

/// The lines of the host.
pub fn read(sysroot: &Sysroot) -> Value<Vec<Softnet>> {
    sysroot.read("/proc/net/softnet_stat").parse(|text| parse(&text))
}

/// Parses the text of the file.
pub fn parse(text: &str) -> Result<Vec<Softnet>, String> {
    text.lines().filter(|line| !line.trim().is_empty()).map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<Softnet, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let column = |n: usize| {
        words.get(n).and_then(|word| u64::from_str_radix(word, 16).ok()).ok_or_else(|| {
            format!(
                "/proc/net/softnet_stat: column {} of `{}`",
                n + 1,
                line.chars().take(60).collect::<String>()
            )
        })
    };
    let cpu = if words.len() > CPU_COLUMN { u32::try_from(column(CPU_COLUMN)?).ok() } else { None };
    Ok(Softnet { cpu, processed: column(0)?, dropped: column(1)?, time_squeeze: column(2)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_hexadecimal_and_the_cpu_is_a_later_column() {
        let new = "0000ff10 00000002 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 \
                   00000000 00000010 00000000 00000000\n";
        let old =
            "00049279 00000000 00000001 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n";
        assert_eq!(
            parse(new).expect("a line"),
            [Softnet { cpu: Some(16), processed: 0xff10, dropped: 2, time_squeeze: 10 }]
        );
        assert_eq!(parse(old).expect("a line")[0].cpu, None);
        assert!(parse("0000ff10 00000002\n").expect_err("short").contains("column 3"));
        assert!(parse("01 zz 03\n").is_err());
        assert_eq!(parse("\n").expect("nothing"), []);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)([0-9a-f]{0,20} ){0,14}.{0,20}") {
            let _ = parse(&text);
        }
    }
}
