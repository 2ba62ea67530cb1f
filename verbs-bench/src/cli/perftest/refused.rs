//! perftest's flags that are taken and change nothing, or are refused: one row each, with the reason that a user reads.

use super::{flag::Flag, tool::Tool};

const RAW: &str = "is of the raw_ethernet programs, which have no counterpart here";
const GPU: &str = "GPU and accelerator memory is not here";
const MULTICAST: &str = "multicast is not here";
const CRYPTO: &str = "encryption and signature offload are not here";
const DC: &str = "the DC transport is not here; -c RC, UC or UD";
const TPH: &str = "TLP processing hints are not here";
const MMAP: &str =
    "buffers in a mapped file are not here; they are anonymous memory, on huge pages with --use_hugepages";
const DUAL: &str = "one port a run; measure each port with -i";

const fn switch(long: &'static str) -> Flag {
    Flag::new(long)
}

const fn valued(long: &'static str) -> Flag {
    Flag::new(long).value("VALUE")
}

/// The rows.
pub(super) const REFUSED: &[Flag] = &[
    switch("help").letter('h').always("prints the help of this program"),
    switch("version").letter('V').always("prints our version"),
    switch("CPU-freq").letter('F').always(
        "no clock warning exists: the invariant TSC is checked against CLOCK_MONOTONIC_RAW, and CPU frequency does not enter",
    ),
    switch("noPeak").letter('N').on(Tool::is_bw).always("there is no peak to leave out"),
    switch("no_lock").always("each thread has a thread domain of its own wherever the device can"),
    switch("disable_dynamic_polling").on(Tool::is_bw).always("--cqe_poll never changes during a run"),
    switch("ipv6-addr").always("the address of the host decides between IPv4 and IPv6"),
    switch("report-cycles").letter('C').on(Tool::is_lat).not(
        "a cycle is no unit of time; times are in us here, in ns with --json, which has the clock's ticks per second too",
    ),
    switch("report-unsorted").letter('U').on(Tool::is_lat).not(
        "samples go into a histogram, not a list; -H prints it, and --json has a time series",
    ),
    switch("dualport").letter('O').on(Tool::is_bw).not(DUAL),
    switch("report-per-port").on(Tool::is_bw).not(DUAL),
    switch("mcg").letter('g').on(Tool::sends).not(MULTICAST),
    valued("MGID").letter('M').on(Tool::sends).not(MULTICAST),
    switch("connectionless").on(Tool::sends).not(MULTICAST),
    valued("hop_limit").letter('L').not("the hop limit is 64"),
    valued("tos").letter('T').not("set the traffic class with --tclass, with -R too"),
    valued("report-counters").letter('W').not("counters of the port are not read; read them around the run"),
    switch("comm_rdma_cm").also(&["com_rdma_cm"]).letter('z').not(
        "the two sides always speak over TCP; -R connects the QPs by rdma_cm",
    ),
    switch("run_infinitely").on(Tool::is_bw).not("give -D; a record has a time series of the whole run"),
    switch("reversed").on(Tool::is_bw).not("start the two sides the other way round, or -b"),
    valued("latency_gap").on(Tool::is_lat).not(
        "perftest's gap stands inside the sample and raises it by half; for latency at a rate use a bandwidth test with --rate_limit",
    ),
    valued("burst_size").on(Tool::is_bw).not("a paced run posts single messages at even gaps"),
    valued("typical_pkt_size").on(Tool::is_bw).not("is for packet pacing by the NIC, which is not here"),
    valued("recv_post_list").on(Tool::is_bw).not("receives are posted again with each poll that returned some"),
    switch("cpu_util").not("CPU time is not in the table; --json has placement, context switches and noise"),
    switch("mr_per_qp").on(Tool::is_bw).not("all QPs of a side share one memory region"),
    switch("odp").not("memory is always registered before it is used"),
    switch("use-null-mr").on(|tool| !tool.is_atomic() && !tool.sends()).not("data is compared, so it must be somewhere"),
    switch("use-srq").on(Tool::sends).not("each QP has its own receive queue"),
    valued("inline_recv").not("is a feature of one vendor's verbs"),
    valued("dlid").not("the LID comes from the peer"),
    valued("force-link").not("the port says what its link layer is"),
    switch("ipv6").not("the GID is chosen by the route to the peer; -x sets its index"),
    switch("dont_xchg_versions").not("versions are always exchanged, so that two releases do not misread each other"),
    valued("wait_destroy").on(Tool::is_bw).not("resources are released when the run ends"),
    valued("mmap").not(MMAP),
    valued("mmap-offset").not(MMAP),
    valued("payload_file_path").not("the pattern is ours, so that wrong, stale and misplaced bytes all show"),
    switch("data_validation_debug").on(Tool::is_bw).not("a mismatch fails the run and says how many bytes differ"),
    switch("send_with_imm").on(Tool::sends).not("the immediate of a send changes no cost; write-bw has --write_with_imm"),
    switch("unsolicited_write").on(Tool::writes).not("is a feature of the SRD transport"),
    switch("use_ooo").not("out-of-order placement is not here"),
    switch("no_enhanced_reorder").not("QPs are created without reordering; there is nothing to switch off"),
    valued("congest_type").not("congestion control is set on the device, not per run"),
    valued("tph_mem").not(TPH),
    valued("cpu_id").not(TPH),
    valued("ph").not(TPH),
    switch("sig_offload").not(CRYPTO),
    switch("aes_xts").not(CRYPTO),
    switch("encrypt_on_tx").not(CRYPTO),
    switch("sig_before").not(CRYPTO),
    valued("aes_block_size").not(CRYPTO),
    valued("kek_path").not(CRYPTO),
    valued("credentials_path").not(CRYPTO),
    valued("data_enc_keys_number").not(CRYPTO),
    valued("data_enc_key_app_path").not(CRYPTO),
    valued("log_dci_streams").not(DC),
    valued("log_active_dci_streams").not(DC),
    valued("use_cuda").not(GPU),
    valued("use_cuda_bus_id").not(GPU),
    switch("use_cuda_dmabuf").not(GPU),
    switch("use_cuda_pcie_mapping").not(GPU),
    switch("use_data_direct").not(GPU),
    valued("cuda_mem_type").not(GPU),
    valued("use_musa").not(GPU),
    valued("use_musa_bus_id").not(GPU),
    switch("use_musa_dmabuf").not(GPU),
    switch("use_musa_pcie_mapping").not(GPU),
    valued("use_rocm").not(GPU),
    switch("use_rocm_dmabuf").not(GPU),
    valued("use_neuron").not(GPU),
    switch("use_neuron_dmabuf").not(GPU),
    valued("use_hl").not(GPU),
    valued("use_mlu").not(GPU),
    switch("use_mlu_dmabuf").not(GPU),
    valued("use_opencl").not(GPU),
    valued("opencl_platform_id").not(GPU),
    valued("use_ib_dm_dmabuf").not(GPU),
    valued("gpu_touch").not(GPU),
    valued("source_mac").letter('B').not(RAW),
    valued("dest_mac").letter('E').not(RAW),
    valued("dest_ip").letter('J').not(RAW),
    valued("dest_port").letter('K').not(RAW),
    valued("source_port").letter('k').not(RAW),
    valued("ethertype").letter('Y').not(RAW),
    switch("server").letter('Z').not(RAW),
    switch("client").letter('P').not(RAW),
    switch("mac_fwd").letter('v').not(RAW),
    switch("use_rss").letter('G').not(RAW),
    valued("remote_mac").not(RAW),
    valued("local_mac").not(RAW),
    valued("remote_ip").not(RAW),
    valued("local_ip").not(RAW),
    valued("remote_port").not(RAW),
    valued("local_port").not(RAW),
    switch("tcp").not(RAW),
    switch("raw_ipv6").not(RAW),
    switch("promiscuous").not(RAW),
    switch("sniffer").not(RAW),
    switch("raw_mcast").not(RAW),
    valued("flows").not(RAW),
    valued("flows_burst").not(RAW),
    valued("reply_every").not(RAW),
    switch("vlan_en").not(RAW),
    valued("vlan_pcp").not(RAW),
];
