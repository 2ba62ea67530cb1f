//! CPUs and interrupts as a sentence names them.

use host::cpulist;

/// `CPU 3`, `CPUs 3,7`.
pub(super) fn cpus(cpus: &[u32]) -> String {
    counted("CPU", cpus)
}

/// `IRQ 99`, `IRQs 99,109`.
pub(super) fn irqs(irqs: &[u32]) -> String {
    counted("IRQ", irqs)
}

fn counted(word: &str, ids: &[u32]) -> String {
    match ids {
        [] => format!("no {word}"),
        [id] => format!("{word} {id}"),
        several => format!("{word}s {}", cpulist::format(several)),
    }
}
