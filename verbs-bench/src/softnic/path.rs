//! The functions of the data path, compiled for one kind of NIC.

use std::ffi::c_int;

use rdma_sys::{ibv_cq, ibv_cq_ex, ibv_poll_cq_attr, ibv_qp, ibv_send_wr, ibv_wc};

/// What a context and its extended queues are filled with.
#[derive(Clone, Copy)]
pub(super) struct DataPath {
    /// `ibv_post_send`.
    pub(super) post_send: unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int,
    /// `ibv_poll_cq`.
    pub(super) poll_cq: unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int,
    /// `ibv_start_poll`.
    pub(super) start_poll: unsafe extern "C" fn(*mut ibv_cq_ex, *mut ibv_poll_cq_attr) -> c_int,
}
