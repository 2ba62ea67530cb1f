//! /proc/interrupts, and where the kernel delivers a vector.
//!
//! No column is fixed but the counts: after `IRQ:` come as many numbers as the header has CPUs, then the chip's name (one
//! to three words), then the hardware number and trigger in one of three spellings, and the rest is the action.

use crate::{sysroot::Sysroot, topology::read_list, value::Value};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector {
    /// What stands before the colon: a number, or a name such as `LOC`.
    pub name: String,
    /// Interrupts by CPU, in the order of [`Interrupts::cpus`]; shorter where the line counts only once (`ERR`).
    pub counts: Vec<u64>,
    /// The interrupt chip; empty for the architecture's own lines.
    pub chip: String,
    /// Who handles it, one entry a handler; for the architecture's own lines, what the kernel calls it.
    pub actions: Vec<String>,
}

impl Vector {
    /// The IRQ number; none for the architecture's own lines.
    pub fn irq(&self) -> Option<u32> {
        self.name.parse().ok()
    }
}

/// The table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Interrupts {
    /// The CPUs of the columns: those online, which need not be consecutive.
    pub cpus: Vec<u32>,
    /// The lines.
    pub vectors: Vec<Vector>,
}

impl Interrupts {
    /// Reads the host's table.
    pub fn read(sysroot: &Sysroot) -> Value<Interrupts> {
        sysroot.read("/proc/interrupts").parse(|text| Interrupts::parse(&text))
    }

    /// Reads the lines of these IRQ numbers alone: on a host of 1,024 CPUs a line is 1,024 numbers, and it has thousands.
    pub fn read_only(sysroot: &Sysroot, irqs: &[u32]) -> Value<Interrupts> {
        sysroot
            .read("/proc/interrupts")
            .parse(|text| Interrupts::parse_only(&text, |irq| irqs.contains(&irq)))
    }

    /// Parses the text of the file. Lines that are no vectors are passed over; a text without a header is an error.
    pub fn parse(text: &str) -> Result<Interrupts, String> {
        Interrupts::parse_lines(text, |_| true)
    }

    /// Parses the lines of the IRQ numbers that are wanted, and looks at no others.
    pub fn parse_only(text: &str, wanted: impl Fn(u32) -> bool) -> Result<Interrupts, String> {
        Interrupts::parse_lines(text, |line| {
            let name = line.split(':').next().unwrap_or_default();
            name.trim().parse().is_ok_and(&wanted)
        })
    }

    fn parse_lines(text: &str, wanted: impl Fn(&str) -> bool) -> Result<Interrupts, String> {
        let mut lines = text.lines();
        let cpus = lines
            .by_ref()
            .find_map(parse_header)
            .ok_or_else(|| "/proc/interrupts has no header of CPUs".to_owned())?;
        let wanted = lines.filter(|line| wanted(line));
        let vectors = wanted.filter_map(|line| parse_vector(line, cpus.len())).collect();
        Ok(Interrupts { cpus, vectors })
    }

    /// The vector of an IRQ number.
    pub fn vector(&self, irq: u32) -> Option<&Vector> {
        self.vectors.iter().find(|vector| vector.irq() == Some(irq))
    }

    /// A vector's counts with their CPUs.
    pub fn by_cpu<'v>(&'v self, vector: &'v Vector) -> impl Iterator<Item = (u32, u64)> + 'v {
        self.cpus.iter().copied().zip(vector.counts.iter().copied())
    }
}

/// CPUs an IRQ is delivered to now. Kernels without effective affinity show the mask that was asked for.
pub fn delivered_to(sysroot: &Sysroot, irq: u32) -> Value<Vec<u32>> {
    let folder = format!("/proc/irq/{irq}");
    match read_list(sysroot, &format!("{folder}/effective_affinity_list")) {
        // An interrupt that is not started has no effective CPU yet.
        Value::Known(cpus) if !cpus.is_empty() => Value::Known(cpus),
        Value::Known(_) | Value::Absent => read_list(sysroot, &format!("{folder}/smp_affinity_list")),
        unknown => unknown,
    }
}

/// `CPU0 CPU2 ..`; none if the line is anything else.
fn parse_header(line: &str) -> Option<Vec<u32>> {
    let cpus: Vec<u32> =
        line.split_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok()).collect::<Option<_>>()?;
    (!cpus.is_empty()).then_some(cpus)
}

fn parse_vector(line: &str, columns: usize) -> Option<Vector> {
    let (name, rest) = line.split_once(':')?;
    let name = name.trim();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    let (counts, rest) = take_counts(rest, columns);
    if counts.is_empty() {
        return None;
    }
    let numbered = name.bytes().all(|byte| byte.is_ascii_digit());
    let (chip, action) = if numbered { split_chip(rest) } else { (String::new(), rest.trim().to_owned()) };
    let actions = action.split(", ").filter(|action| !action.is_empty()).map(str::to_owned).collect();
    Some(Vector { name: name.to_owned(), counts, chip, actions })
}

/// Up to `columns` numbers, and what follows them.
fn take_counts(text: &str, columns: usize) -> (Vec<u64>, &str) {
    let mut counts = Vec::with_capacity(columns.min(1024));
    let mut rest = text.trim_start();
    while counts.len() < columns {
        let (word, after) = split_word(rest);
        let Ok(count) = word.parse() else { break };
        counts.push(count);
        rest = after;
    }
    (counts, rest)
}

fn split_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()))
}

/// The chip's name, and the action after the trigger. A line without a trigger has a chip of one word.
fn split_chip(text: &str) -> (String, String) {
    let words: Vec<&str> = text.split_whitespace().collect();
    let join = |words: &[&str]| words.join(" ");
    for (at, word) in words.iter().enumerate() {
        let next = words.get(at + 1).copied().unwrap_or_default();
        if is_number_and_trigger(word) {
            return (join(&words[..at]), join(&words[at + 1..]));
        }
        if is_number(word) && is_trigger(next) {
            return (join(&words[..at]), join(&words[at + 2..]));
        }
        if at == 0 && word.rsplit_once('-').is_some_and(|(_, last)| is_trigger(last)) {
            return (join(&words[..1]), join(&words[1..]));
        }
    }
    (join(&words[..words.len().min(1)]), join(words.get(1..).unwrap_or_default()))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_trigger(word: &str) -> bool {
    ["edge", "level", "fasteoi", "Edge", "Level"].contains(&word)
}

/// `2701534461952-edge`.
fn is_number_and_trigger(word: &str) -> bool {
    word.split_once('-').is_some_and(|(number, trigger)| is_number(number) && is_trigger(trigger))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    fn only(line: &str) -> Vector {
        let text = format!("           CPU0       CPU1\n{line}\n");
        let mut table = Interrupts::parse(&text).expect("a table");
        assert_eq!(table.vectors.len(), 1, "{line}");
        table.vectors.remove(0)
    }

    #[test]
    fn every_spelling_of_chip_and_trigger_gives_chip_and_action() {
        for (line, chip, action) in [
            (
                "98: 0 23274 IR-PCI-MSIX-0000:01:00.0    0-edge      mlx5_async0@pci:0000:01:00.0",
                "IR-PCI-MSIX-0000:01:00.0",
                "mlx5_async0@pci:0000:01:00.0",
            ),
            (
                " 33:  1465  806  Hyper-V PCIe MSI 2701534461952-edge      mlx5_async0@pci:4ea0:00:02.0",
                "Hyper-V PCIe MSI",
                "mlx5_async0@pci:4ea0:00:02.0",
            ),
            (
                " 24:  0  0   PCI-MSI-edge      mlx5_pages_eq@pci:8b76:00:02.0",
                "PCI-MSI-edge",
                "mlx5_pages_eq@pci:8b76:00:02.0",
            ),
            (" 11:  5  6     GICv3  30 Level     arch_timer", "GICv3", "arch_timer"),
            (
                " 50:  5  6   ITS-PCI-MSIX-0000:01:00.0   1 Edge      mlx5_comp0@pci:0000:01:00.0",
                "ITS-PCI-MSIX-0000:01:00.0",
                "mlx5_comp0@pci:0000:01:00.0",
            ),
            (" 3:  1  2  XICS  handler", "XICS", "handler"),
            (" 9:  1  2  IO-APIC   9-fasteoi   acpi", "IO-APIC", "acpi"),
        ] {
            let vector = only(line);
            assert_eq!((vector.chip.as_str(), vector.actions.join("|").as_str()), (chip, action), "{line}");
            assert_eq!(vector.counts.len(), 2);
        }
    }

    #[test]
    fn shared_lines_have_several_actions_and_unused_ones_none() {
        assert_eq!(
            only("16: 1 2 IO-APIC 16-fasteoi ehci_hcd:usb1, i801_smbus").actions,
            ["ehci_hcd:usb1", "i801_smbus"]
        );
        assert!(only("5: 0 0 IO-APIC 5-edge").actions.is_empty());
    }

    #[test]
    fn the_architectures_own_lines_have_a_name_and_maybe_one_count() {
        let local = only("LOC:     256405     277675   Local timer interrupts");
        assert_eq!(
            (local.irq(), local.counts.as_slice(), local.actions.join("|").as_str()),
            (None, &[256_405, 277_675][..], "Local timer interrupts")
        );
        assert_eq!(only("ERR:          0").counts, [0]);
    }

    #[test]
    fn columns_follow_the_header_when_a_cpu_is_offline() {
        let table = Interrupts::parse("   CPU0   CPU3\n 7: 4 9 IO-APIC 7-edge x\n").expect("a table");
        assert_eq!(table.by_cpu(&table.vectors[0]).collect::<Vec<_>>(), [(0, 4), (3, 9)]);
        assert_eq!(table.vector(7), Some(&table.vectors[0]));
        assert!(Interrupts::parse("no header\n").is_err());
    }

    #[test]
    fn only_the_wanted_lines_are_parsed() {
        let text = "   CPU0   CPU1\n 7: 4 9 IO-APIC 7-edge x\n 77: 1 2 IO-APIC 8-edge y\nLOC: 5 6 timers\n";
        let table = Interrupts::parse_only(text, |irq| irq == 77).expect("a table");
        assert_eq!(table.vectors.len(), 1);
        assert_eq!(table.vector(77).map(|vector| vector.counts.as_slice()), Some(&[1, 2][..]));
    }

    #[test]
    fn delivery_falls_back_to_the_asked_mask_where_none_is_effective() {
        let host = fixture("two-socket-mlx5");
        assert_eq!(delivered_to(&host, 99), Value::Known(vec![2]));
        assert_eq!(
            delivered_to(&host, 109),
            Value::Known(vec![2, 3, 6, 7]),
            "not started: its effective list is empty"
        );
        assert_eq!(delivered_to(&host, 4000), Value::Absent);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}") {
            let _ = Interrupts::parse(&text);
        }

        #[test]
        fn no_table_like_text_panics(rows in proptest::collection::vec("[0-9A-Z]{0,3}:? {0,2}([0-9]{1,25} ){0,4}[-A-Za-z0-9:., ]{0,30}", 0..6)) {
            let text = format!("CPU0 CPU1\n{}", rows.join("\n"));
            let table = Interrupts::parse(&text).expect("the header is there");
            prop_assert!(table.vectors.iter().all(|vector| (1..=2).contains(&vector.counts.len())));
        }

        #[test]
        fn counts_survive(counts in proptest::collection::vec(any::<u64>(), 1..9)) {
            let header: String = (0..counts.len()).map(|cpu| format!(" CPU{cpu}")).collect();
            let row: String = counts.iter().map(|count| format!(" {count}")).collect();
            let table = Interrupts::parse(&format!("{header}\n 12:{row} IO-APIC 1-edge a b\n")).expect("a table");
            prop_assert_eq!(&table.vectors[0].counts, &counts);
            prop_assert_eq!(&table.vectors[0].actions, &["a b"]);
        }
    }
}
