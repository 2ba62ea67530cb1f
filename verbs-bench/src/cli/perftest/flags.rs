//! perftest's flags that do something here, one row each, in the order of its help. The rows drive the parser, the help and
//! the page of flags.

use super::{
    flag::Flag,
    print::Output,
    read::{atomic, cpu_list, flow_label, number, positive, positive_real, rate_units, transport},
    size::size,
    tool::Tool,
};

/// The rows of perftest's that are taken.
pub(super) const TAKEN: &[Flag] = &[
    Flag::new("all").letter('a').on(|tool| !tool.is_atomic()).field(
        "msg_bytes",
        "Run sizes from 2 to 2^23",
        |draft, _| {
            draft.all = true;
            Ok(())
        },
    ),
    Flag::new("atomic_type").letter('A').value("TYPE").on(Tool::is_atomic).field(
        "op",
        "CMP_AND_SWAP or FETCH_AND_ADD [default: FETCH_AND_ADD]",
        |draft, text| atomic(text).map(|op| draft.spec.op = op),
    ),
    Flag::new("bidirectional").letter('b').on(Tool::is_bw).field(
        "bidirectional",
        "The responder sends at the same time",
        |draft, _| {
            draft.spec.bidirectional = true;
            Ok(())
        },
    ),
    Flag::new("connection").letter('c').value("TYPE").field(
        "transport",
        "RC, UC (writes, sends) or UD (sends) [default: RC]",
        |draft, text| transport(text).map(|transport| draft.spec.transport = transport),
    ),
    Flag::new("ib-dev").letter('d').value("DEV").also(&["device"]).here(
        "Device of this side; soft is the software NIC [default: the first usable]",
        |draft, text| {
            draft.spec.requester.device = text.to_owned();
            Ok(())
        },
    ),
    Flag::new("duration").letter('D').value("SECONDS").field(
        "stop",
        "Run so long instead of so often; the margins at both ends are not counted",
        |draft, text| positive(text).map(|seconds| draft.duration_s = Some(seconds)),
    ),
    Flag::new("events").letter('e').field("wait", "Sleep on the completion channel [default: poll]", |draft, _| {
        draft.spec.wait = schema::Wait::Event;
        Ok(())
    }),
    Flag::new("vector").letter('X').value("VECTOR").field(
        "comp_vector",
        "Completion vector of the channel",
        |draft, text| number(text).map(|vector| draft.spec.comp_vector = vector),
    ),
    Flag::new("margin").letter('f').value("SECONDS").field(
        "stop",
        "Margin at both ends of --duration; the first is our WarmUp [default: a quarter of the duration]",
        |draft, text| number(text).map(|seconds| draft.margin_s = Some(seconds)),
    ),
    Flag::new("report-histogrm").letter('H').also(&["report-histogram"]).on(Tool::is_lat).here(
        "Print the histogram too: upper bound in us, samples",
        |draft, _| {
            draft.print.histogram = true;
            Ok(())
        },
    ),
    Flag::new("ib-port").letter('i').value("PORT").here("Port of the device [default: 1]", |draft, text| {
        number(text).map(|port| draft.spec.requester.port_num = port)
    }),
    Flag::new("inline_size").letter('I').value("SIZE").also(&["inline"]).on(|tool| !tool.fetches()).field(
        "max_inline_bytes",
        "Post messages up to this many bytes inline [default: 0; latency: 220 write, 236 send, 188 over UD]",
        |draft, text| number(text).map(|bytes| draft.inline = Some(bytes)),
    ),
    Flag::new("post_list").letter('l').value("SIZE").on(Tool::is_bw).field(
        "post_list",
        "Work requests per doorbell [default: 1]",
        |draft, text| number(text).map(|list| draft.spec.post_list = list),
    ),
    Flag::new("mtu").letter('m').value("MTU").field(
        "path_mtu",
        "256 to 4096 [default: the smaller of both ports' active MTU]",
        |draft, text| number(text).map(|mtu| draft.spec.path_mtu = Some(mtu)),
    ),
    Flag::new("iters").letter('n').value("ITERS").field(
        "stop",
        "Exchanges of each QP [default: 5000 write-bw, else 1000]",
        |draft, text| positive(text).map(|count| draft.iterations = Some(count)),
    ),
    Flag::new("outs").letter('o').value("NUM").on(Tool::fetches).field(
        "outstanding_reads",
        "Reads or atomics outstanding per QP [default: what both devices bear]",
        |draft, text| number(text).map(|reads| draft.spec.outstanding_reads = Some(reads)),
    ),
    Flag::new("port").letter('p').value("PORT").here("Listen on or connect to this port [default: 18515]", |draft, text| {
        number(text).map(|port| draft.port = port)
    }),
    Flag::new("qp").letter('q').value("NUM").on(Tool::is_bw).field(
        "qp_count",
        "Queue pairs, of each thread if there are several [default: 1]",
        |draft, text| number(text).map(|count| draft.spec.qp_count = count),
    ),
    Flag::new("cq-mod").letter('Q').value("N").on(Tool::is_bw).field(
        "signal_interval",
        "Every n-th work request asks for a completion [default: 100 by perftest's rules, which the header shows]",
        |draft, text| number(text).map(|interval| draft.cq_mod = Some(interval)),
    ),
    Flag::new("rx-depth").letter('r').value("DEPTH").on(|tool| !tool.fetches()).field(
        "rx_depth",
        "Receives kept posted per QP, where messages consume them [default: 512]",
        |draft, text| number(text).map(|depth| draft.spec.rx_depth = depth),
    ),
    Flag::new("rdma_cm").letter('R').field("connect_by", "Connect the QPs with rdma_cm", |draft, _| {
        draft.spec.connect_by = schema::ConnectBy::RdmaCm;
        Ok(())
    }),
    Flag::new("size").letter('s').value("SIZE").on(|tool| !tool.is_atomic()).field(
        "msg_bytes",
        "Message size, K and M as 1024 and 1024^2; several are measured one after the other [default: 65536; latency 2]",
        |draft, text| size(text).map(|size| draft.sizes.push(size)),
    ),
    Flag::new("sl").letter('S').value("SL").field("service_level", "Service level [default: 0]", |draft, text| {
        number(text).map(|level| draft.spec.service_level = level)
    }),
    Flag::new("tx-depth").letter('t').value("DEPTH").on(Tool::is_bw).field(
        "tx_depth",
        "Work requests outstanding per QP [default: 128]",
        |draft, text| number(text).map(|depth| draft.spec.tx_depth = depth),
    ),
    Flag::new("qp-timeout").letter('u').value("TIMEOUT").field(
        "qp_timeout",
        "ACK timeout 4.096us * 2^n [default: 14]",
        |draft, text| number(text).map(|timeout| draft.spec.qp_timeout = timeout),
    ),
    Flag::new("limit_bw").letter('w').value("VALUE").on(Tool::is_bw).here(
        "Exit with 1 if a size stays below this average, in the unit of the table",
        |draft, text| positive_real(text).map(|limit| draft.print.limit_bw = Some(limit)),
    ),
    Flag::new("gid-index").letter('x').value("INDEX").here(
        "GID index of this side [default: chosen by the route to the peer]",
        |draft, text| number(text).map(|index| draft.spec.requester.gid_index = Some(index)),
    ),
    Flag::new("limit_msgrate").letter('y').value("VALUE").on(Tool::is_bw).here(
        "Exit with 1 if a size stays below this message rate, in Mpps; with or without -w",
        |draft, text| positive_real(text).map(|limit| draft.print.limit_msgrate = Some(limit)),
    ),
    Flag::new("out_json").here("Write perftest_out.json: perftest's keys, and our whole record beside them", |draft, _| {
        draft.print.json_file.get_or_insert_with(|| "perftest_out.json".into());
        Ok(())
    }),
    Flag::new("out_json_file").value("FILE").here("Write that to FILE", |draft, text| {
        draft.print.json_file = Some(text.into());
        Ok(())
    }),
    Flag::new("cqe_poll").value("N").field("cq_poll_batch", "Completions per poll [default: 16]", |draft, text| {
        number(text).map(|batch| draft.spec.cq_poll_batch = batch)
    }),
    Flag::new("pin_cores").value("LIST").here("CPUs of this side's polling threads [default: by the NIC]", |draft, text| {
        cpu_list(text).map(|cpus| draft.spec.requester.cpu = cpus)
    }),
    Flag::new("numa_node").value("NODE").here("Node of this side's buffers [default: of the NIC]", |draft, text| {
        number(text).map(|node| draft.spec.requester.memory_node = schema::NodeChoice::Node(node))
    }),
    Flag::new("disable_numa").here("Neither pin nor bind this side", |draft, _| {
        draft.spec.requester.cpu = schema::CpuChoice::None;
        draft.spec.requester.memory_node = schema::NodeChoice::None;
        Ok(())
    }),
    Flag::new("bind_source_ip").value("IP").also(&["source_ip"]).here(
        "Source address of our TCP connection",
        |draft, text| {
            let source = text.parse().map_err(|_| format!("`{text}` is not an IPv4 or IPv6 address"))?;
            draft.bind_source = Some(source);
            Ok(())
        },
    ),
    Flag::new("output").value("WHAT").here("Print one bare number: bandwidth, message_rate or latency", |draft, text| {
        draft.print.output = Output::read(text)?;
        Ok(())
    }),
    Flag::new("use_old_post_send").field("post_api", "ibv_post_send instead of ibv_wr_*", |draft, _| {
        draft.spec.post_api = schema::PostApi::Classic;
        Ok(())
    }),
    Flag::new("perform_warm_up").field(
        "warmup_ns",
        "A WarmUp phase with --compat perftest too; without that there always is one",
        |draft, _| {
            draft.warm_up = true;
            Ok(())
        },
    ),
    Flag::new("pkey_index").value("INDEX").field("pkey_index", "Partition key index [default: 0]", |draft, text| {
        number(text).map(|index| draft.spec.pkey_index = index)
    }),
    Flag::new("report-both").on(Tool::is_bw).here("Print each direction of a bidirectional run too", |draft, _| {
        draft.print.both = true;
        Ok(())
    }),
    Flag::new("report_gbits").on(Tool::is_bw).here("Gb/s (1e9 bits) instead of MiB/s", |draft, _| {
        draft.print.gbits = true;
        Ok(())
    }),
    Flag::new("retry_count").value("COUNT").field("retry_count", "Retries after a timeout [default: 7]", |draft, text| {
        number(text).map(|count| draft.spec.retry_count = count)
    }),
    Flag::new("tclass").value("VALUE").field("traffic_class", "Traffic class of the GRH [default: 0]", |draft, text| {
        number(text).map(|class| draft.spec.traffic_class = class)
    }),
    Flag::new("flow_label").value("LABEL").field("flow_label", "Flow label of the GRH, one for all QPs", |draft, text| {
        flow_label(text).map(|label| draft.spec.flow_label = label)
    }),
    Flag::new("use_hugepages").field("pages", "Buffers in huge pages of 2 MiB", |draft, _| {
        draft.spec.pages = schema::Pages::Huge2Mi;
        Ok(())
    }),
    Flag::new("disable_pcie_relaxed").field("relaxed_ordering", "No PCIe relaxed ordering", |draft, _| {
        draft.spec.relaxed_ordering = false;
        Ok(())
    }),
    Flag::new("rate_limit").value("RATE").on(Tool::is_bw).field(
        "pace",
        "Post by a schedule of this rate, all QPs together; latency then counts from the intended time",
        |draft, text| positive_real(text).map(|rate| draft.rate = Some(rate)),
    ),
    Flag::new("rate_units").value("UNIT").on(Tool::is_bw).field(
        "pace",
        "M (MiB/s), g (Gb/s) or p (messages/s) [default: g]",
        |draft, text| rate_units(text).map(|units| draft.rate_units = units),
    ),
    Flag::new("rate_limit_type").value("TYPE").on(Tool::is_bw).field(
        "pace",
        "SW: this program paces; HW and PP, by the NIC, are not here [default: SW]",
        |_, text| match text {
            "SW" => Ok(()),
            other => Err(format!("{other}: the NIC's rate limiter is not here; SW is")),
        },
    ),
    Flag::new("write_with_imm").on(Tool::writes).field("op", "RDMA WRITE WITH IMMEDIATE", |draft, _| {
        draft.spec.op = schema::Op::WriteImm;
        Ok(())
    }),
    Flag::new("data_validation").on(Tool::is_bw).field(
        "data_check",
        "Compare data with --compat perftest too; without that it always is",
        |draft, _| {
            draft.check_data = true;
            Ok(())
        },
    ),
];

/// Rows of our own beside perftest's.
pub(super) const OURS: &[Flag] = &[
    Flag::new("compat").value("TOOL").field(
        "compat",
        "perftest: exactly its method, for cross-checks (no WarmUp, own completions on the critical path)",
        |draft, text| {
            text.parse().map(|compat| draft.spec.compat = compat).map_err(|error: schema::UnitError| error.0)
        },
    ),
    Flag::new("threads").value("NUM").on(Tool::is_bw).field(
        "threads",
        "Polling threads of each side, each with -q QPs [default: 1]",
        |draft, text| number(text).map(|threads| draft.spec.threads = threads),
    ),
    Flag::new("soft-model").value("MODEL").field(
        "soft_model",
        "Link model of -d soft, e.g. latency=2us,rate=100Gbps [default: raw]",
        |draft, text| {
            text.parse()
                .map(|model| draft.spec.soft_model = Some(model))
                .map_err(|error: schema::UnitError| error.0)
        },
    ),
    Flag::new("token-file").value("FILE").here("File with the secret that both sides hold", |draft, text| {
        draft.token_file = Some(text.into());
        Ok(())
    }),
    Flag::new("json").here("Print our RunRecord as JSON instead of perftest's table", |draft, _| {
        draft.print.record = true;
        Ok(())
    }),
];
