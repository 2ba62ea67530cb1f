//! The channel on which rdma_cm says what happened, read with a deadline.

use std::{
    ffi::CStr,
    io,
    os::fd::BorrowedFd,
    ptr,
    time::{Duration, Instant},
};

use rdma_sys::{
    rdma_ack_cm_event, rdma_cm_event, rdma_cm_event_type as kinds, rdma_cm_id, rdma_create_event_channel,
    rdma_destroy_event_channel, rdma_event_channel, rdma_event_str, rdma_get_cm_event,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use super::CmError;

// The hand-written struct of rdma-sys must have C's layout, or every event is misread.
const _: () = assert!(size_of::<rdma_cm_event>() == 80);

/// A non-blocking event channel.
pub(super) struct EventChannel {
    ptr: *mut rdma_event_channel,
}

/// An event, copied and acknowledged.
pub(super) struct Event {
    /// The id it is about.
    pub(super) id: *mut rdma_cm_id,
    /// `enum rdma_cm_event_type`.
    pub(super) kind: kinds::Type,
    /// 0, a negative errno, or for a rejection its reason.
    pub(super) status: i32,
    /// What a request carried.
    pub(super) private_data: Vec<u8>,
}

impl EventChannel {
    /// `rdma_create_event_channel`.
    pub(super) fn create() -> Result<EventChannel, CmError> {
        let failed = |source| CmError::Call {
            call: "rdma_create_event_channel",
            with: String::new(),
            advice: "load rdma_ucm (`modprobe rdma_ucm`), and in a container pass /dev/infiniband/rdma_cm in",
            source,
        };
        // SAFETY: takes nothing.
        let ptr = unsafe { rdma_create_event_channel() };
        if ptr.is_null() {
            return Err(failed(io::Error::last_os_error()));
        }
        let channel = EventChannel { ptr };
        let flags = fcntl_getfl(channel.fd()).map_err(|errno| failed(errno.into()))?;
        fcntl_setfl(channel.fd(), flags | OFlags::NONBLOCK).map_err(|errno| failed(errno.into()))?;
        Ok(channel)
    }

    /// The raw channel, for `rdma_create_id`.
    pub(super) fn as_ptr(&self) -> *mut rdma_event_channel {
        self.ptr
    }

    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is open as long as the channel, which self keeps.
        unsafe { BorrowedFd::borrow_raw((*self.ptr).fd) }
    }

    /// The next event; none if the deadline came first.
    pub(super) fn next(&self, deadline: Instant) -> Result<Option<Event>, CmError> {
        let failed =
            |call| move |source| CmError::Call { call, with: String::new(), advice: "see `dmesg`", source };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            match poll(&mut [PollFd::new(&self.fd(), PollFlags::IN)], Some(&timespec(left))) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(errno) => return Err(failed("poll")(errno.into())),
            }
            let mut event = ptr::null_mut();
            // SAFETY: a live channel and an out pointer.
            if unsafe { rdma_get_cm_event(self.ptr, &mut event) } == 0 {
                // SAFETY: an event just got and not yet acknowledged.
                return unsafe { take(event) }.map(Some).map_err(failed("rdma_ack_cm_event"));
            }
            match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => {}
                error => return Err(failed("rdma_get_cm_event")(error)),
            }
        }
    }
}

impl Drop for EventChannel {
    fn drop(&mut self) {
        // SAFETY: ids are dropped before their channel, and every event was acknowledged.
        unsafe { rdma_destroy_event_channel(self.ptr) };
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: duration.subsec_nanos().into() }
}

/// Copies what is needed of an event and acknowledges it.
///
/// # Safety
/// `event` comes from `rdma_get_cm_event` and was not acknowledged.
unsafe fn take(event: *mut rdma_cm_event) -> io::Result<Event> {
    // SAFETY: a live event (caller).
    let raw = unsafe { &*event };
    let private_data = match raw.event {
        kinds::RDMA_CM_EVENT_CONNECT_REQUEST => {
            // SAFETY: a request of the connected port space fills `conn`.
            let conn = unsafe { &raw.param.conn };
            match conn.private_data.is_null() {
                true => Vec::new(),
                // SAFETY: librdmacm says how long its private data is, and keeps it until the event is acknowledged.
                false => unsafe {
                    let bytes = conn.private_data.cast::<u8>();
                    std::slice::from_raw_parts(bytes, conn.private_data_len.into()).to_vec()
                },
            }
        }
        _ => Vec::new(),
    };
    let taken = Event { id: raw.id, kind: raw.event, status: raw.status, private_data };
    // SAFETY: as the caller's; nothing of it is used afterwards.
    match unsafe { rdma_ack_cm_event(event) } {
        0 => Ok(taken),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Event {
    /// The error of an event that was not due.
    pub(super) fn unexpected(&self, awaited: &'static str) -> CmError {
        CmError::Event { event: name(self.kind), awaited, why: self.why(), advice: self.advice() }
    }

    fn why(&self) -> String {
        match (self.kind, self.status) {
            (_, 0) => "no status".into(),
            (kinds::RDMA_CM_EVENT_REJECTED, 8) => "reason 8, nobody listens on that port".into(),
            (kinds::RDMA_CM_EVENT_REJECTED, 28) => "reason 28, rejected by the peer's program".into(),
            (kinds::RDMA_CM_EVENT_REJECTED, reason) => format!("reason {reason}"),
            (_, status) => io::Error::from_raw_os_error(status.saturating_abs()).to_string(),
        }
    }

    fn advice(&self) -> &'static str {
        match self.kind {
            kinds::RDMA_CM_EVENT_ADDR_ERROR => {
                "no RDMA device has the address or the route to it: see `ip route get` and `rdma link`"
            }
            kinds::RDMA_CM_EVENT_ROUTE_ERROR => {
                "on InfiniBand the subnet manager answers this: see that one runs"
            }
            kinds::RDMA_CM_EVENT_REJECTED => "the peer's messages say why",
            kinds::RDMA_CM_EVENT_UNREACHABLE | kinds::RDMA_CM_EVENT_CONNECT_ERROR => {
                "see that the peer answers ping from this address and that UDP 4791 passes"
            }
            kinds::RDMA_CM_EVENT_DEVICE_REMOVAL => "the device was removed, see `dmesg`",
            kinds::RDMA_CM_EVENT_DISCONNECTED => "the peer gave up: see its messages",
            _ => "use the same release on both sides",
        }
    }
}

/// Its name in rdma_cma.h.
fn name(kind: kinds::Type) -> String {
    // SAFETY: takes any number; returns a static string, also for one it does not know.
    unsafe { CStr::from_ptr(rdma_event_str(kind)) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unexpected(kind: kinds::Type, status: i32) -> String {
        let event = Event { id: ptr::null_mut(), kind, status, private_data: Vec::new() };
        event.unexpected("RDMA_CM_EVENT_ROUTE_RESOLVED").to_string()
    }

    #[test]
    fn an_event_that_was_not_due_is_named_with_its_errno_or_reason() {
        let text = unexpected(kinds::RDMA_CM_EVENT_ADDR_ERROR, -libc::ENODEV);
        assert!(
            text.starts_with(
                "rdma_cm: RDMA_CM_EVENT_ADDR_ERROR came where RDMA_CM_EVENT_ROUTE_RESOLVED was due: No such device"
            ),
            "{text}"
        );
        assert!(unexpected(kinds::RDMA_CM_EVENT_REJECTED, 8).contains("nobody listens"));
        assert!(unexpected(kinds::RDMA_CM_EVENT_REJECTED, 5).contains("reason 5"));
        assert!(unexpected(99, 0).contains("UNKNOWN EVENT"));
    }
}
