//! An HDR interval log (format 1.3), which the other HdrHistogram implementations and their plotters open.
//!
//! One line per run and point, its tag naming workload, size, variant, purpose and sequence; further lines, the tag ending in
//! what they are, for the own completions of a latency test, the other direction, and the shares of NIC and software. The crate's writer gives neither
//! the format line nor the legend, and always deflates; the records keep their histograms in that same form, so the lines are
//! written here.

use std::fmt::Write as _;

use schema::{Campaign, CampaignRun, EncodedHistogram, Point, Purpose, histogram::HistogramError};

/// Why a campaign cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error(
    "run {number} at {msg_bytes}: {source}; the store is damaged, export another campaign or restore the file"
)]
pub struct HlogError {
    /// The run.
    pub number: u32,
    /// The point.
    pub msg_bytes: schema::Bytes,
    /// What is wrong with its histogram.
    pub source: HistogramError,
}

/// The histograms of the runs the filter lets through. Values are ns; the interval maximum column is in ms, as usual.
pub fn hlog(campaign: &Campaign, filter: impl Fn(&CampaignRun) -> bool) -> Result<Vec<u8>, HlogError> {
    let started = seconds(campaign.started_at_unix_ms);
    let mut text = format!(
        "#[rdma-harness: campaign {}, values in ns]\n#[Histogram log format version 1.3]\n#[StartTime: {started:.3} (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        campaign.id
    );
    for run in campaign.runs.iter().filter(|run| filter(run)) {
        let offset = seconds(run.record.started_at_unix_ms) - started;
        for point in &run.record.points {
            for (what, histogram) in histograms(point) {
                line(&mut text, run, point, (what, histogram), offset)?;
            }
        }
    }
    Ok(text.into_bytes())
}

/// Every histogram of a point, and how its tag ends; the point's own has no ending.
fn histograms(point: &Point) -> Vec<(&'static str, &EncodedHistogram)> {
    let mut all = vec![("", &point.histogram)];
    all.extend(point.completion_histogram.as_ref().map(|histogram| ("/own-completions", histogram)));
    all.extend(point.reverse.as_ref().map(|reverse| ("/reverse", &reverse.histogram)));
    if let Some(nic) = &point.nic_time {
        all.extend([("/nic", &nic.nic_histogram), ("/software", &nic.software_histogram)]);
    }
    all
}

fn line(
    text: &mut String,
    run: &CampaignRun,
    point: &Point,
    (what, histogram): (&str, &EncodedHistogram),
    offset: f64,
) -> Result<(), HlogError> {
    let decoded = histogram.decode().map_err(|source| HlogError {
        number: run.number(),
        msg_bytes: point.msg_bytes,
        source,
    })?;
    let length = point.duration_ns.get() as f64 / 1e9;
    let max = decoded.max() as f64 / 1e6;
    let histogram = &histogram.hdr_v2_deflate_base64;
    let _ = writeln!(text, "Tag={}{what},{offset:.3},{length:.3},{max:.3},{histogram}", tag(run, point));
    Ok(())
}

/// `write/64Ki/deep/12`, with `control` for a control; a tag holds neither comma nor blank.
fn tag(run: &CampaignRun, point: &Point) -> String {
    let control = if run.purpose == Purpose::Control { "-control" } else { "" };
    format!("{}/{}/{}{control}/{}", run.workload, point.msg_bytes, run.variant, run.sequence)
        .replace([',', ' ', '\n', '\r'], "_")
}

fn seconds(unix_ms: u64) -> f64 {
    unix_ms as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sample;
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn what_is_written_reads_back() {
        let campaign = Sample { blocks: 1, ..Sample::default() }.campaign();
        let log = hlog(&campaign, |run| run.variant == "deep").unwrap();
        let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(&log).map(Result::unwrap).collect();
        let [LogEntry::StartTime(_), LogEntry::Interval(interval)] = &entries[..] else {
            panic!("{entries:?}")
        };
        let run = campaign.runs.iter().find(|run| run.variant == "deep").unwrap();
        assert_eq!(interval.tag().unwrap().as_str(), format!("write/64Ki/deep/{}", run.sequence));
        let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
        let back =
            hdrhistogram::serialization::Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]).unwrap();
        assert_eq!(back.len(), run.record.points[0].latency_ns.count);
        assert_eq!(back.value_at_quantile(0.999), run.record.points[0].latency_ns.p99_9.unwrap());
    }

    #[test]
    fn every_histogram_of_a_point_has_its_line() {
        let campaign = crate::testing::named("loaded").unwrap();
        let log = String::from_utf8(hlog(&campaign, |run| run.sequence == 0).unwrap()).unwrap();
        let tags: Vec<&str> =
            log.lines().filter_map(|line| line.strip_prefix("Tag=")?.split(',').next()).collect();
        let endings = ["/0", "/0/reverse", "/0/nic", "/0/software"];
        assert_eq!(tags.len(), endings.len());
        assert!(tags.iter().zip(endings).all(|(tag, ending)| tag.ends_with(ending)), "{tags:?}");
    }

    #[test]
    fn a_damaged_histogram_is_named() {
        let mut campaign = Sample { blocks: 1, ..Sample::default() }.campaign();
        campaign.runs[1].record.points[0].histogram.hdr_v2_deflate_base64 = "AAAA".into();
        let error = hlog(&campaign, |_| true).unwrap_err().to_string();
        assert!(error.starts_with("run 2 at 64Ki: histogram is not HdrHistogram V2"), "{error}");
    }
}
