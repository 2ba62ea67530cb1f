//! The commands by which a word is put on the kernel's command line in the place of another, and those that undo it.

use host::Sysroot;

use super::loader::Way;

/// Commands that set, and commands that undo.
pub(super) type Change = (Vec<String>, Vec<String>);

/// Takes words off the command line and puts others on it.
type Swap<'s> = dyn Fn(&[String], &[String]) -> Vec<String> + 's;

impl Way {
    /// The commands that put `word` in the place of the words `before`, which have the same name, and those that undo them.
    pub(super) fn change(&self, sysroot: &Sysroot, before: &[String], word: &str) -> Change {
        // What stands there already needs no command; whether it took is another question.
        if matches!(before, [only] if only == word) {
            return Change::default();
        }
        let new = [word.to_owned()];
        let both = |swap: &Swap| (swap(before, &new), swap(&new, before));
        match self {
            Way::RpmOstree => both(&rpm_ostree),
            Way::Grubby { installed, zipl } => {
                let (mut set, undo) = both(&|out, into| grubby(out, into, *zipl));
                if !installed {
                    set.insert(0, "# grubby is not installed here; it is a package of this name".into());
                }
                (set, undo)
            }
            Way::Pbl => both(&pbl),
            Way::BootcImage => bootc(word),
            Way::UpdateGrub if before.is_empty() => drop_in(word),
            Way::UpdateGrub => edit_defaults(sysroot, before, word, "update-grub"),
            Way::GrubDefaults { regenerate } => edit_defaults(sysroot, before, word, regenerate),
            Way::Unknown(_) => both(&by_hand),
        }
    }
}

fn rpm_ostree(out: &[String], into: &[String]) -> Vec<String> {
    let each = |option: &str, words: &[String]| {
        words.iter().map(|word| format!(" {option}={word}")).collect::<String>()
    };
    vec![format!("rpm-ostree kargs{}{}", each("--delete-if-present", out), each("--append-if-missing", into))]
}

fn grubby(out: &[String], into: &[String], zipl: bool) -> Vec<String> {
    let option = |option: &str, words: &[String]| match words {
        [] => String::new(),
        words => format!(" --{option}=\"{}\"", words.join(" ")),
    };
    let command = format!("grubby --update-kernel=ALL{}{}", option("remove-args", out), option("args", into));
    [command].into_iter().chain(zipl.then(|| "zipl".to_owned())).collect()
}

/// pbl puts a word in the place of one with the same name by itself.
fn pbl(out: &[String], into: &[String]) -> Vec<String> {
    let change = match (into.last(), out.last()) {
        (Some(word), _) => format!("--add-option {word}"),
        (None, Some(word)) => format!("--del-option {}", name_of(word)),
        (None, None) => return Vec::new(),
    };
    vec![format!("pbl {change} --config")]
}

/// A bootc host takes its arguments from the image it was built from.
fn bootc(word: &str) -> Change {
    let file = word_file("/usr/lib/bootc/kargs.d", word, "toml");
    (
        vec![
            "# in the image's Containerfile; then build it, push it, and run `bootc upgrade` here".into(),
            format!("RUN echo 'kargs = [\"{word}\"]' > {file}"),
        ],
        vec![format!("# take {file} out of the image; then build it, push it, and run `bootc upgrade` here")],
    )
}

/// Debian's GRUB reads drop-in files after its defaults: a file of our own is undone by taking it away.
fn drop_in(word: &str) -> Change {
    let file = word_file("/etc/default/grub.d", word, "cfg");
    let line = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT {word}\"");
    let update = || "update-grub".to_owned();
    (
        vec!["mkdir -p /etc/default/grub.d".into(), format!("echo '{line}' > {file}"), update()],
        vec![format!("rm {file}"), update()],
    )
}

/// Edits GRUB's defaults in place: the file that holds the old word, or the main one.
fn edit_defaults(sysroot: &Sysroot, before: &[String], word: &str, regenerate: &str) -> Change {
    const MAIN: &str = "/etc/default/grub";
    let edit =
        |expression: String, file: &str| vec![format!("sed -i '{expression}' {file}"), regenerate.to_owned()];
    match before {
        [] => (
            edit(format!("s/^GRUB_CMDLINE_LINUX=\"/&{word} /"), MAIN),
            edit(format!("s/{} //", escaped(word)), MAIN),
        ),
        [old] => {
            let file = holder(sysroot, old).unwrap_or(MAIN.into());
            (
                edit(format!("s/{}/{word}/", escaped(old)), &file),
                edit(format!("s/{}/{old}/", escaped(word)), &file),
            )
        }
        several => {
            let several = several.join(" ");
            let replace = |from: &str, to: &str| {
                let where_ = format!("in {MAIN} and /etc/default/grub.d");
                vec![format!("# {where_}: replace `{from}` by `{to}`"), regenerate.to_owned()]
            };
            (replace(&several, word), replace(word, &several))
        }
    }
}

/// The file of GRUB's defaults that holds this word; of several the one that is read last.
fn holder(sysroot: &Sysroot, word: &str) -> Option<String> {
    let drop_ins = sysroot.list("/etc/default/grub.d").known().unwrap_or_default();
    let files = drop_ins.iter().rev().map(|name| format!("/etc/default/grub.d/{name}"));
    let holds =
        |text: String| text.split(|c: char| c.is_whitespace() || "\"'".contains(c)).any(|part| part == word);
    files.chain(["/etc/default/grub".into()]).find(|file| sysroot.read(file).known().is_some_and(holds))
}

fn by_hand(out: &[String], into: &[String]) -> Vec<String> {
    let (out, into) = (out.join(" "), into.join(" "));
    let change = match (out.as_str(), into.as_str()) {
        ("", into) => format!("add `{into}`"),
        (out, "") => format!("take `{out}` away"),
        (out, into) => format!("replace `{out}` by `{into}`"),
    };
    vec![format!(
        "# {change} on the kernel's command line, and write the boot entry anew as this boot loader wants it"
    )]
}

/// The file of its own that a word's line lies in.
fn word_file(folder: &str, word: &str, extension: &str) -> String {
    format!("{folder}/90-rdma-harness-{}.{extension}", name_of(word))
}

/// A word as a basic regular expression that matches it alone.
fn escaped(word: &str) -> String {
    word.chars().fold(String::new(), |mut text, letter| {
        if matches!(letter, '.' | '/' | '*' | '[' | ']' | '^' | '$' | '\\') {
            text.push('\\');
        }
        text.push(letter);
        text
    })
}

fn name_of(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}
