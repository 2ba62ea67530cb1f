//! An HDR interval log (format 1.3), which the other HdrHistogram implementations and their plotters open.
//!
//! One line per run and point, its tag naming workload, size, variant, purpose and sequence; further lines, the tag ending in
//! what they are, for the own completions of a latency test, the other direction, and the shares of NIC and software. The crate's writer gives neither
//! the format line nor the legend, and always deflates; the records keep their histograms in that same form, so the lines are
//! written here.

use std::fmt::Write as _;

use schema::{
    Campaign, CampaignRun, EncodedHistogram, Night, NightPart, Point, Purpose, histogram::HistogramError,
};

/// Why a campaign cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error(
    "campaign {campaign}, run {number} at {msg_bytes}: {source}; the store is damaged, export another campaign or restore the file"
)]
pub struct HlogError {
    /// The campaign.
    pub campaign: i64,
    /// The run.
    pub number: u32,
    /// The point.
    pub msg_bytes: schema::Bytes,
    /// What is wrong with its histogram.
    pub source: HistogramError,
}

/// The histograms of the runs the filter lets through. Values are ns; the interval maximum column is in ms, as usual.
pub fn hlog(campaign: &Campaign, filter: impl Fn(&CampaignRun) -> bool) -> Result<Vec<u8>, HlogError> {
    let started = campaign.started_at_unix_ms;
    let mut text = header(&format!("campaign {}", campaign.id), started);
    lines(&mut text, campaign, filter, started, tag)?;
    Ok(text.into_bytes())
}

/// The histograms of the campaigns of a night, in their order; tags begin with the scenario, and with `confirm` for what was
/// made again.
pub fn night_hlog(night: &Night, campaigns: &[Campaign]) -> Result<Vec<u8>, HlogError> {
    let started = night.started_at_unix_ms;
    let mut text = header(&format!("night {} of {}", night.id, one_line(&night.suite)), started);
    for campaign in campaigns {
        let again = night
            .campaigns
            .iter()
            .any(|part| part.campaign == campaign.id && part.part == NightPart::Confirm);
        let prefix = one_word(&format!("{}{}", if again { "confirm/" } else { "" }, campaign.scenario));
        lines(&mut text, campaign, |_| true, started, |run, point| format!("{prefix}/{}", tag(run, point)))?;
    }
    Ok(text.into_bytes())
}

fn header(of: &str, started_at_unix_ms: u64) -> String {
    format!(
        "#[rdma-harness: {of}, values in ns]\n#[Histogram log format version 1.3]\n#[StartTime: {:.3} (seconds since epoch)]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        seconds(started_at_unix_ms)
    )
}

fn lines(
    text: &mut String,
    campaign: &Campaign,
    filter: impl Fn(&CampaignRun) -> bool,
    started_at_unix_ms: u64,
    tag: impl Fn(&CampaignRun, &Point) -> String,
) -> Result<(), HlogError> {
    for run in campaign.runs.iter().filter(|run| filter(run)) {
        if run.pruned_at_unix_ms.is_some() {
            let _ = writeln!(text, "#[run {} was pruned: it has no histograms any more]", run.number());
            continue;
        }
        let offset = seconds(run.record.started_at_unix_ms) - seconds(started_at_unix_ms);
        for point in &run.record.points {
            let tag = tag(run, point);
            for (what, histogram) in histograms(point) {
                line(text, point, &format!("{tag}{what}"), histogram, offset).map_err(|source| {
                    HlogError {
                        campaign: campaign.id,
                        number: run.number(),
                        msg_bytes: point.msg_bytes,
                        source,
                    }
                })?;
            }
        }
    }
    Ok(())
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
    point: &Point,
    tag: &str,
    histogram: &EncodedHistogram,
    offset: f64,
) -> Result<(), HistogramError> {
    let decoded = histogram.decode()?;
    if decoded.is_empty() {
        return Ok(()); // Pruned.
    }
    let length = point.duration_ns.get() as f64 / 1e9;
    let max = decoded.max() as f64 / 1e6;
    let histogram = &histogram.hdr_v2_deflate_base64;
    let _ = writeln!(text, "Tag={tag},{offset:.3},{length:.3},{max:.3},{histogram}");
    Ok(())
}

/// `write/64Ki/deep/12`, with `control` for a control; a tag holds neither comma nor blank.
fn tag(run: &CampaignRun, point: &Point) -> String {
    let control = if run.purpose == Purpose::Control { "-control" } else { "" };
    one_word(&format!("{}/{}/{}{control}/{}", run.workload, point.msg_bytes, run.variant, run.sequence))
}

fn one_word(text: &str) -> String {
    text.replace([',', ' ', '\n', '\r'], "_")
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
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
    fn a_night_has_the_lines_of_its_campaigns_and_says_which_were_made_again() {
        let first = Sample { blocks: 1, ..Sample::default() }.campaign();
        let again = Campaign { id: first.id + 1, ..first.clone() };
        let mut night = crate::testing::night_report().night;
        night.started_at_unix_ms = first.started_at_unix_ms - 5_000;
        night.campaigns[0].campaign = first.id;
        night.campaigns[1].campaign = again.id;
        let log = String::from_utf8(night_hlog(&night, &[first.clone(), again]).unwrap()).unwrap();
        assert!(log.starts_with("#[rdma-harness: night 120 of nightly, values in ns]\n"), "{log}");
        let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("Tag=")).collect();
        assert_eq!(lines.len(), 2 * first.runs.len());
        let (early, late) = lines.split_at(first.runs.len());
        assert!(early.iter().all(|line| line.starts_with(&format!("Tag={}/write/", first.scenario))));
        assert!(late.iter().all(|line| line.starts_with(&format!("Tag=confirm/{}/write/", first.scenario))));
        let offset = |line: &str| line.split(',').nth(1).unwrap().parse::<f64>().unwrap();
        let ran = first.runs[0].record.started_at_unix_ms - night.started_at_unix_ms;
        assert_eq!(offset(early[0]), ran as f64 / 1e3);
    }

    #[test]
    fn a_histogram_that_was_pruned_has_no_line() {
        let mut campaign = Sample { blocks: 1, ..Sample::default() }.campaign();
        let empty = EncodedHistogram::encode(&schema::histogram::new_latency_histogram(), 0);
        campaign.runs[0].record.points[0].histogram = empty;
        let log = String::from_utf8(hlog(&campaign, |_| true).unwrap()).unwrap();
        assert_eq!(log.lines().filter(|line| line.starts_with("Tag=")).count(), campaign.runs.len() - 1);
    }

    #[test]
    fn a_damaged_histogram_is_named() {
        let mut campaign = Sample { blocks: 1, ..Sample::default() }.campaign();
        campaign.runs[1].record.points[0].histogram.hdr_v2_deflate_base64 = "AAAA".into();
        let error = hlog(&campaign, |_| true).unwrap_err().to_string();
        assert!(error.starts_with("campaign 7, run 2 at 64Ki: histogram is not HdrHistogram V2"), "{error}");
    }
}
