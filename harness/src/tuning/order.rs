//! The order in which knobs are turned: what moves or resets others comes before them. They are turned back in reverse.

use schema::Knob;

/// The mover first; what may recreate interrupts before their affinity; the preference before the governor, which else holds it.
const ORDER: &[Knob] = &[
    Knob::Irqbalance,
    Knob::Sysctl,
    Knob::NumaBalancing,
    Knob::Thp,
    Knob::HugePages,
    Knob::Epp,
    Knob::Governor,
    Knob::Turbo,
    Knob::PmQos,
    Knob::ResumeLatency,
    Knob::Aspm,
    Knob::WorkqueueMask,
    Knob::IsolatedPartition,
    Knob::MaxReadRequest,
    Knob::Rings,
    Knob::Mtu,
    Knob::GlobalPause,
    Knob::Pfc,
    Knob::Coalescing,
    Knob::IrqAffinity,
];

/// Its place; what is only checked or planned comes last.
pub(crate) fn place(knob: Knob) -> usize {
    ORDER.iter().position(|known| *known == knob).unwrap_or(ORDER.len())
}
