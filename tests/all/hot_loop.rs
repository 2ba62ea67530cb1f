//! What the bandwidth loops are made of, read from the machine code of the program: every instruction that a loop can reach
//! without leaving it for a cold function. The loops of the latency test are not read.
//!
//! Allowed are calls through a pointer (the verbs themselves) and one named system interface (the vDSO's clock, in the
//! loops for machines whose TSC can't be trusted). Divisions, locks, system calls, allocations and formatting are not.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use e2e::programs::program;

/// Where a loop leaves for: each is `#[cold]`, or the panic that an index out of bounds would be.
const COLD: &[&str] = &[
    "::trouble",
    "::Watch",
    "Recorder::end_interval",
    "Recorder::saturate",
    "Idle::look",
    "::post_last",
    "core::panicking",
    "core::slice::index",
    "core::option::",
    "core::result::",
    "drop_in_place",
    "_Unwind_Resume",
];

/// Functions whose own instructions count and whose calls do not: recording grows a histogram that may resize itself,
/// which ours may not.
const LEAVES: &[&str] = &["hdrhistogram::Histogram<T>::record_n_inner"];

/// Functions of the system that a loop may call.
const SYSTEM: &[&str] = &["clock_gettime"];

/// One function of the program.
#[derive(Debug, Default)]
struct Function {
    name: String,
    /// Mnemonic and operands.
    instructions: Vec<String>,
    /// Addresses of the functions it calls or ends in.
    calls: BTreeSet<u64>,
    /// Functions of shared libraries it calls.
    imports: BTreeSet<String>,
    /// Calls through a pointer.
    through_pointer: usize,
}

fn functions() -> BTreeMap<u64, Function> {
    let output = Command::new("objdump")
        .args(["--disassemble", "--demangle", "--no-show-raw-insn"])
        .arg(program("verbs-bench"))
        .output()
        .expect("objdump of binutils, which comes with build-essential");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
    let mut at = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((address, name)) = line.strip_suffix(">:").and_then(|head| head.split_once(" <")) {
            at = u64::from_str_radix(address, 16).expect("an address");
            functions.insert(at, Function { name: name.to_owned(), ..Function::default() });
        } else if let Some((_, instruction)) = line.split_once(":\t") {
            functions.entry(at).or_default().read(instruction.trim());
        }
    }
    // A jump within the function is no call.
    let starts: BTreeSet<u64> = functions.keys().copied().collect();
    for function in functions.values_mut() {
        function.calls.retain(|target| starts.contains(target));
    }
    functions
}

impl Function {
    fn read(&mut self, instruction: &str) {
        self.instructions.push(instruction.to_owned());
        let (mnemonic, operands) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
        if !mnemonic.starts_with("call") && !mnemonic.starts_with("jmp") {
            return;
        }
        let operands = operands.trim();
        // `*0x1234(%rip)  # 5678 <malloc@GLIBC_2.2.5>` is a function of a library.
        match (operands.strip_prefix('*'), operands.split_once(" <")) {
            (Some(_), Some((_, symbol))) if symbol.contains("@") => {
                self.imports.insert(symbol.split('@').next().unwrap_or_default().to_owned());
            }
            (Some(_), _) if mnemonic.starts_with("call") => self.through_pointer += 1,
            (None, Some((address, _))) => {
                self.calls.extend(u64::from_str_radix(address.trim(), 16));
            }
            _ => {}
        }
    }

    fn is_cold(&self) -> bool {
        COLD.iter().any(|cold| self.name.contains(cold))
    }

    fn is_leaf(&self) -> bool {
        LEAVES.iter().any(|leaf| self.name.contains(leaf))
    }

    /// What no loop may hold.
    fn offences(&self) -> Vec<String> {
        let bad_instruction = |text: &&String| {
            let mnemonic = text.split_whitespace().next().unwrap_or_default();
            mnemonic.contains("div") || mnemonic == "lock" || mnemonic == "syscall" || mnemonic == "int"
        };
        let bad_name = ["alloc", "fmt", "mutex", "Mutex", "udivti3", "umodti3"]
            .iter()
            .any(|part| self.name.contains(part) && !self.name.contains("verbs_bench"));
        let mut offences: Vec<String> = self.instructions.iter().filter(bad_instruction).cloned().collect();
        offences.extend(bad_name.then(|| "its name".to_owned()));
        let imports = self.imports.iter().filter(|_| !self.is_leaf());
        offences.extend(imports.filter(|name| !SYSTEM.contains(&name.as_str())).cloned());
        offences
    }
}

/// A loop and all that it reaches without a cold call, and what is wrong with them.
fn offences_from(start: u64, functions: &BTreeMap<u64, Function>) -> Vec<String> {
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    let mut offences = Vec::new();
    while let Some(at) = open.pop() {
        let function = &functions[&at];
        offences.extend(function.offences().into_iter().map(|what| format!("{}: {what}", function.name)));
        for &callee in function.calls.iter().filter(|_| !function.is_leaf()) {
            if !functions[&callee].is_cold() && seen.insert(callee) {
                open.push(callee);
            }
        }
    }
    offences
}

#[test]
fn the_hot_loops_divide_allocate_lock_format_and_call_the_system_nowhere() {
    let functions = functions();
    let mut loops = 0;
    for (&at, function) in &functions {
        let hot = function.name.contains("bandwidth::pump::Pump") && function.name.ends_with("::run");
        if hot {
            loops += 1;
            assert!(function.through_pointer >= 2, "{} posts and polls", function.name);
            assert_eq!(offences_from(at, &functions), Vec::<String>::new());
        }
    }
    assert!(loops >= 20, "only {loops} loops were found: did their name change?");
    // The eyes are open: converting nanoseconds to ticks, which is done before a loop, divides.
    let divides = functions.values().any(|function| {
        function.name.contains("clock::calibrate") && !function.offences().is_empty()
            || function.name.contains("udivti3")
    });
    assert!(divides, "no division was found in the whole clock");
}
