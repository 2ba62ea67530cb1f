//! The rows as a command of clap, and what a user typed as rows with values.

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand, error::ErrorKind};

use super::{
    PERFTEST_RELEASE,
    draft::Draft,
    flag::{Answer, Flag},
    measure, rows, serve,
    tool::{TOOLS, Tool},
};
use crate::cli::{EXIT_USAGE, complain};

/// One call: the program, the flags that were given, and the host to measure with.
#[derive(Debug)]
pub(in crate::cli) struct Invocation {
    tool: Tool,
    given: Vec<Given>,
    host: Option<String>,
}

/// A flag that was given, with its value; a switch has an empty one.
pub(super) struct Given {
    pub(super) flag: &'static Flag,
    pub(super) text: String,
}

impl std::fmt::Debug for Given {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.flag.typed(), self.text)
    }
}

/// clap's id of the host.
const HOST: &str = "HOST";

/// The command of one program: every row, those it does not have hidden.
pub(super) fn command(tool: Tool) -> Command {
    let command = Command::new(tool.name)
        .about(tool.about)
        .infer_long_args(true)
        .disable_help_flag(true)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(true)
        .after_help(format!(
            "Without HOST it serves one session. `verbs-bench perftest-flags` says of every flag of perftest {PERFTEST_RELEASE} what \
             becomes of it here.\nExit codes: 0 measured, 1 below -w or -y, 2 refused before anything ran, 3 could not measure."
        ))
        .arg(Arg::new(HOST).help("Host of the responder: the same program without HOST, or verbs-bench serve"));
    rows().fold(command, |command, flag| command.arg(argument(flag, tool)))
}

fn argument(flag: &'static Flag, tool: Tool) -> Arg {
    let shown = (flag.on)(tool) && !matches!(flag.answer, Answer::Not(_));
    let help = match flag.answer {
        Answer::Always(why) => format!("Taken: {why}"),
        _ => flag.help.to_owned(),
    };
    let action = match (flag.long, flag.value) {
        ("help", _) => ArgAction::HelpShort,
        ("version", _) => ArgAction::Version,
        ("size", _) => ArgAction::Append,
        (_, Some(_)) => ArgAction::Set,
        (_, None) => ArgAction::SetTrue,
    };
    let mut argument = Arg::new(flag.long).long(flag.long).help(help).hide(!shown).action(action);
    for spelling in flag.spellings() {
        argument = argument.alias(spelling);
    }
    if let Some(letter) = flag.letter {
        argument = argument.short(letter);
    }
    if let Some(name) = flag.value {
        argument = argument.value_name(name).allow_hyphen_values(true);
    }
    argument
}

/// The rows that were given, in the order of the table.
fn given(matches: &ArgMatches) -> Vec<Given> {
    let mut given = Vec::new();
    for flag in rows().filter(|flag| !matches!(flag.long, "help" | "version")) {
        match flag.value {
            Some(_) => {
                let values = matches.get_many::<String>(flag.long).into_iter().flatten();
                given.extend(values.map(|text| Given { flag, text: text.clone() }));
            }
            None if matches.get_flag(flag.long) => given.push(Given { flag, text: String::new() }),
            None => {}
        }
    }
    given
}

impl Invocation {
    pub(in crate::cli) fn execute(self) -> u8 {
        let draft = match draft(self.tool, &self.given) {
            Ok(draft) => draft,
            Err(faults) => {
                faults.iter().for_each(complain);
                return EXIT_USAGE;
            }
        };
        match &self.host {
            Some(host) => measure::measure(&draft, host),
            None => serve::serve(&draft, &self.given),
        }
    }
}

/// Every row writes its part; what cannot be is said of all flags at once.
pub(super) fn draft(tool: Tool, given: &[Given]) -> Result<Draft, Vec<String>> {
    let mut draft = Draft::new(tool);
    let mut faults = Vec::new();
    for Given { flag, text } in given {
        let typed = flag.typed();
        match flag.answer {
            Answer::Not(why) => faults.push(format!("{typed}: {why}")),
            _ if !(flag.on)(tool) => faults.push(format!("{typed}: has no meaning for {}", tool.name)),
            Answer::Field(_, apply) | Answer::Here(apply) => {
                faults.extend(apply(&mut draft, text).err().map(|error| format!("{typed}: {error}")));
            }
            Answer::Always(_) => {}
        }
    }
    if faults.is_empty() { Ok(draft) } else { Err(faults) }
}

impl FromArgMatches for Invocation {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let (tool, matches) = matches
            .subcommand()
            .and_then(|(name, matches)| Some((TOOLS.into_iter().find(|tool| tool.name == name)?, matches)))
            .ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        Ok(Invocation { tool, given: given(matches), host: matches.get_one::<String>(HOST).cloned() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Invocation {
    fn augment_subcommands(parent: Command) -> Command {
        TOOLS.into_iter().fold(parent, |parent, tool| parent.subcommand(command(tool)))
    }

    fn augment_subcommands_for_update(parent: Command) -> Command {
        Self::augment_subcommands(parent)
    }

    fn has_subcommand(name: &str) -> bool {
        TOOLS.iter().any(|tool| tool.name == name)
    }
}

/// The rows of a line of flags, for tests.
#[cfg(test)]
pub(super) fn given_of(tool: Tool, line: &str) -> Vec<Given> {
    let words = std::iter::once(tool.name).chain(line.split_whitespace());
    given(&command(tool).try_get_matches_from(words).unwrap_or_else(|error| panic!("{line}: {error}")))
}
