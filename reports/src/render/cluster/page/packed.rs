//! Numbers of a page in little room: columns of binary numbers, compressed, as base64. As text a quarter of a million pairs would
//! be several times as large, and slow to read.
//!
//! A number keeps 12 binary digits behind its first: it is right to 0.013 %, where a histogram keeps 0.1 %. The bytes of a column
//! are stored by their place, the first bytes of all numbers before the second ones, which compresses better.

use std::io::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use flate2::{Compression, write::ZlibEncoder};
use serde::Serialize;

/// Bits at the end of a 32-bit float that are rounded away.
const ROUNDED: u32 = 11;
/// Bytes of a float that are kept; the last one is zero.
const FLOAT_BYTES: usize = 3;

/// How the script finds a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    /// Where it begins, in bytes.
    at: usize,
    /// Numbers in it.
    length: usize,
    /// Bytes of a number.
    bytes: usize,
    /// Whether they are the first bytes of floats, in which no number is not-a-number, or whole numbers.
    float: bool,
}

/// Columns one after the other.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// A column of numbers, some of which may be missing.
    pub(super) fn floats(&mut self, numbers: impl Iterator<Item = Option<f64>>) -> Column {
        let bits: Vec<u32> = numbers.map(|number| number.map_or(f32::NAN.to_bits(), rounded)).collect();
        self.column(&bits, FLOAT_BYTES, true)
    }

    /// A column of whole numbers, in as few bytes as the largest needs.
    pub(super) fn integers(&mut self, numbers: impl Iterator<Item = u32>) -> Column {
        let numbers: Vec<u32> = numbers.collect();
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let bytes = (4 - largest.leading_zeros() as usize / 8).max(1);
        let shifted: Vec<u32> = numbers.iter().map(|number| number << (32 - 8 * bytes)).collect();
        self.column(&shifted, bytes, false)
    }

    /// The first bytes of the numbers, then the second ones, and so on.
    fn column(&mut self, numbers: &[u32], bytes: usize, float: bool) -> Column {
        let column = Column { at: self.bytes.len(), length: numbers.len(), bytes, float };
        for place in 0..bytes {
            self.bytes.extend(numbers.iter().map(|number| number.to_be_bytes()[place]));
        }
        column
    }

    /// All columns, as text.
    pub(super) fn text(&self) -> String {
        let mut compressed = ZlibEncoder::new(Vec::new(), Compression::default());
        let written = compressed.write_all(&self.bytes).and_then(|()| compressed.finish());
        BASE64.encode(written.expect("memory takes all bytes"))
    }
}

/// The bits of a number without the last ones, to the nearest.
fn rounded(number: f64) -> u32 {
    let bits = (number as f32).to_bits();
    (bits + (1 << (ROUNDED - 1))) & !((1 << ROUNDED) - 1)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    /// As the script reads it.
    fn read(text: &str, column: Column) -> Vec<u32> {
        let mut bytes = Vec::new();
        flate2::read::ZlibDecoder::new(&BASE64.decode(text).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        let byte = |n: usize, place: usize| bytes[column.at + place * column.length + n];
        (0..column.length)
            .map(|n| (0..column.bytes).fold(0, |number, place| number << 8 | u32::from(byte(n, place))))
            .collect()
    }

    proptest! {
        #[test]
        fn numbers_come_back_to_a_seventieth_of_a_percent(
            numbers in prop::collection::vec(prop::option::of(prop_oneof![-1e12f64..-1e-6, Just(0.0), 1e-6..1e12]), 0..50),
            whole in prop::collection::vec(any::<u32>(), 0..50),
        ) {
            let mut packed = Packed::default();
            let first = packed.floats(numbers.iter().copied());
            let second = packed.integers(whole.iter().copied());
            let text = packed.text();
            for (asked, bits) in numbers.iter().zip(read(&text, first)) {
                let kept = f64::from(f32::from_bits(bits << 8));
                match asked {
                    None => prop_assert!(kept.is_nan()),
                    Some(asked) => prop_assert!((kept - asked).abs() <= asked.abs() * 1.3e-4, "{} {}", asked, kept),
                }
            }
            prop_assert_eq!(read(&text, second), whole);
        }
    }

    #[test]
    fn a_column_takes_the_bytes_that_its_largest_number_needs() {
        let bytes = |numbers: &[u32]| Packed::default().integers(numbers.iter().copied()).bytes;
        assert_eq!(
            [bytes(&[]), bytes(&[255]), bytes(&[3, 256]), bytes(&[1 << 16]), bytes(&[u32::MAX])],
            [1, 1, 2, 3, 4]
        );
    }
}
