//! Profiles: named tunings, in the program or in a file of one `tune` table.

use std::{fmt, fs, path::Path};

use schema::Tuning;
use toml::de::DeTable;

use super::{
    fault::{Fault, ScenarioError, did_you_mean},
    section::read_tables,
    tune,
};

/// The profiles of this program, by name.
pub const PROFILES: &[(&str, &str)] = &[
    ("low-latency", include_str!("../../../scenarios/profiles/low-latency.toml")),
    ("negative-control", include_str!("../../../scenarios/profiles/negative-control.toml")),
    ("os-basics", include_str!("../../../scenarios/profiles/os-basics.toml")),
    ("roce-lossless-check", include_str!("../../../scenarios/profiles/roce-lossless-check.toml")),
];

/// Why there is no profile.
#[derive(Debug)]
pub enum ProfileError {
    /// Neither a name that is known nor a file.
    Unknown(String),
    /// Its file can't be read, or says something that can't be turned.
    File(ScenarioError),
}

impl std::error::Error for ProfileError {}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProfileError::File(error) => error.fmt(f),
            ProfileError::Unknown(name) => {
                let names = PROFILES.iter().map(|(name, _)| *name);
                write!(f, "there is no profile `{name}`; ")?;
                match did_you_mean(name, names.clone()) {
                    Some(near) => write!(f, "did you mean `{near}`?"),
                    None => write!(
                        f,
                        "write a file that ends in .toml, or {}",
                        names.collect::<Vec<_>>().join(", ")
                    ),
                }
            }
        }
    }
}

/// A profile by its name, or by its file, whose path counts from `folder`.
pub fn load(name: &str, folder: &Path) -> Result<Tuning, ProfileError> {
    if let Some((name, source)) = PROFILES.iter().find(|(known, _)| *known == name) {
        return parse(Path::new(name), (*source).to_owned(), name).map_err(ProfileError::File);
    }
    if Path::new(name).extension().is_none_or(|ending| ending != "toml") {
        return Err(ProfileError::Unknown(name.to_owned()));
    }
    let file = folder.join(name);
    let source = fs::read_to_string(&file)
        .map_err(|cause| ProfileError::File(ScenarioError::Read { file: file.clone(), cause }))?;
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    parse(&file, source, &stem).map_err(ProfileError::File)
}

/// What a profile is for, in its own words: its `about`.
pub fn about(source: &str) -> String {
    let table = DeTable::parse(source).ok();
    let about = table.as_ref().and_then(|table| table.get_ref().get("about")?.get_ref().as_str());
    about.unwrap_or_default().to_owned()
}

fn parse(file: &Path, source: String, name: &str) -> Result<Tuning, ScenarioError> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let tuning = read_tables(file, &source, |root, _| {
        let tune = root.section("tune").map(|section| tune::read(&section, folder));
        root.text("about");
        root.finish();
        if tune.is_none() {
            root.push(Fault::new("tune", 0..0, "is missing; a profile is a table [tune] of knobs"));
        }
        tune
    });
    tuning.map(|tuning| Tuning { profile: Some(name.to_owned()), ..tuning }).map_err(ScenarioError::Faults)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_profile_of_the_program_is_read_and_says_what_it_is_for() {
        for (name, source) in PROFILES {
            let tuning = load(name, Path::new(".")).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(tuning.profile.as_deref(), Some(*name));
            assert!(!tuning.knobs.is_empty() && !about(source).is_empty(), "{name}");
        }
    }

    #[test]
    fn the_negative_control_is_sysctls_alone_and_the_check_turns_nothing() {
        let control = load("negative-control", Path::new(".")).unwrap();
        assert!(control.knobs.iter().all(|setting| setting.knob == schema::Knob::Sysctl));
        assert_eq!(control.knobs.len(), 11);
        assert!(load("roce-lossless-check", Path::new(".")).unwrap().check_only);
    }

    #[test]
    fn a_file_is_a_profile_and_its_mistakes_have_a_caret() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("mine.toml"), "about = \"x\"\n[tune]\nmtu = 4200\n").unwrap();
        let mine = load("mine.toml", dir.path()).unwrap();
        assert_eq!((mine.profile.as_deref(), mine.knobs.len()), (Some("mine"), 1));
        fs::write(dir.path().join("bad.toml"), "[tune]\ngovenor = \"performance\"\n").unwrap();
        let text = load("bad.toml", dir.path()).unwrap_err().to_string();
        assert!(text.contains("bad.toml:2:1") && text.contains("did you mean `governor`?"), "{text}");
        assert!(load("none.toml", dir.path()).unwrap_err().to_string().contains("none.toml"));
        assert!(load("fast", dir.path()).unwrap_err().to_string().contains("os-basics"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(about = \"a\"\n)?(\\[tune\\]\n)?[a-z_ =\\[\\]\"0-9\n{},.]{0,60}") {
            let _ = parse(Path::new("x.toml"), text, "x");
        }
    }
}
