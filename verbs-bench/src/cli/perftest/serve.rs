//! A perftest call without HOST: serves one session as the requester plans it, and says where its own flags differ.

use schema::{CpuChoice, NodeChoice, RunSpec, SideSpec};
use serde_json::Value;

use super::{
    command::Given,
    draft::{Draft, Plan},
    flag::Answer,
};
use crate::{
    cli::{
        EXIT_FAILED, EXIT_USAGE, complain,
        serve::{OPEN_TO_ALL, bind, serve_all},
    },
    connect::auth::Token,
    session::own::Own,
};

/// Serves one session; returns the exit code.
pub(super) fn serve(draft: &Draft, given: &[Given]) -> u8 {
    let token = draft.token_file.as_deref().map(Token::read).transpose();
    let (plan, token) = match (draft.plan(), token) {
        (Ok(plan), Ok(token)) => (plan, token),
        (plan, token) => {
            plan.err().into_iter().chain(token.err()).for_each(complain);
            return EXIT_USAGE;
        }
    };
    let listener = match bind(&format!("[::]:{}", draft.port)) {
        Ok(listener) => listener,
        Err(error) => {
            complain(error);
            return EXIT_FAILED;
        }
    };
    println!(
        "\n************************************\n* Waiting for client to connect... *\n************************************"
    );
    if token.is_none() {
        eprintln!("verbs-bench: {OPEN_TO_ALL}");
    }
    let told = |theirs: &RunSpec| differences(given, &plan, theirs).iter().for_each(complain);
    serve_all(&listener, token.as_ref(), &Own { told: Some(&told), ..own(&draft.spec.requester) }, Some(1))
}

/// What the flags say about this side; what they do not say is the plan's.
fn own(side: &SideSpec) -> Own<'static> {
    let default = SideSpec::default();
    Own {
        device: (side.device != default.device).then(|| side.device.clone()),
        port_num: (side.port_num != default.port_num).then_some(side.port_num),
        gid_index: side.gid_index,
        cpu: (side.cpu != CpuChoice::Auto).then(|| side.cpu.clone()),
        memory_node: (side.memory_node != NodeChoice::Auto).then_some(side.memory_node),
        told: None,
    }
}

/// One line for each flag given here that the requester's plan contradicts.
fn differences(given: &[Given], ours: &Plan, theirs: &RunSpec) -> Vec<String> {
    let mut lines = Vec::new();
    let (program, measured) = ((ours.spec.test, ours.spec.op), (theirs.test, theirs.op));
    if program != measured {
        lines.push(format!(
            "the requester measures {} {}, not {} {} as this side was started for; its plan is what counts",
            measured.1, measured.0, program.1, program.0
        ));
    }
    let (Ok(ours), Ok(theirs)) = (serde_json::to_value(&ours.spec), serde_json::to_value(theirs)) else {
        return lines;
    };
    for Given { flag, .. } in given {
        if let Answer::Field(field, _) = flag.answer
            && field != "op"
            && ours[field] != theirs[field]
        {
            let (ours, theirs) = (short(&ours[field]), short(&theirs[field]));
            lines.push(format!(
                "{}: {ours} here, {theirs} in the requester's plan, which is what counts",
                flag.typed()
            ));
        }
    }
    lines
}

/// A value in one line that a person reads: no quotes, no list of 23 sizes.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => match values.as_slice() {
            [only] => only.to_string(),
            [first, .., last] => format!("{} values from {first} to {last}", values.len()),
            [] => "none".into(),
        },
        other => other.to_string().replace(['{', '}', '"'], "").replace(':', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::perftest::{
        command::{draft, given_of},
        tool::TOOLS,
    };

    /// What a side started with one line of flags says about the plan of another.
    fn said(server: &str, client: &str) -> Vec<String> {
        let [here, there] = [server, client].map(|line| {
            let tool = TOOLS[0];
            let given = given_of(tool, line);
            (draft(tool, &given).unwrap().plan().unwrap(), given)
        });
        differences(&here.1, &here.0, &there.0.spec)
    }

    #[test]
    fn only_flags_that_were_given_here_are_compared() {
        assert_eq!(said("", "-s 64 -n 1000 -t 16 -b"), Vec::<String>::new());
        assert_eq!(said("-s 64 -n 1000", "-s 64 -n 1000 -t 16"), Vec::<String>::new());
        let lines = said("-s 64 -n 1000 -q 2", "-s 64 -n 2000 -q 2");
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("-n, --iters: iterations 2000 here, iterations 4000"), "{lines:?}");
        // -n of the client sets the same field as -D here.
        assert!(said("-D 5", "-n 10")[0].contains("--duration"));
        assert!(said("-a", "-s 8")[0].contains("23 values from 2 to 8388608 here, 8 in"));
        assert!(said("-c UC", "")[0].contains("uc here, rc in"));
        assert!(said("", "--write_with_imm")[0].contains("measures write_imm bandwidth, not write"));
    }
}
