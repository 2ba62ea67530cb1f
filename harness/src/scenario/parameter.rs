//! The table of engine parameters a scenario may set, and how each is read into a [`RunSpec`].
//!
//! One line a parameter. Names are the flags of `verbs-bench run` with `_` for `-`; `pace` joins those of the open loop. A slot is the place in the spec a
//! parameter writes; two assignments conflict when they write the same slot.

use std::fmt::Display;
use std::str::FromStr;

use schema::{Bytes, RunSpec, SideSpec, spec::Stop};
use toml::{Spanned, de::DeValue};

use super::{
    fault::Span,
    section::{At, Section},
};

/// A value as written, before a parameter gives it a meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Number(i128),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Setting>),
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Setting::Flag(flag) => write!(f, "{flag}"),
            Setting::Number(number) => write!(f, "{number}"),
            Setting::Text(text) => f.write_str(text),
            Setting::List(items) => {
                f.write_str(&items.iter().map(Setting::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl Setting {
    fn read(value: &DeValue<'_>) -> Result<Setting, String> {
        match value {
            DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
                .map(Setting::Number)
                .map_err(|error| error.to_string()),
            DeValue::Boolean(flag) => Ok(Setting::Flag(*flag)),
            DeValue::String(text) => Ok(Setting::Text(text.to_string())),
            DeValue::Array(items) => items
                .iter()
                .map(|item| Setting::read(item.get_ref()))
                .collect::<Result<_, _>>()
                .map(Setting::List),
            other => Err(format!("must be a number, a text, true or false, not {}", other.type_str())),
        }
    }

    fn flag(&self) -> Result<bool, String> {
        match self {
            Setting::Flag(flag) => Ok(*flag),
            other => Err(format!("`{other}` must be true or false without quotes")),
        }
    }

    /// A number that fits the field.
    fn number<T: TryFrom<i128>>(&self) -> Result<T, String> {
        match self {
            Setting::Number(number) => {
                T::try_from(*number).map_err(|_| format!("{number} is out of the range of this parameter"))
            }
            other => Err(format!("`{other}` must be a whole number without quotes")),
        }
    }

    /// A text that reads as `T`.
    fn parsed<T: FromStr<Err: Display>>(&self) -> Result<T, String> {
        match self {
            Setting::List(_) => Err("takes one value, not a list".into()),
            one => one.to_string().parse().map_err(|error: T::Err| error.to_string()),
        }
    }

    fn text(&self) -> Result<String, String> {
        match self {
            Setting::Text(text) => Ok(text.clone()),
            other => Err(format!("`{other}` must be a text in quotes")),
        }
    }

    fn sizes(&self) -> Result<Vec<Bytes>, String> {
        match self {
            Setting::List(items) => items.iter().map(Setting::parsed).collect(),
            one => Ok(vec![one.parsed()?]),
        }
    }
}

/// One engine parameter.
pub struct Parameter {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Its slot, which is the field that [`RunSpec::faults`] names.
    pub slot: &'static str,
    /// What it sets, for the documentation.
    pub meaning: &'static str,
    set: fn(&mut RunSpec, &Setting) -> Result<(), String>,
}

/// One parameter of one side.
pub struct SideParameter {
    /// Its name in a scenario, alone for both sides or behind `requester.` or `responder.`.
    pub name: &'static str,
    /// What it sets, for the documentation.
    pub meaning: &'static str,
    set: fn(&mut SideSpec, &Setting) -> Result<(), String>,
}

macro_rules! parameters {
    ($($name:literal $slot:literal $meaning:literal |$spec:ident, $value:ident| $set:expr;)*) => {
        &[$(Parameter {
            name: $name,
            slot: $slot,
            meaning: $meaning,
            set: |$spec, $value| { $set; Ok(()) },
        }),*]
    };
}

/// All parameters that are not of one side.
pub const PARAMETERS: &[Parameter] = parameters! {
    "size" "msg_bytes" "Message sizes, one point each: `\"64Ki\"` or a list. Workloads only."
        |spec, value| spec.msg_bytes = value.sizes()?;
    "duration" "duration" "Length of the Measure phase."
        |spec, value| spec.stop = Stop::DurationNs(value.parsed()?);
    "iterations" "iterations" "Messages of the Measure phase, instead of `duration`."
        |spec, value| spec.stop = Stop::Iterations(value.number()?);
    "warmup" "warmup" "Length of the WarmUp phase, whose samples are not kept."
        |spec, value| spec.warmup_ns = value.parsed()?;
    "interval" "interval" "Length of one interval of the time series."
        |spec, value| spec.interval_ns = value.parsed()?;
    "deadline" "deadline" "No progress for this long fails the run."
        |spec, value| spec.deadline_ns = value.parsed()?;
    "transport" "transport" "Transport service: `rc`, `uc` (writes, sends) or `ud` (sends) (perftest -c)."
        |spec, value| spec.transport = value.parsed()?;
    "post_api" "post_api" "`classic` (`ibv_post_send`) or `extended` (`ibv_wr_*`)."
        |spec, value| spec.post_api = value.parsed()?;
    "connect_by" "connect_by" "`tcp` (our handshake) or `rdma_cm` (perftest -R)."
        |spec, value| spec.connect_by = value.parsed()?;
    "bidirectional" "bidirectional" "Whether the responder sends at the same time (perftest -b)."
        |spec, value| spec.bidirectional = value.flag()?;
    "pace" "pace" "`closed`, a rate (`\"250k/s\"`, `\"10Gbps poisson\"`, `\"10Gbps poisson:SEED\"`), or the bound of a search (`\"p99=50us\"`)."
        |spec, value| spec.pace = value.parsed()?;
    "wait" "wait" "`poll`, `event`, or `hybrid:TIME` (poll so long, then sleep) (perftest -e)."
        |spec, value| spec.wait = value.parsed()?;
    "comp_vector" "comp_vector" "Completion vector of the channel, for waits that sleep (perftest -X)."
        |spec, value| spec.comp_vector = value.number()?;
    "threads" "threads" "Polling threads of each side, each with its own CQ and QPs."
        |spec, value| spec.threads = value.number()?;
    "tx_depth" "tx_depth" "Work requests outstanding per QP (perftest -t)."
        |spec, value| spec.tx_depth = value.number()?;
    "post_list" "post_list" "Work requests handed over per doorbell (perftest -l)."
        |spec, value| spec.post_list = value.number()?;
    "signal_interval" "signal_interval" "Every n-th work request asks for a completion (perftest -Q)."
        |spec, value| spec.signal_interval = value.number()?;
    "cq_poll_batch" "cq_poll_batch" "Completions asked for per poll."
        |spec, value| spec.cq_poll_batch = value.number()?;
    "qp_count" "qp_count" "Queue pairs of each thread (perftest -q)."
        |spec, value| spec.qp_count = value.number()?;
    "rx_depth" "rx_depth" "Receives kept posted per QP, where messages consume them (perftest -r)."
        |spec, value| spec.rx_depth = value.number()?;
    "outstanding_reads" "outstanding_reads" "Reads and atomics outstanding per QP (perftest -o)."
        |spec, value| spec.outstanding_reads = Some(value.number()?);
    "working_set" "working_set_bytes" "Memory that each QP's messages walk through."
        |spec, value| spec.working_set_bytes = Some(value.parsed()?);
    "stride" "stride_bytes" "From the start of one message in the working set to the next."
        |spec, value| spec.stride_bytes = Some(value.parsed()?);
    "pages" "pages" "Pages of the message buffers: `base`, `2Mi` or `1Gi`."
        |spec, value| spec.pages = value.parsed()?;
    "relaxed_ordering" "relaxed_ordering" "Whether the device's PCIe writes may pass one another."
        |spec, value| spec.relaxed_ordering = value.flag()?;
    "completion_timestamps" "completion_timestamps" "Whether completions carry the device's time, which splits NIC from software time."
        |spec, value| spec.completion_timestamps = value.flag()?;
    "compat" "compat" "`none`, or `perftest` for exactly its method."
        |spec, value| spec.compat = value.parsed()?;
    "inline" "max_inline_bytes" "Messages up to this many bytes are posted inline (perftest -I); 0 never."
        |spec, value| spec.max_inline_bytes = value.number()?;
    "path_mtu" "path_mtu" "Path MTU in bytes (perftest -m)."
        |spec, value| spec.path_mtu = Some(value.number()?);
    "traffic_class" "traffic_class" "GRH traffic class; the DSCP is its upper six bits."
        |spec, value| spec.traffic_class = value.number()?;
    "service_level" "service_level" "Service level (perftest -S)."
        |spec, value| spec.service_level = value.number()?;
    "flow_label" "flow_label" "GRH flow label, 20 bits; 0 lets the device choose the UDP source port."
        |spec, value| spec.flow_label = value.number()?;
    "pkey_index" "pkey_index" "Index in the port's partition key table."
        |spec, value| spec.pkey_index = value.number()?;
    "qp_timeout" "qp_timeout" "Local ACK timeout exponent: 4.096 us * 2^n (perftest -u)."
        |spec, value| spec.qp_timeout = value.number()?;
    "retry_count" "retry_count" "Retries after a local ACK timeout."
        |spec, value| spec.retry_count = value.number()?;
    "data_check" "data_check" "Whether data is compared: every slot before WarmUp, and what the Measure phase left behind."
        |spec, value| spec.data_check = value.flag()?;
    "soft_model" "soft_model" "Link model of the software NIC, as `[soft] model`."
        |spec, value| spec.soft_model = Some(value.parsed()?);
    "soft_fault" "soft_fault" "Faults of the software NIC, as `[soft] fault`."
        |spec, value| spec.soft_fault = Some(value.parsed()?);
};

/// All parameters of one side.
pub const SIDE_PARAMETERS: &[SideParameter] = &[
    SideParameter {
        name: "device",
        meaning: "`auto`, `soft`, or a device name such as `mlx5_0`.",
        set: |side, value| value.text().map(|name| side.device = name),
    },
    SideParameter {
        name: "port_num",
        meaning: "Port of the device, from 1.",
        set: |side, value| value.number().map(|port| side.port_num = port),
    },
    SideParameter {
        name: "gid_index",
        meaning: "GID table index; absent lets the side choose by its route to the peer.",
        set: |side, value| value.number().map(|index| side.gid_index = Some(index)),
    },
    SideParameter {
        name: "cpu",
        meaning: "`auto`, `none`, or a list such as `2-3,8`: where the polling thread runs.",
        set: |side, value| value.parsed().map(|cpu| side.cpu = cpu),
    },
    SideParameter {
        name: "memory_node",
        meaning: "`auto`, `none`, or a NUMA node: where the message buffers lie.",
        set: |side, value| value.parsed().map(|node| side.memory_node = node),
    },
];

/// The keys of `[soft]` and the parameters they set.
const SOFT_NAMES: &[(&str, &str)] = &[("model", "soft_model"), ("fault", "soft_fault")];

/// What an assignment writes.
#[derive(Clone, Copy)]
enum Target {
    Run(&'static Parameter),
    Requester(&'static SideParameter),
    Responder(&'static SideParameter),
}

/// A parameter set by a scenario.
#[derive(Clone)]
pub struct Assignment {
    target: Target,
    /// The key as written: `tx_depth`, `requester.cpu`.
    pub key: String,
    /// The key as a path: `variants[1].tx_depth`.
    pub field: String,
    /// Place of the key.
    pub key_span: Span,
    /// The value as written, with its place.
    pub value: At<Setting>,
}

impl Assignment {
    /// The slot it writes: `tx_depth`, `requester.cpu`.
    pub fn slot(&self) -> String {
        match self.target {
            Target::Run(parameter) => parameter.slot.to_owned(),
            Target::Requester(parameter) => format!("requester.{}", parameter.name),
            Target::Responder(parameter) => format!("responder.{}", parameter.name),
        }
    }

    /// Whether both write the same place of a spec.
    pub fn conflicts(&self, other: &Assignment) -> bool {
        let ends = |slot: &str| matches!(slot, "duration" | "iterations");
        let (mine, theirs) = (self.slot(), other.slot());
        mine == theirs || ends(&mine) && ends(&theirs)
    }

    /// Writes it into a spec; the error says what is wrong with the value.
    pub fn apply(&self, spec: &mut RunSpec) -> Result<(), String> {
        match self.target {
            Target::Run(parameter) => (parameter.set)(spec, &self.value.value),
            Target::Requester(parameter) => (parameter.set)(&mut spec.requester, &self.value.value),
            Target::Responder(parameter) => (parameter.set)(&mut spec.responder, &self.value.value),
        }
    }
}

/// Which parameters a table may set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// All.
    All,
    /// All but the message sizes: variants are compared at the same ones.
    AllButSize,
    /// Those of the software NIC, by their short names.
    Soft,
    /// Those of the requester.
    Requester,
    /// Those of the responder.
    Responder,
}

impl Allowed {
    fn has_sides(self) -> bool {
        matches!(self, Allowed::All | Allowed::AllButSize)
    }
}

/// Reads what is left of a table as parameters; unknown names are faults.
pub(super) fn read_assignments(section: &Section<'_>, allowed: Allowed) -> Vec<Assignment> {
    let mut assignments = Vec::new();
    for (key, value) in section.rest() {
        if let Some(table) = value.get_ref().as_table().filter(|_| allowed.has_sides() && is_side(&key.value))
        {
            for (inner, value) in table {
                let name = At { value: format!("{}.{}", key.value, inner.get_ref()), span: inner.span() };
                read_one(section, allowed, &name, value, &mut assignments);
            }
        } else {
            read_one(section, allowed, &key, value, &mut assignments);
        }
    }
    refuse_double(section, &assignments);
    assignments
}

fn is_side(key: &str) -> bool {
    key == "requester" || key == "responder"
}

fn read_one(
    section: &Section<'_>,
    allowed: Allowed,
    key: &At<String>,
    value: &Spanned<DeValue<'_>>,
    into: &mut Vec<Assignment>,
) {
    let targets = targets(&key.value, allowed);
    if targets.is_empty() {
        return section.unknown(key, &names(allowed));
    }
    if allowed == Allowed::AllButSize && key.value == "size" {
        return section.fault(
            "size",
            key.span.clone(),
            "belongs to a workload: variants are compared at the same sizes",
        );
    }
    let setting = match Setting::read(value.get_ref()) {
        Ok(setting) => setting,
        Err(what) => return section.fault(&key.value, value.span(), what),
    };
    for target in targets {
        let assignment = Assignment {
            target,
            key: key.value.clone(),
            field: section.field(&key.value),
            key_span: key.span.clone(),
            value: At { value: setting.clone(), span: value.span() },
        };
        match assignment.apply(&mut RunSpec::new(schema::Test::Bandwidth)) {
            Ok(()) => into.push(assignment),
            Err(what) => return section.fault(&key.value, value.span(), what),
        }
    }
}

/// What a key writes; a side's parameter without a side writes both.
fn targets(key: &str, allowed: Allowed) -> Vec<Target> {
    let side = |name: &str| SIDE_PARAMETERS.iter().find(|parameter| parameter.name == name);
    let run = |name: &str| PARAMETERS.iter().find(|parameter| parameter.name == name).map(Target::Run);
    match (allowed, key.split_once('.')) {
        (Allowed::Soft, _) => SOFT_NAMES
            .iter()
            .find(|(short, _)| *short == key)
            .and_then(|(_, name)| run(name))
            .into_iter()
            .collect(),
        (Allowed::Requester, None) => side(key).map(Target::Requester).into_iter().collect(),
        (Allowed::Responder, None) => side(key).map(Target::Responder).into_iter().collect(),
        (_, Some(("requester", name))) => side(name).map(Target::Requester).into_iter().collect(),
        (_, Some(("responder", name))) => side(name).map(Target::Responder).into_iter().collect(),
        (_, Some(_)) => Vec::new(),
        (_, None) => match run(key) {
            Some(parameter) => vec![parameter],
            None => side(key).map_or(Vec::new(), |p| vec![Target::Requester(p), Target::Responder(p)]),
        },
    }
}

fn names(allowed: Allowed) -> Vec<&'static str> {
    let sides = SIDE_PARAMETERS.iter().map(|parameter| parameter.name);
    if allowed == Allowed::Soft {
        SOFT_NAMES.iter().map(|(short, _)| *short).collect()
    } else if allowed.has_sides() {
        PARAMETERS
            .iter()
            .map(|parameter| parameter.name)
            .chain(sides)
            .chain(["requester", "responder"])
            .collect()
    } else {
        sides.collect()
    }
}

fn refuse_double(section: &Section<'_>, assignments: &[Assignment]) {
    for (n, late) in assignments.iter().enumerate() {
        if let Some(early) = assignments[..n].iter().find(|early| early.conflicts(late)) {
            section.push(
                super::fault::Fault::new(
                    late.field.clone(),
                    late.key_span.clone(),
                    format!("sets what `{}` sets already", early.field),
                )
                .beside(early.key_span.clone(), "set here"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_documented_in_the_words_of_the_table() {
        let page = include_str!("../../../docs/scenarios.md");
        let run = PARAMETERS.iter().map(|parameter| (parameter.name, parameter.meaning));
        let side = SIDE_PARAMETERS.iter().map(|parameter| (parameter.name, parameter.meaning));
        for (name, meaning) in run.chain(side) {
            let row = format!("| `{name}` | {meaning} |");
            assert!(page.contains(&row), "docs/scenarios.md lacks: {row}");
        }
    }

    #[test]
    fn every_slot_is_a_field_that_the_spec_knows_as_a_fault() {
        let mut spec = RunSpec::new(schema::Test::Bandwidth);
        (spec.msg_bytes, spec.tx_depth, spec.cq_poll_batch, spec.qp_count) = (vec![], 0, 0, 0);
        (spec.path_mtu, spec.service_level, spec.qp_timeout, spec.retry_count) = (Some(1), 16, 32, 8);
        (spec.interval_ns, spec.deadline_ns) = (schema::Nanos(0), schema::Nanos(0));
        (spec.rx_depth, spec.threads, spec.outstanding_reads) = (0, 0, Some(0));
        (spec.transport, spec.connect_by) = (schema::Transport::Uc, schema::ConnectBy::RdmaCm);
        (spec.completion_timestamps, spec.comp_vector, spec.flow_label) = (true, 1, 1 << 20);
        (spec.working_set_bytes, spec.stride_bytes) = (Some(Bytes(0)), Some(Bytes(7)));
        (spec.pace, spec.signal_interval) = ("p99=0us".parse().expect("a pace"), 2);
        spec.op = schema::Op::Read;
        spec.stop = Stop::Iterations(0);
        spec.soft_model = Some(Default::default());
        spec.soft_fault = Some(Default::default());
        let slots: Vec<&str> = PARAMETERS.iter().map(|parameter| parameter.slot).collect();
        let strange: Vec<&str> =
            spec.faults().iter().map(|fault| fault.field).filter(|field| !slots.contains(field)).collect();
        assert_eq!(strange, [""; 0], "faults that no assignment would be blamed for");
    }
}
