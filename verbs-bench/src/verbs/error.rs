//! What a verb can fail with. Each text names the call, the kernel's or library's reason, and what to do.

use std::io;

use schema::Transport;

use super::{CqInit, QpCaps, QpKind};

/// An RDMA object could not be had, or a port or GID can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerbsError {
    /// No device at all: `ibv_get_device_list` gave NULL or an empty list.
    #[error(
        "no RDMA device on this host ({why}); load the NIC's driver and ib_uverbs (`rdma link` shows devices), in a \
         container pass /dev/infiniband in, or measure without hardware with --device soft"
    )]
    NoDevices {
        /// What `ibv_get_device_list` said.
        why: String,
    },
    /// Devices, but none of this name.
    #[error("no RDMA device is named `{name}`; there are: {}", present.join(", "))]
    NoSuchDevice {
        /// The name asked for.
        name: String,
        /// The names there are.
        present: Vec<String>,
    },
    /// `ibv_open_device` failed.
    #[error("ibv_open_device({device}): {source}; check the permissions of /dev/infiniband/uverbs*")]
    OpenDevice {
        /// The device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_query_device` failed.
    #[error("ibv_query_device({device}): {source}; the device may have been removed, see `dmesg`")]
    QueryDevice {
        /// The device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_query_port` failed.
    #[error("ibv_query_port({device}, port {port_num}): {source}; the device has ports 1 to {phys_port_cnt}")]
    QueryPort {
        /// The device.
        device: String,
        /// The port.
        port_num: u8,
        /// How many ports there are.
        phys_port_cnt: u8,
        /// Why.
        source: io::Error,
    },
    /// The port can't carry messages.
    #[error(
        "port {port_num} of {device} is {state}, not ACTIVE; bring its network device up (`rdma link`, `ip link set \
         DEV up`), or on InfiniBand start a subnet manager"
    )]
    PortNotActive {
        /// The device.
        device: String,
        /// The port.
        port_num: u8,
        /// Its state, in the spelling of verbs.h.
        state: String,
    },
    /// `ibv_query_gid_table` failed.
    #[error("ibv_query_gid_table({device}): {source}; see /sys/class/infiniband/{device}/ports/*/gids")]
    QueryGidTable {
        /// The device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_alloc_pd` failed.
    #[error(
        "ibv_alloc_pd({device}): {source}; other processes may hold all protection domains (`rdma resource`)"
    )]
    AllocPd {
        /// The device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_reg_mr_iova2` failed.
    #[error("ibv_reg_mr_iova2({len_bytes} bytes): {source}; {advice}")]
    RegisterMr {
        /// Length of the buffer.
        len_bytes: usize,
        /// What to do, with the limit that was in force.
        advice: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_create_cq` or `ibv_create_cq_ex` failed.
    #[error("{call}({entries} entries): {source}; {advice}")]
    CreateCq {
        /// The call.
        call: &'static str,
        /// Entries asked for.
        entries: u32,
        /// What to do.
        advice: &'static str,
        /// Why.
        source: io::Error,
    },
    /// `ibv_create_comp_channel` failed.
    #[error(
        "ibv_create_comp_channel on {device}: {source}; raise `ulimit -n` if descriptors ran out, or use --wait poll"
    )]
    CreateChannel {
        /// Device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_create_ah` failed.
    #[error(
        "ibv_create_ah ({attributes}): {source}; check that the peer answers ping from the GID's address"
    )]
    CreateAh {
        /// Every attribute that was set.
        attributes: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_create_qp` or `ibv_create_qp_ex` failed.
    #[error("{call}({asked}) on {device}: {source}; {advice}")]
    CreateQp {
        /// The call.
        call: &'static str,
        /// Device.
        device: String,
        /// What was asked for.
        asked: String,
        /// What to do.
        advice: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_alloc_td` or `ibv_alloc_parent_domain` failed on a device that has them.
    #[error(
        "a doorbell domain for each thread on {device}: {source}; the device may have no doorbell left: use fewer threads"
    )]
    ThreadDomain {
        /// Device.
        device: String,
        /// Why.
        source: io::Error,
    },
    /// `ibv_modify_qp` failed.
    #[error("ibv_modify_qp(QP {qp_num:#x} to {state}): {source}; with {attributes}; {advice}{gid_table}")]
    ModifyQp {
        /// The QP.
        qp_num: u32,
        /// The state it should enter.
        state: &'static str,
        /// The attributes it was given.
        attributes: String,
        /// What to do.
        advice: &'static str,
        /// The port's GID table with its heading, where the state needs one; else empty.
        gid_table: String,
        /// Why.
        source: io::Error,
    },
    /// A path MTU no verbs device knows.
    #[error("path_mtu {path_mtu}: must be 256, 512, 1024, 2048 or 4096 bytes")]
    PathMtu {
        /// As asked.
        path_mtu: u32,
    },
    /// The asked GID index holds nothing usable.
    #[error("gid_index {index} {why}; the table:\n{table}")]
    GidIndex {
        /// As asked.
        index: u32,
        /// What is wrong with it.
        why: String,
        /// The table, one entry a line.
        table: String,
    },
    /// No entry of the GID table reaches the peer.
    #[error(
        "no GID of the port reaches the peer {peer}; give its network device an address in the peer's network, or \
         choose one with --gid-index; the table:\n{table}"
    )]
    NoUsableGid {
        /// The peer.
        peer: std::net::IpAddr,
        /// The table, one entry a line, each with the reason.
        table: String,
    },
    /// One side has a software NIC, the other has not.
    #[error("this side uses {ours}, the peer {theirs}; use `soft` on both sides or on neither")]
    FabricMismatch {
        /// Ours.
        ours: &'static str,
        /// Theirs.
        theirs: &'static str,
    },
    /// The peer's memory can't be mapped.
    #[error("the software NIC can't reach the peer's memory ({what}): {source}; {advice}")]
    SoftPeer {
        /// What was tried.
        what: String,
        /// What to do.
        advice: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A completion status no verbs device knows.
    #[error("soft_fault: unknown completion status `{status}`; use the spelling of verbs.h without IBV_WC_")]
    SoftFault {
        /// As asked.
        status: String,
    },
}

/// Errnos by which a provider or the kernel says that it can't, rather than that there is too little of something.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL))
}

impl VerbsError {
    /// A QP that could not be had: by what the device lacks if that can be told, else by what there is too little of.
    pub(super) fn create_qp(device: &str, kind: QpKind, caps: QpCaps, source: io::Error) -> VerbsError {
        let lacking = match kind.extended {
            _ if !is_unsupported(&source) => None,
            Some(op) => Some(format!("{device} may have no extended API for {op}: use --post-api classic")),
            None if kind.transport != Transport::Rc => {
                Some(format!("{device} may have no {} queue pairs: use --transport rc", kind.transport))
            }
            None => None,
        };
        let depth = "lower tx_depth or rx_depth (limit: max_qp_wr) or inline, or raise `ulimit -l`";
        VerbsError::CreateQp {
            call: if kind.extended.is_some() { "ibv_create_qp_ex" } else { "ibv_create_qp" },
            device: device.to_owned(),
            asked: format!(
                "{}, {} send and {} receive work requests, {} bytes inline",
                kind.transport, caps.max_send_wr, caps.max_recv_wr, caps.max_inline_bytes
            ),
            advice: lacking.map_or(depth.to_owned(), |lacking| format!("{lacking}; or {depth}")),
            source,
        }
    }

    /// A CQ that could not be had.
    pub(super) fn create_cq(init: &CqInit, source: io::Error) -> VerbsError {
        VerbsError::CreateCq {
            call: if init.extended { "ibv_create_cq_ex" } else { "ibv_create_cq" },
            entries: init.entries,
            advice: match (init.extended && is_unsupported(&source), init.channel.is_null()) {
                (true, _) if init.timestamps => {
                    "the device may have no completion timestamps: leave --completion-timestamps out"
                }
                (true, _) => "the device may have no extended API: use --post-api classic",
                (false, false) => {
                    "lower tx_depth or qp_count (limit: max_cqe), and check that comp_vector is below num_comp_vectors"
                }
                (false, true) => "lower tx_depth or qp_count, the device's limit is max_cqe",
            },
            source,
        }
    }

    /// The errno of the call that failed, to be carried to the peer.
    pub fn errno(&self) -> Option<i32> {
        let source = std::error::Error::source(self)?;
        source.downcast_ref::<io::Error>()?.raw_os_error()
    }
}

/// What a destroy that failed in `Drop` leaves: a line on stderr, since there is no one to return it to.
pub(super) fn log_destroy(call: &str, result: io::Result<()>) {
    if let Err(error) = result {
        eprintln!("verbs-bench: {call}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errno_travels_and_the_text_says_what_to_do() {
        let source = || io::Error::from_raw_os_error(libc::ENOMEM);
        let error = VerbsError::create_qp("rxe0", QpKind::RC, QpCaps::sending(512, 0), source());
        assert_eq!(error.errno(), Some(libc::ENOMEM));
        assert_eq!(
            error.to_string(),
            "ibv_create_qp(rc, 512 send and 0 receive work requests, 0 bytes inline) on rxe0: Cannot allocate memory \
             (os error 12); lower tx_depth or rx_depth (limit: max_qp_wr) or inline, or raise `ulimit -l`"
        );
        assert_eq!(VerbsError::PathMtu { path_mtu: 3 }.errno(), None);
    }

    #[test]
    fn what_a_device_lacks_is_named_with_the_device() {
        let refused = |transport, extended| {
            let source = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
            VerbsError::create_qp("efa0", QpKind { transport, extended }, QpCaps::sending(8, 0), source)
                .to_string()
        };
        assert!(refused(Transport::Uc, None).contains("efa0 may have no uc queue pairs: use --transport rc"));
        let text = refused(Transport::Rc, Some(schema::Op::Read));
        assert!(
            text.starts_with("ibv_create_qp_ex(rc") && text.contains("no extended API for read"),
            "{text}"
        );
        assert!(!refused(Transport::Rc, None).contains("may have no"));
    }
}
