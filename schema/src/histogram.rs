//! Latency histograms as they are stored, and the summary that may be read from them.
//!
//! Stored in the HdrHistogram V2 format (deflated, base64), which the other HdrHistogram implementations read. A quantile
//! is published only when at least [`MIN_TAIL_SAMPLES`] samples lie beyond it.

use std::{fmt, io::Read as _};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use flate2::read::ZlibDecoder;
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, Serializer, V2DeflateSerializer},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lowest value a latency histogram tells apart, in ns.
pub const LOWEST_NS: u64 = 1;
/// Highest value a latency histogram holds, in ns (one minute); what lies above is saturated and counted.
pub const HIGHEST_NS: u64 = 60_000_000_000;
/// Significant decimal digits of a latency histogram: values are kept to 0.1 %.
pub const DIGITS: u8 = 3;
/// Samples that must lie beyond a quantile for it to be published.
pub const MIN_TAIL_SAMPLES: f64 = 10.0;

/// An empty histogram of the shape every latency is kept in.
pub fn new_latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS)
        .expect("the bounds are constants that hdrhistogram accepts")
}

/// What a latency sample spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyKind {
    /// Half of a ping-pong: post, remote store seen, answer posted, local store seen; divided by two.
    HalfRoundTrip,
    /// From the post of a signaled work request to the poll that returned its completion.
    PostToCompletion,
    /// From the post of a read or an atomic to its completion: a whole round trip.
    RoundTrip,
    /// From the time the schedule of an open load intended for a message to the poll that returned its completion.
    IntendedToCompletion,
    /// From the post of a work request to the device's completion timestamp.
    PostToDevice,
    /// From the device's completion timestamp to the poll that returned the completion.
    DeviceToPoll,
}

impl fmt::Display for LatencyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LatencyKind::HalfRoundTrip => "half round trip",
            LatencyKind::PostToCompletion => "post to completion",
            LatencyKind::RoundTrip => "round trip",
            LatencyKind::IntendedToCompletion => "intended time to completion",
            LatencyKind::PostToDevice => "post to device completion",
            LatencyKind::DeviceToPoll => "device completion to poll",
        })
    }
}

/// A histogram of ns in text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncodedHistogram {
    /// HdrHistogram V2, deflated, base64.
    pub hdr_v2_deflate_base64: String,
    /// Samples above [`HIGHEST_NS`], kept at that value.
    pub saturated: u64,
}

/// Why stored bytes are not a histogram.
#[derive(Debug, thiserror::Error)]
pub enum HistogramError {
    /// Not base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not HdrHistogram V2 deflate.
    #[error("histogram is not HdrHistogram V2 (deflated): {0}")]
    Hdr(#[from] hdrhistogram::serialization::DeserializeError),
    /// The frame around it does not hold together.
    #[error("histogram is not HdrHistogram V2 (deflated): {0}")]
    Frame(&'static str),
}

/// Cookie of a deflated V2 histogram; a big-endian length and a zlib stream follow.
const V2_DEFLATE_COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
/// Bytes before the counts of an inflated V2 histogram; the length of the counts is the second word.
const V2_HEADER_BYTES: usize = 40;
/// Inflated, the largest histogram of five digits over 64 bits stays below this.
const MOST_INFLATED_BYTES: u64 = 64 << 20;

/// Inflates a V2 histogram with a bound, and checks the lengths that the decoder would otherwise trust and allocate.
fn inflate(bytes: &[u8]) -> Result<Vec<u8>, HistogramError> {
    let deflated = bytes
        .strip_prefix(&V2_DEFLATE_COOKIE)
        .and_then(|rest| rest.get(4..))
        .ok_or(HistogramError::Frame("the cookie is missing"))?;
    let mut inflated = Vec::new();
    ZlibDecoder::new(deflated)
        .take(MOST_INFLATED_BYTES)
        .read_to_end(&mut inflated)
        .map_err(|_| HistogramError::Frame("the zlib stream is broken"))?;
    let counts =
        inflated.len().checked_sub(V2_HEADER_BYTES).ok_or(HistogramError::Frame("the header is cut off"))?;
    let announced = u32::from_be_bytes([inflated[4], inflated[5], inflated[6], inflated[7]]);
    if announced as usize != counts {
        return Err(HistogramError::Frame("its length is not the length it announces"));
    }
    Ok(inflated)
}

impl EncodedHistogram {
    /// Encodes a histogram of ns.
    pub fn encode(histogram: &Histogram<u64>, saturated: u64) -> Self {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("writing to memory does not fail");
        EncodedHistogram { hdr_v2_deflate_base64: BASE64.encode(bytes), saturated }
    }

    /// Decodes it again. Foreign bytes are an error, never a panic.
    pub fn decode(&self) -> Result<Histogram<u64>, HistogramError> {
        let bytes = BASE64.decode(&self.hdr_v2_deflate_base64)?;
        Ok(Deserializer::new().deserialize(&mut inflate(&bytes)?.as_slice())?)
    }
}

/// What may be read from a histogram. A quantile without enough samples beyond it is null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencySummary {
    /// What a sample spans.
    pub kind: LatencyKind,
    /// Number of samples.
    pub count: u64,
    /// Smallest sample, ns.
    pub min: u64,
    /// Median, ns.
    pub p50: Option<u64>,
    /// 90th percentile, ns.
    pub p90: Option<u64>,
    /// 99th percentile, ns.
    pub p99: Option<u64>,
    /// 99.9th percentile, ns.
    pub p99_9: Option<u64>,
    /// 99.99th percentile, ns.
    pub p99_99: Option<u64>,
    /// Largest sample, ns.
    pub max: u64,
    /// Arithmetic mean, ns.
    pub mean: f64,
}

/// The quantile, if at least [`MIN_TAIL_SAMPLES`] samples lie beyond it.
pub fn published_quantile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    let beyond = histogram.len() as f64 * (1.0 - quantile);
    (beyond + 1e-6 >= MIN_TAIL_SAMPLES).then(|| histogram.value_at_quantile(quantile))
}

impl LatencySummary {
    /// Reads the summary; none from an empty histogram.
    pub fn of(kind: LatencyKind, histogram: &Histogram<u64>) -> Option<Self> {
        if histogram.is_empty() {
            return None;
        }
        let quantile = |q| published_quantile(histogram, q);
        Some(LatencySummary {
            kind,
            count: histogram.len(),
            min: histogram.min(),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            p99_99: quantile(0.9999),
            max: histogram.max(),
            mean: histogram.mean(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thousand_samples_do_not_support_p99_9() {
        let mut histogram = new_latency_histogram();
        for ns in 1..=1_000 {
            histogram.record(ns).unwrap();
        }
        let summary = LatencySummary::of(LatencyKind::HalfRoundTrip, &histogram).unwrap();
        assert_eq!((summary.p50, summary.p99), (Some(500), Some(990)));
        assert_eq!((summary.p99_9, summary.p99_99), (None, None));
        assert_eq!((summary.min, summary.max, summary.count), (1, 1_000, 1_000));
    }

    #[test]
    fn nothing_measured_has_no_summary() {
        assert_eq!(LatencySummary::of(LatencyKind::HalfRoundTrip, &new_latency_histogram()), None);
    }

    /// Found by fuzzing: one negates the smallest count, one announces two gigabytes of counts.
    #[test]
    fn hostile_bytes_neither_panic_nor_fill_the_memory() {
        let mut announces_2_gib = [0u8; 48];
        announces_2_gib[..4].copy_from_slice(&[0x1c, 0x84, 0x93, 0x13]);
        announces_2_gib[4..8].copy_from_slice(&0x7fff_ffff_u32.to_be_bytes());
        for inflated in [announces_2_gib.as_slice(), &[0; 12]] {
            let mut bytes = V2_DEFLATE_COOKIE.to_vec();
            bytes.extend([0; 4]);
            let mut zlib = flate2::write::ZlibEncoder::new(bytes, flate2::Compression::fast());
            std::io::Write::write_all(&mut zlib, inflated).unwrap();
            let hdr_v2_deflate_base64 = BASE64.encode(zlib.finish().unwrap());
            let hostile = EncodedHistogram { hdr_v2_deflate_base64, saturated: 0 };
            assert!(matches!(hostile.decode(), Err(HistogramError::Frame(_))));
        }
        let negates = "HISTFAAAAEB4nAE1AMr/HISTEwAAAA0AAAAAAAAAAwABAAAAAAABABAADfhHWAA/8AAAAAAAAM8P////////////BQE65QH+WkAGAqIeCAM=";
        let hostile = EncodedHistogram { hdr_v2_deflate_base64: negates.into(), saturated: 0 };
        assert!(hostile.decode().is_err());
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(samples in proptest::collection::vec(1u64..HIGHEST_NS, 1..200)) {
            let mut histogram = new_latency_histogram();
            for ns in &samples {
                histogram.record(*ns).unwrap();
            }
            let back = EncodedHistogram::encode(&histogram, 0).decode().unwrap();
            prop_assert_eq!(back.len(), samples.len() as u64);
            prop_assert_eq!(back.max(), histogram.max());
            prop_assert_eq!(back.value_at_quantile(0.5), histogram.value_at_quantile(0.5));
        }

        #[test]
        fn foreign_bytes_are_an_error(text in "[A-Za-z0-9+/=]{0,80}") {
            let foreign = EncodedHistogram { hdr_v2_deflate_base64: text, saturated: 0 };
            prop_assert!(foreign.decode().is_err());
        }
    }
}
