//! What can go wrong when a thread or a buffer is put somewhere. Each text names the field, the cause and what to do.

use std::io;

use schema::Pages;

/// Why something could not be placed as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// A CPU this process cannot run on.
    #[error(
        "cpu: CPU {cpu} {why}; this process may use CPUs {allowed}. Name one of them, or `auto`, or `none`"
    )]
    Cpu {
        /// The CPU asked for.
        cpu: u32,
        /// What is the matter with it.
        why: String,
        /// The CPUs that can be had, in the kernel's list format.
        allowed: String,
    },
    /// An empty list of CPUs.
    #[error("cpu: the list of CPUs is empty; name at least one CPU, or write `auto` or `none`")]
    NoCpuNamed,
    /// A list that is shorter than the threads.
    #[error("cpu: {named} CPUs are named for {threads} threads; name one for each, or lower threads")]
    TooFewNamed {
        /// Threads of the side.
        threads: usize,
        /// CPUs of the list.
        named: usize,
    },
    /// `auto` found fewer whole cores than threads.
    #[error(
        "cpu: threads is {threads} and CPUs {allowed} have {cores} cores to give one to each; lower threads, widen the cpuset, or name the CPUs"
    )]
    TooFewCores {
        /// Threads of the side.
        threads: usize,
        /// Cores that could be had.
        cores: usize,
        /// The CPUs that can be had, in the kernel's list format.
        allowed: String,
    },
    /// `auto` found nothing to choose from.
    #[error("cpu: `auto` has no CPU to choose from ({why}); name one, or write `none`")]
    NoCpuToChoose {
        /// What was looked at.
        why: String,
    },
    /// The kernel did not pin, or did not keep, the thread.
    #[error(
        "cpu: pinning to CPU {cpu}: {call} {why}; check the cpuset of this process, or write `cpu = none`"
    )]
    Pin {
        /// The CPU.
        cpu: u32,
        /// The call that failed or disagreed.
        call: &'static str,
        /// What it said.
        why: String,
    },
    /// The thread could not be given back the CPUs it started with.
    #[error(
        "cpu: `none` was asked, but sched_setaffinity to CPUs {allowed} failed: {source}; check the cpuset"
    )]
    Unpin {
        /// The CPUs the process started with.
        allowed: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A NUMA node memory cannot be bound to.
    #[error(
        "memory_node: node {node} {why}; this process may bind memory to nodes {allowed}. Name one of them, or `auto`, or `none`"
    )]
    Node {
        /// The node asked for.
        node: u32,
        /// What is the matter with it.
        why: String,
        /// The nodes that can be had, in the kernel's list format.
        allowed: String,
    },
    /// A node was asked for where nothing can be bound or verified.
    #[error(
        "memory_node: node {node} was asked for, but {why}, so the memory could be neither bound nor verified; write `auto` or `none`"
    )]
    NoNuma {
        /// The node asked for.
        node: u32,
        /// What is missing.
        why: String,
    },
    /// A buffer of no bytes, or of more than can be addressed.
    #[error(
        "message buffer: a buffer of {len} bytes cannot be made; ask for 1 byte or more, and less than the address space"
    )]
    Length {
        /// Bytes asked for.
        len: usize,
    },
    /// Huge pages of a size the kernel does not have.
    #[error(
        "pages: {pages}: this kernel has no huge pages of that size (/sys/kernel/mm/hugepages lists them); 1Gi may need `hugepagesz=1G` on the kernel's command line"
    )]
    NoHugePages {
        /// As asked.
        pages: Pages,
    },
    /// A pool with fewer free huge pages than needed.
    #[error(
        "pages: {pages}: the message buffers need {needed} of them and {folder} has {free} free; reserve more (`echo N > {folder}/nr_hugepages`), ask for a smaller buffer, or use base pages"
    )]
    HugePages {
        /// As asked.
        pages: Pages,
        /// Pages needed.
        needed: u64,
        /// Pages that can be had.
        free: u64,
        /// The pool's folder in sysfs.
        folder: String,
    },
    /// The mapping could not be made.
    #[error(
        "message buffer: {call} of {len} bytes: {source}; ask for a smaller buffer (message size, tx_depth or qp_count)"
    )]
    Map {
        /// The call.
        call: &'static str,
        /// Bytes asked for.
        len: usize,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The mapping could not be bound to its node.
    #[error(
        "memory_node: mbind of {len} bytes to node {node}: {source}; check the cpuset's mems, or write `memory_node = none`"
    )]
    Bind {
        /// Bytes.
        len: usize,
        /// The node.
        node: u32,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The pages could not be had.
    #[error(
        "message buffer: touching {len} bytes {place}: {source}; free memory there, raise the cgroup's limit, or ask for a smaller buffer"
    )]
    Touch {
        /// Bytes.
        len: usize,
        /// Where, in words.
        place: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel did not say where the pages lie.
    #[error(
        "page residency: move_pages: {why}; a container's seccomp profile may forbid it (CAP_SYS_NICE allows it)"
    )]
    Residency {
        /// What it said instead.
        why: String,
    },
}
