//! Netlink messages of data centre bridging: a header of 16 bytes, four bytes of DCB, then attributes of type, length and
//! value, each padded to four bytes. Nothing an answer says is believed before its length is checked.

use std::io;

use super::model::{App, CLASSES, Dcb, Dcbx, Ets, Pfc, selection, selector};

const RTM_GETDCB: u16 = 78;
const RTM_SETDCB: u16 = 79;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;

const CMD_IEEE_SET: u8 = 20;
const CMD_IEEE_GET: u8 = 21;
const CMD_GDCBX: u8 = 22;

const ATTR_IFNAME: u16 = 1;
const ATTR_IEEE: u16 = 13;
const ATTR_DCBX: u16 = 14;
const IEEE_ETS: u16 = 1;
const IEEE_PFC: u16 = 2;
const IEEE_APP_TABLE: u16 = 3;

/// Flags in an attribute's type: nested, network byte order.
const TYPE_MASK: u16 = 0x3fff;
/// nlmsghdr.
const HEADER_BYTES: usize = 16;
/// dcbmsg.
const DCB_BYTES: usize = 4;
/// Our one request on a socket.
const SEQUENCE: u32 = 1;

/// struct ieee_pfc: three bytes, a hole, the delay, a hole of two, and 8 + 8 counters.
const PFC_BYTES: usize = 8 + 2 * CLASSES * 8;
/// struct ieee_ets: three bytes and seven tables.
const ETS_BYTES: usize = 3 + 7 * CLASSES;

/// Asks for everything of IEEE 802.1Qaz.
pub(super) fn get_ieee(netdev: &str) -> Vec<u8> {
    build(RTM_GETDCB, CMD_IEEE_GET, netdev, &[])
}

/// Asks who decides.
pub(super) fn get_dcbx(netdev: &str) -> Vec<u8> {
    build(RTM_GETDCB, CMD_GDCBX, netdev, &[])
}

/// Sets priority flow control.
pub(super) fn set_pfc(netdev: &str, pfc: &Pfc) -> Vec<u8> {
    let mut value = vec![0; PFC_BYTES];
    value[0] = pfc.classes;
    value[1] =
        pfc.enabled.iter().filter(|priority| **priority < 8).fold(0, |bits, priority| bits | 1 << priority);
    value[2] = u8::from(pfc.mbc);
    value[4..6].copy_from_slice(&pfc.delay.to_ne_bytes());
    let nested = attribute(ATTR_IEEE, &attribute(IEEE_PFC, &value));
    build(RTM_SETDCB, CMD_IEEE_SET, netdev, &nested)
}

fn build(kind: u16, command: u8, netdev: &str, rest: &[u8]) -> Vec<u8> {
    let mut name = netdev.as_bytes().to_vec();
    name.push(0);
    let mut body = vec![0, command, 0, 0];
    body.extend(attribute(ATTR_IFNAME, &name));
    body.extend(rest);
    let mut message = Vec::with_capacity(HEADER_BYTES + body.len());
    message.extend(((HEADER_BYTES + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    message.extend(SEQUENCE.to_ne_bytes());
    message.extend(0u32.to_ne_bytes());
    message.extend(body);
    message
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 + value.len().next_multiple_of(4));
    bytes.extend(((4 + value.len()) as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The attributes of the answer to our request among what came in; none if it is not there yet. An error message is its
/// errno.
pub(super) fn payload(mut bytes: &[u8]) -> io::Result<Option<&[u8]>> {
    while let Some(length) = u32_at(bytes, 0) {
        let length = length as usize;
        let (Some(kind), Some(sequence)) = (u16_at(bytes, 4), u32_at(bytes, 8)) else { break };
        if length < HEADER_BYTES || length > bytes.len() {
            return Err(malformed("a netlink message's length"));
        }
        if sequence == SEQUENCE {
            match kind {
                NLMSG_ERROR => {
                    let code = u32_at(&bytes[..length], HEADER_BYTES).ok_or_else(|| malformed("an error"))?;
                    // The kernel's errnos are negative; 0 is a bare acknowledgement, which we never ask for.
                    return Err(io::Error::from_raw_os_error((code as i32).saturating_neg()));
                }
                RTM_GETDCB | RTM_SETDCB => {
                    return match bytes[..length].get(HEADER_BYTES + DCB_BYTES..) {
                        Some(payload) => Ok(Some(payload)),
                        None => Err(malformed("a DCB message's length")),
                    };
                }
                _ => {}
            }
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(None)
}

/// What the answer to [`get_ieee`] says; who decides is another question.
pub(super) fn parse_ieee(payload: &[u8]) -> io::Result<Dcb> {
    let mut dcb = Dcb::default();
    for (kind, value) in attributes(payload) {
        if kind != ATTR_IEEE {
            continue;
        }
        for (kind, value) in attributes(value) {
            match kind {
                IEEE_PFC => dcb.pfc = Some(parse_pfc(value).ok_or_else(|| malformed("the PFC attribute"))?),
                IEEE_ETS => dcb.ets = Some(parse_ets(value).ok_or_else(|| malformed("the ETS attribute"))?),
                IEEE_APP_TABLE => {
                    dcb.apps = attributes(value).filter_map(|(_, app)| parse_app(app)).collect()
                }
                _ => {}
            }
        }
    }
    Ok(dcb)
}

/// What the answer to [`get_dcbx`] says.
pub(super) fn parse_dcbx(payload: &[u8]) -> io::Result<Option<Dcbx>> {
    let found = attributes(payload).find(|(kind, _)| *kind == ATTR_DCBX);
    match found {
        None => Ok(None),
        Some((_, [flags, ..])) => Ok(Some(Dcbx::from_flags(*flags))),
        Some(_) => Err(malformed("the DCBX attribute")),
    }
}

/// Whether the answer to a change is a success: it carries the negative errno in one byte.
pub(super) fn parse_set(payload: &[u8]) -> io::Result<()> {
    match attributes(payload).find(|(kind, _)| *kind == ATTR_IEEE) {
        Some((_, [0, ..])) => Ok(()),
        Some((_, [code, ..])) => Err(io::Error::from_raw_os_error(-i32::from(*code as i8))),
        _ => Err(malformed("the answer to a change")),
    }
}

fn parse_pfc(value: &[u8]) -> Option<Pfc> {
    let value = value.get(..PFC_BYTES)?;
    let enabled = value[1];
    let counters = |from: usize| {
        value[from..from + 8 * CLASSES]
            .chunks_exact(8)
            .map(|eight| u64::from_ne_bytes(eight.try_into().unwrap_or_default()))
    };
    Some(Pfc {
        classes: value[0],
        enabled: (0..8).filter(|priority| enabled & (1 << priority) != 0).collect(),
        mbc: value[2] != 0,
        delay: u16_at(value, 4)?,
        requests: counters(8).collect(),
        indications: counters(8 + 8 * CLASSES).collect(),
    })
}

fn parse_ets(value: &[u8]) -> Option<Ets> {
    let tables = value.get(..ETS_BYTES)?.get(3..)?;
    let table = |n: usize| tables[n * CLASSES..(n + 1) * CLASSES].to_vec();
    Some(Ets {
        class_percent: table(0),
        class_selection: table(2).into_iter().map(selection).collect(),
        priority_class: table(3),
    })
}

fn parse_app(value: &[u8]) -> Option<App> {
    Some(App { selector: selector(*value.first()?), priority: *value.get(1)?, protocol: u16_at(value, 2)? })
}

/// Type and value of each attribute, up to the first whose length can't be.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the kernel's answer: {what} makes no sense"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a kernel answers to `get_ieee`: header, dcbmsg, name, and the nest.
    fn answer(nest: &[u8]) -> Vec<u8> {
        build(RTM_GETDCB, CMD_IEEE_GET, "ens1np0", &attribute(ATTR_IEEE | 0x8000, nest))
    }

    #[test]
    fn what_is_set_reads_back() {
        let pfc = Pfc {
            classes: 8,
            enabled: vec![3, 5],
            mbc: false,
            delay: 7,
            requests: vec![0; 8],
            indications: vec![0; 8],
        };
        let request = set_pfc("ens1np0", &pfc);
        assert_eq!(request.len(), u32_at(&request, 0).expect("a length") as usize);
        let dcb = parse_ieee(payload(&request).expect("parsed").expect("ours")).expect("a DCB answer");
        assert_eq!(dcb.pfc, Some(pfc));
    }

    #[test]
    fn tables_are_read_in_the_kernels_order() {
        let mut ets = vec![0, 8, 0];
        for table in
            [[50u8, 0, 0, 50, 0, 0, 0, 0], [0; 8], [2, 0, 0, 2, 0, 0, 255, 7], [0, 0, 0, 3, 0, 0, 6, 0]]
        {
            ets.extend(table);
        }
        ets.extend([0; 24]);
        let app = [5, 3, 26, 0];
        let mut nest = attribute(IEEE_ETS, &ets);
        nest.extend(attribute(IEEE_APP_TABLE, &attribute(1, &app)));
        let message = answer(&nest);
        let dcb = parse_ieee(payload(&message).expect("parsed").expect("ours")).expect("a DCB answer");
        let ets = dcb.ets.expect("ETS");
        assert_eq!(ets.priority_class, [0, 0, 0, 3, 0, 0, 6, 0]);
        assert_eq!(ets.class_percent, [50, 0, 0, 50, 0, 0, 0, 0]);
        assert_eq!(
            ets.class_selection,
            ["ets", "strict", "strict", "ets", "strict", "strict", "vendor", "7"]
        );
        if cfg!(target_endian = "little") {
            assert_eq!(dcb.apps, [App { selector: "dscp".into(), protocol: 26, priority: 3 }]);
        }
    }

    #[test]
    fn an_errno_comes_back_from_the_error_message_and_from_the_answer_to_a_change() {
        let mut refused = build(NLMSG_ERROR, 0, "x", &[]);
        refused[HEADER_BYTES..HEADER_BYTES + 4].copy_from_slice(&(-95i32).to_ne_bytes());
        assert_eq!(payload(&refused).expect_err("refused").raw_os_error(), Some(95));
        assert!(parse_set(&attribute(ATTR_IEEE, &[0])).is_ok());
        let no = parse_set(&attribute(ATTR_IEEE, &[(-22i8) as u8])).expect_err("EINVAL");
        assert_eq!(no.raw_os_error(), Some(22));
        assert!(parse_set(&[]).is_err());
    }

    #[test]
    fn who_decides_is_in_the_flags() {
        let dcbx = parse_dcbx(&attribute(ATTR_DCBX, &[0x0d])).expect("parsed").expect("flags");
        assert_eq!(dcbx, Dcbx { host: true, lld_managed: false, cee: true, ieee: true, fixed: false });
        assert_eq!(parse_dcbx(&[]).expect("parsed"), None);
    }

    proptest! {
        #[test]
        fn no_answer_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(Some(payload)) = payload(&bytes) {
                let _ = (parse_ieee(payload).is_ok(), parse_dcbx(payload).is_ok(), parse_set(payload).is_ok());
            }
            let _ = (parse_ieee(&bytes).is_ok(), parse_dcbx(&bytes).is_ok(), parse_set(&bytes).is_ok());
        }

        #[test]
        fn no_changed_answer_panics(at in 0usize..300, to in any::<u8>(), cut in 0usize..400) {
            let mut nest = attribute(IEEE_PFC, &[1; PFC_BYTES]);
            nest.extend(attribute(IEEE_ETS, &[2; ETS_BYTES]));
            nest.extend(attribute(IEEE_APP_TABLE, &attribute(1, &[5, 3, 26, 0])));
            let mut message = answer(&nest);
            let length = message.len();
            message[at % length] = to;
            message.truncate(cut);
            if let Ok(Some(payload)) = payload(&message) {
                let _ = parse_ieee(payload);
            }
        }
    }
}
