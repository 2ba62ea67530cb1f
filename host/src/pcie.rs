//! PCIe: the links from a device up to its root port, and the device control register in its configuration space.
//!
//! Without root the kernel shows the first 64 bytes of the configuration space, which hold the start of the list of
//! capabilities and seldom the PCIe one; that is unreadable, not zero.

use crate::{sysroot::Sysroot, value::Value};

/// Offsets and ids of the PCI local bus and PCI Express base specifications, as named in linux/pci_regs.h.
const STATUS: usize = 0x06;
const STATUS_HAS_CAPABILITIES: u16 = 0x10;
const CAPABILITY_LIST: usize = 0x34;
const CAPABILITY_ID_EXPRESS: u8 = 0x10;
const EXPRESS_DEVICE_CONTROL: usize = 0x08;
/// Capabilities lie behind the header (PCI_STD_HEADER_SIZEOF).
const HEADER_BYTES: usize = 0x40;
/// More capabilities than fit between the header and byte 256 mean a loop.
const MOST_CAPABILITIES: usize = 48;

/// The device control register of a PCIe function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceControl {
    /// Where it lies in the configuration space.
    pub offset: usize,
    /// Its 16 bits.
    pub bits: u16,
}

impl DeviceControl {
    /// Largest payload of a packet it sends, in bytes.
    pub fn max_payload_bytes(self) -> u32 {
        128 << (self.bits >> 5 & 7)
    }

    /// Largest read it requests, in bytes.
    pub fn max_read_request_bytes(self) -> u32 {
        128 << (self.bits >> 12 & 7)
    }

    /// Whether it may set the relaxed-ordering attribute.
    pub fn relaxed_ordering(self) -> bool {
        self.bits & 1 << 4 != 0
    }

    /// Whether it may use 8-bit tags.
    pub fn extended_tag(self) -> bool {
        self.bits & 1 << 8 != 0
    }

    /// The register with another size of read requests; none if the size has no encoding.
    pub fn with_max_read_request(self, bytes: u32) -> Option<DeviceControl> {
        let code = (0..6).find(|code| 128_u32 << code == bytes)?;
        Some(DeviceControl { bits: self.bits & !(7 << 12) | code << 12, ..self })
    }
}

/// Speed and width of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkState {
    /// Megatransfers per second and lane.
    pub mega_transfers: u32,
    /// Lanes.
    pub lanes: u32,
}

impl LinkState {
    /// What it carries after line coding, in Mb/s, by the kernel's arithmetic: 8b/10b up to 5 GT/s, 128b/130b up to 32,
    /// none above.
    pub fn megabits_per_sec(self) -> u64 {
        let (mega_transfers, lanes) = (u64::from(self.mega_transfers), u64::from(self.lanes));
        let per_lane = match self.mega_transfers {
            0..=5_000 => mega_transfers * 8 / 10,
            5_001..=32_000 => mega_transfers * 128 / 130,
            _ => mega_transfers,
        };
        per_lane * lanes
    }
}

impl std::fmt::Display for LinkState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} GT/s x{}", self.mega_transfers / 1000, self.mega_transfers % 1000 / 100, self.lanes)
    }
}

/// The link of a function towards the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// As it runs.
    pub current: Value<LinkState>,
    /// The best it can.
    pub best: Value<LinkState>,
}

/// The link that limits a device on its way to the root port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bottleneck {
    /// As it runs.
    pub current: LinkState,
    /// What both its ends can.
    pub possible: LinkState,
}

/// Of the links between these functions ([`upwards`]), the first that runs below what both its ends can, else the slowest; none
/// where the kernel shows no link, or for a device that is not on PCI.
pub fn bottleneck(sysroot: &Sysroot, way: &[Function]) -> Option<Bottleneck> {
    let links: Vec<Link> = way.iter().map(|function| link(sysroot, &function.folder)).collect();
    let below = |n: usize| {
        let current = links.get(n)?.current.as_ref().known().copied()?;
        let best = |n: usize| links.get(n).and_then(|link| link.best.as_ref().known().copied());
        let ends = [best(n), best(n + 1)].into_iter().flatten();
        let possible = ends.reduce(|one, other| LinkState {
            mega_transfers: one.mega_transfers.min(other.mega_transfers),
            lanes: one.lanes.min(other.lanes),
        });
        Some(Bottleneck { current, possible: possible.unwrap_or(current) })
    };
    // The root port is the upper end of the last link, not the lower end of another.
    let all: Vec<Bottleneck> = (0..way.len().max(2) - 1).filter_map(below).collect();
    let trained_down = |link: &&Bottleneck| {
        link.current.mega_transfers < link.possible.mega_transfers || link.current.lanes < link.possible.lanes
    };
    let slowest = || all.iter().min_by_key(|link| link.current.megabits_per_sec());
    all.iter().find(trained_down).or_else(slowest).copied()
}

/// A PCI function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its address, for example `0000:c1:00.0`.
    pub address: String,
    /// Its folder of sysfs, written as on the host.
    pub folder: String,
}

/// The functions on the way from the device behind a folder of sysfs up to the root port, itself first; empty for a device
/// that is not on PCI.
pub fn upwards(sysroot: &Sysroot, folder: &str) -> Value<Vec<Function>> {
    sysroot.resolve(folder).map(|path| {
        let ends = path.match_indices('/').map(|(at, _)| at).skip(1).chain([path.len()]);
        let mut functions: Vec<Function> = ends
            .filter_map(|end| {
                let address = path[..end].rsplit('/').next()?;
                is_address(address)
                    .then(|| Function { address: address.to_owned(), folder: path[..end].to_owned() })
            })
            .collect();
        functions.reverse();
        functions
    })
}

/// `0000:c1:00.0`; domains of virtual buses have up to eight digits.
pub fn is_address(text: &str) -> bool {
    let mut parts = text.split([':', '.']);
    let mut hex = |digits: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| {
            digits.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let shaped = hex(4..=8) && hex(2..=2) && hex(2..=2) && hex(1..=1);
    shaped && parts.next().is_none() && text.matches(':').count() == 2
}

/// The link of the function with this folder.
pub fn link(sysroot: &Sysroot, folder: &str) -> Link {
    let state = |which: &str| {
        let speed = sysroot.read(format!("{folder}/{which}_link_speed")).parse(|text| parse_speed(&text));
        let lanes = sysroot.read(format!("{folder}/{which}_link_width")).parse(|text| parse_width(&text));
        speed.and_then(|mega_transfers| lanes.map(|lanes| LinkState { mega_transfers, lanes }))
    };
    Link { current: state("current"), best: state("max") }
}

/// The device control register of a function, from its configuration space.
pub fn device_control(sysroot: &Sysroot, config: &str) -> Value<DeviceControl> {
    sysroot
        .read_bytes(config)
        .parse(|bytes| parse_device_control(&bytes).map_err(|why| format!("{config}: {why}")))
}

/// Walks the list of capabilities; its offsets are nowhere fixed.
fn parse_device_control(config: &[u8]) -> Result<DeviceControl, String> {
    let byte = |at: usize| config.get(at).copied();
    let word = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    let short = || match config.len() {
        0..=64 => "64 bytes of it can be read; the rest takes root".to_owned(),
        bytes => format!("it ends after {bytes} bytes, within a capability"),
    };
    if !config.is_empty() && config.iter().take(64).all(|&byte| byte == 0xff) {
        return Err("all ones: the device does not answer".into());
    }
    if word(STATUS).ok_or_else(short)? & STATUS_HAS_CAPABILITIES == 0 {
        return Err("it has no list of capabilities".into());
    }
    let mut at = usize::from(byte(CAPABILITY_LIST).ok_or_else(short)? & !3);
    for _ in 0..MOST_CAPABILITIES {
        if at == 0 {
            return Err("no PCI Express capability".into());
        }
        if at < HEADER_BYTES {
            return Err(format!("its list of capabilities leads to {at:#x}, into the header"));
        }
        if byte(at).ok_or_else(short)? == CAPABILITY_ID_EXPRESS {
            let offset = at + EXPRESS_DEVICE_CONTROL;
            return Ok(DeviceControl { offset, bits: word(offset).ok_or_else(short)? });
        }
        at = usize::from(byte(at + 1).ok_or_else(short)? & !3);
    }
    Err("its list of capabilities is a loop".into())
}

/// `16.0 GT/s PCIe`, `8 GT/s`, `2.5 GT/s`.
fn parse_speed(text: &str) -> Result<u32, String> {
    let number = text.split_whitespace().next().filter(|_| text.contains("GT/s"));
    let giga: Option<f64> = number.and_then(|number| number.parse().ok());
    match giga {
        Some(giga) if (0.1..1000.0).contains(&giga) => Ok((giga * 1000.0).round() as u32),
        _ => Err(format!("link speed `{text}` is not in GT/s")),
    }
}

fn parse_width(text: &str) -> Result<u32, String> {
    match text.trim_start_matches('x').parse() {
        Ok(lanes @ 1..=32) => Ok(lanes),
        _ => Err(format!("link width `{text}` is no number of lanes")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{fixture, testing_tree::tree};

    /// A configuration space whose list goes MSI-X at 0x9c, then PCIe at 0x60, with this device control.
    fn config(control: u16) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[STATUS] = 0x10;
        bytes[CAPABILITY_LIST] = 0x9c;
        (bytes[0x9c], bytes[0x9d]) = (0x11, 0x60);
        bytes[0x60] = CAPABILITY_ID_EXPRESS;
        bytes[0x68..0x6a].copy_from_slice(&control.to_le_bytes());
        bytes
    }

    #[test]
    fn the_register_is_found_by_walking_the_list() {
        // MaxReadReq 4096, MaxPayload 256, RlxdOrd+.
        let control = parse_device_control(&config(0x5030)).expect("a register");
        assert_eq!((control.max_read_request_bytes(), control.max_payload_bytes()), (4096, 256));
        assert_eq!((control.relaxed_ordering(), control.extended_tag(), control.offset), (true, false, 0x68));
        let smaller = control.with_max_read_request(512).expect("512 has a code");
        assert_eq!((smaller.bits, smaller.max_payload_bytes()), (0x2030, 256));
        assert_eq!(control.with_max_read_request(500), None);
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        let fault = |bytes: &[u8]| parse_device_control(bytes).expect_err("no register");
        assert!(fault(&config(0)[..64]).contains("root"));
        assert!(fault(&[0xff; 256]).contains("does not answer"));
        assert!(fault(&[0; 256]).contains("no list"));
        let mut looped = config(0);
        looped[0x9d] = 0x9c;
        assert!(fault(&looped).contains("loop"));
        // What stands in the header is no capability, whatever its bytes: found by the fuzzer.
        let mut inside = config(0);
        (inside[CAPABILITY_LIST], inside[0x10]) = (0x10, CAPABILITY_ID_EXPRESS);
        assert!(fault(&inside).contains("into the header"));
    }

    #[test]
    fn the_bottleneck_is_the_link_that_trained_to_less_else_the_slowest() {
        // Device, switch, root port; each with current speed and width, then the best it can.
        let of = |functions: [[&str; 4]; 3]| {
            let files = ["current_link_speed", "current_link_width", "max_link_speed", "max_link_width"];
            let paths: Vec<(String, String)> = (0..3)
                .flat_map(|n| {
                    (0..4).map(move |file| {
                        (format!("/d{n}/{}", files[file]), format!("{}\n", functions[n][file]))
                    })
                })
                .collect();
            let paths: Vec<(&str, &str)> =
                paths.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
            let (_dir, host) = tree(&paths);
            let way: Vec<Function> =
                (0..3).map(|n| Function { address: String::new(), folder: format!("/d{n}") }).collect();
            let found = bottleneck(&host, &way).expect("a link");
            (found.current.to_string(), found.possible.to_string())
        };
        let (four, three) = ("16.0 GT/s PCIe", "8.0 GT/s PCIe");
        let whole = of([[four, "16", four, "16"], [four, "16", four, "16"], ["Unknown", "0", four, "16"]]);
        assert_eq!(whole, ("16.0 GT/s x16".into(), "16.0 GT/s x16".into()));
        // The slot can no more than this: slow, and as it should be.
        let slot = of([[three, "8", four, "16"], [four, "16", three, "8"], [four, "16", four, "16"]]);
        assert_eq!(slot, ("8.0 GT/s x8".into(), "8.0 GT/s x8".into()));
        // Above it a link has lost lanes, and still carries more.
        let lost = of([[three, "8", four, "16"], [four, "8", three, "16"], [four, "16", four, "16"]]);
        assert_eq!(lost, ("8.0 GT/s x8".into(), "8.0 GT/s x16".into()));
        let above = of([[three, "8", three, "8"], [four, "8", four, "16"], [four, "16", four, "16"]]);
        assert_eq!(above, ("16.0 GT/s x8".into(), "16.0 GT/s x16".into()));
        assert_eq!(bottleneck(&tree(&[("/x", "")]).1, &[]), None);
    }

    #[test]
    fn speeds_in_every_spelling() {
        for (text, mega_transfers) in [
            ("16.0 GT/s PCIe", 16_000),
            ("8 GT/s", 8_000),
            ("2.5 GT/s PCIe", 2_500),
            ("64.0 GT/s PCIe", 64_000),
        ] {
            assert_eq!(parse_speed(text), Ok(mega_transfers));
        }
        assert!(parse_speed("Unknown").is_err() && parse_width("0").is_err() && parse_width("255").is_err());
        assert_eq!((parse_width("16"), parse_width("x8")), (Ok(16), Ok(8)));
    }

    #[test]
    fn a_link_carries_what_the_kernel_says() {
        let rate = |mega_transfers, lanes| LinkState { mega_transfers, lanes }.megabits_per_sec();
        assert_eq!(rate(8_000, 8), 63_008, "63.008 Gb/s, as the kernel's log has it");
        assert_eq!(rate(8_000, 16), 126_016);
        assert_eq!(rate(16_000, 16), 252_048);
        assert_eq!(rate(32_000, 16), 504_112);
        assert_eq!(rate(2_500, 1), 2_000);
        assert_eq!(LinkState { mega_transfers: 2_500, lanes: 1 }.to_string(), "2.5 GT/s x1");
    }

    #[test]
    fn the_way_up_ends_at_the_root_port() {
        let host = fixture("two-socket-mlx5");
        let way = upwards(&host, "/sys/class/infiniband/mlx5_0/device").known().expect("a way");
        let addresses: Vec<&str> = way.iter().map(|function| function.address.as_str()).collect();
        assert_eq!(addresses, ["0000:c1:00.0", "0000:c0:01.1"]);
        assert_eq!(way[1].folder, "/sys/devices/pci0000:c0/0000:c0:01.1");
        assert!(is_address("10000:e1:00.0") && !is_address("pci0000:c0") && !is_address("0000:c1:00"));
    }

    #[test]
    fn a_link_of_unknown_speed_is_unreadable() {
        let (_dir, host) = tree(&[("/d/current_link_speed", "Unknown\n"), ("/d/current_link_width", "0\n")]);
        let link = link(&host, "/d");
        assert!(matches!(link.current, Value::Unreadable(_)));
        assert_eq!(link.best, Value::Absent);
    }

    proptest! {
        #[test]
        fn no_configuration_space_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(control) = parse_device_control(&bytes) {
                prop_assert!(control.max_payload_bytes() >= 128 && control.max_read_request_bytes() <= 16_384);
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,30}") {
            let _ = (parse_speed(&text), parse_width(&text), is_address(&text));
        }
    }
}
