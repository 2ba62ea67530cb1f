//! Finds what names a host, its devices or its network in a text, word by word, and puts a token in its place.

use std::net::Ipv6Addr;

use super::{Redactor, address};

/// Prefixes of network devices that are named after their MAC.
const NAMED_AFTER_MAC: [&str; 3] = ["enx", "wlx", "wwx"];

/// What a text is looked through for, besides MACs, GIDs, GUIDs and UUIDs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// A text about the network: the host's name, and four numbers with dots are an IPv4 address.
    Network,
    /// Another text: the host's name, and four numbers with dots are a version.
    Text,
    /// A path of the kernel's: nothing more. A host may be called `node0`.
    Path,
}

/// The text with tokens.
pub(super) fn redacted(redactor: &Redactor, text: &str, of: Of) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.find(|c| !is_part_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        out.push_str(&redacted_word(redactor, word, of));
        let gap = after.find(is_part_of_word).unwrap_or(after.len());
        out.push_str(&after[..gap]);
        rest = &after[gap..];
    }
    if of == Of::Path {
        return out;
    }
    redactor.serials.iter().fold(out, |text, serial| {
        text.replace(serial.as_str(), &format!("serial-{}", redactor.key.hex("serial", serial.as_bytes(), 8)))
    })
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-' | '_')
}

/// A word, with the dots and colons around it left as they are.
fn redacted_word(redactor: &Redactor, word: &str, of: Of) -> String {
    let core = word.trim_end_matches(['.', ':', '-']);
    let tail = &word[core.len()..];
    // An IPv6 address may end in colons.
    if tail.starts_with("::") && word.parse::<Ipv6Addr>().is_ok() {
        return token(redactor, word, of).unwrap_or_else(|| word.to_owned());
    }
    match token(redactor, core, of) {
        Some(token) => token + tail,
        None if core.contains(':') => {
            // `ip=10.0.0.2::10.0.0.1:255.255.255.0:node-a:eth0`, `10.0.0.1:4791`
            let parts =
                core.split(':').map(|part| token(redactor, part, of).unwrap_or_else(|| part.to_owned()));
            parts.collect::<Vec<_>>().join(":") + tail
        }
        None => word.to_owned(),
    }
}

/// What stands for a word; none if it gives nothing away.
fn token(redactor: &Redactor, word: &str, of: Of) -> Option<String> {
    let key = &redactor.key;
    if let Some(mac) = groups::<6>(word, ':', 2).or_else(|| groups::<6>(word, '-', 2)) {
        let separator = if word.contains(':') { ":" } else { "-" };
        return Some(joined(&address::mac(key, mac), 1, separator));
    }
    if let Some(guid) = groups::<8>(word, ':', 4) {
        return Some(joined(&address::guid(key, guid), 2, ":"));
    }
    if let Some(gid) = groups::<16>(word, ':', 4) {
        let made = address::v6(key, u128::from_be_bytes(gid)).to_be_bytes();
        return Some(joined(&made, 2, ":"));
    }
    if let Some(guid) = word.strip_prefix("0x").and_then(|digits| groups::<8>(digits, ':', 16)) {
        return Some(format!("0x{}", joined(&address::guid(key, guid), 8, "")));
    }
    if word.contains(':')
        && let Ok(ip) = word.parse::<Ipv6Addr>()
    {
        return Some(Ipv6Addr::from(address::v6(key, ip.into())).to_string());
    }
    if of == Of::Network
        && let Ok(ip) = word.parse::<std::net::Ipv4Addr>()
    {
        let bits = u32::from(ip);
        let is_mask = bits.leading_ones() + bits.trailing_zeros() >= 32;
        return (!is_mask).then(|| std::net::Ipv4Addr::from(address::v4(key, bits)).to_string());
    }
    uuid(redactor, word)
        .or_else(|| named_after_mac(redactor, word))
        .or_else(|| if of == Of::Path { None } else { host_name(redactor, word) })
}

/// `00000000-4ea0-4000-8000-000000000001`
fn uuid(redactor: &Redactor, word: &str) -> Option<String> {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    let is_one = lengths == [8, 4, 4, 4, 12] && word.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    is_one.then(|| {
        let digits = redactor.key.hex("uuid", word.to_ascii_lowercase().as_bytes(), 32);
        [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| digits[part].to_owned()).join("-")
    })
}

/// `enxac1f6b00c101`
fn named_after_mac(redactor: &Redactor, word: &str) -> Option<String> {
    let prefix = NAMED_AFTER_MAC.iter().find(|prefix| word.starts_with(**prefix))?;
    let mac = groups::<6>(&word[prefix.len()..], ':', 12)?;
    Some(format!("{prefix}{}", joined(&address::mac(&redactor.key, mac), 6, "")))
}

fn host_name(redactor: &Redactor, word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let is_one = redactor.names.iter().any(|name| {
        lower == *name || lower.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.'))
    }) || redactor.domain.as_ref().is_some_and(|domain| lower.ends_with(domain.as_str()));
    let short = lower.split('.').next().unwrap_or_default();
    is_one.then(|| format!("host-{}", redactor.key.hex("host", short.as_bytes(), 8)))
}

/// The bytes of a word of hexadecimal groups of this many digits.
fn groups<const BYTES: usize>(word: &str, separator: char, digits: usize) -> Option<[u8; BYTES]> {
    if word.len() != BYTES * 2 + (BYTES * 2 / digits - 1) || !word.is_ascii() {
        return None;
    }
    let hex: String = word
        .split(separator)
        .map(|group| (group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit())).then_some(group))
        .collect::<Option<_>>()?;
    let mut bytes = [0; BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

fn joined(bytes: &[u8], group: usize, separator: &str) -> String {
    let groups =
        bytes.chunks(group).map(|chunk| chunk.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    groups.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::with_key([3; 32], "Node-A.lab.example", vec!["SN-004711".into()])
    }

    fn of(text: &str) -> String {
        redacted(&redactor(), text, Of::Network)
    }

    #[test]
    fn what_identifies_is_replaced_in_its_own_shape() {
        for (secret, digits) in [
            ("ac:1f:6b:00:c1:01", 17),
            ("ae1f:6bff:fe00:c101", 19),
            ("fe80:0000:0000:0000:ae1f:6bff:fe00:c101", 39),
            ("1a2b3c4d-0000-4000-8000-000000000001", 36),
            ("enxac1f6b00c101", 15),
            ("0xae1f6bfffe00c101", 18),
        ] {
            let made = of(secret);
            assert_ne!(made, secret);
            assert_eq!(made.len(), digits, "{made}");
            assert_eq!(of(&format!("a {secret}, b")), format!("a {made}, b"));
        }
        for secret in
            ["node-a", "NODE-A.lab.example", "other.lab.example", "SN-004711", "192.0.2.7", "fe80::1:2"]
        {
            assert!(!of(&format!("x={secret}:")).contains(secret), "{secret}: {}", of(secret));
        }
    }

    #[test]
    fn what_does_not_stays() {
        for text in [
            "mlx5_comp0@pci:0000:c1:00.0",
            "[    6.102480] mlx5_core 0000:c1:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)",
            "CapEff:\t000001ffffffffff",
            "ip=none netmask 255.255.255.0 0.0.0.0 127.0.0.1 :: ::1",
            "model-node-ab 12:34:56",
        ] {
            assert_eq!(of(text), text);
        }
        assert_eq!(redacted(&redactor(), "8.30.0.1", Of::Text), "8.30.0.1");
    }

    #[test]
    fn an_ip_word_of_the_command_line_is_taken_apart() {
        let made = of("ip=192.0.2.7::192.0.2.1:255.255.255.0:node-a:eth0:off");
        assert!(!made.contains("192.0.2") && !made.contains("node-a"), "{made}");
        assert!(made.contains(":255.255.255.0:") && made.ends_with(":eth0:off"), "{made}");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_a_second_pass_keeps_the_shape(text in "[-0-9a-f:. xen]{0,60}") {
            let once = of(&text);
            prop_assert_eq!(once.split_whitespace().count(), text.split_whitespace().count());
        }

        #[test]
        fn nothing_but_words_is_touched(text in "(?s)[^0-9A-Za-z]{0,40}") {
            prop_assert_eq!(of(&text), text);
        }
    }
}
