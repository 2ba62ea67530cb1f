// The pair that is chosen: its value, the other way, and every run of it.
const panel = document.getElementById("pair");

const cellOf = ({ row, column }) => row * count + column;
const nameOf = ({ row, column }) => `${known.nodes[row].name} → ${known.nodes[column].name}`;

/** A cell in one line: value, deviation, outcome. */
function told(data, pair) {
  const measure = data.measures[view.measure];
  if (pair.row === pair.column) return "a node with itself: not measured";
  const state = states[cellOf(pair)];
  if (state !== HAS) return SAID[state];
  const residual = measure.residuals[cellOf(pair)];
  return `${valueOf(measure.metric, measure.values[cellOf(pair)])}, ${changeOf(residual)} against what its nodes let expect`;
}

/** What a run measured, by size and metric. */
function measuredBy(runs, run) {
  const { workload } = known.rounds[runs.round[run]];
  return runs.points
    .filter((of) => of.workload === workload)
    .map((of) => ({ ...of, value: of.values[runs.nth[run]] }))
    .filter(({ value }) => !Number.isNaN(value))
    .map(({ metric, msg_bytes: size, value }) => ({ size, text: `${metric.replace("_", " ")} ${valueOf(metric, value)}` }));
}

function runItem(runs, run) {
  const round = known.rounds[runs.round[run]];
  const outcome = runs.outcome[run] % 4;
  const item = element("li", undefined, ["good", "open", "bad"][outcome]);
  const when = new Date(round.started_at_unix_ms).toISOString().replace("T", " ").slice(0, 19);
  const role = runs.outcome[run] >= 4 ? ", load beside others" : "";
  item.append(element("p", `run ${runs.sequence[run]}, ${round.label}, ${when} UTC${role}`, "head"));
  const sizes = new Map();
  for (const { size, text } of measuredBy(runs, run)) sizes.set(size, [...(sizes.get(size) ?? []), text]);
  for (const [size, texts] of sizes) item.append(element("p", `${sizeOf(size)}: ${texts.join(", ")}`));
  if (outcome > 0) item.append(element("b", SAID[outcome]));
  const late = runs.late[run];
  if (!Number.isNaN(late)) item.append(element("p", `first post ${timeOf(Math.abs(late))} ${late < 0 ? "before" : "after"} the round's moment`, "head"));
  const [why, ...remarks] = (runs.said.get(run) ?? [-1]).map((at) => runs.texts[at]);
  if (why) item.append(element("p", why));
  remarks.forEach((text) => item.append(element("p", text, "remark")));
  return item;
}

/** Tells everything about the chosen pair. */
function showPair(data) {
  const pair = view.chosen;
  const measure = data.measures[view.measure];
  const back = { row: pair.column, column: pair.row };
  const parts = [element("h3", nameOf(pair))];
  const state = states[cellOf(pair)];
  parts.push(element("p", state === HAS ? valueOf(measure.metric, measure.values[cellOf(pair)]) : pair.row === pair.column ? "itself" : SAID[state], "value"));
  const list = element("dl");
  const fact = (name, text) => list.append(element("dt", name), element("dd", text));
  fact("measure", measure.name);
  if (state === HAS) {
    fact("against all pairs", changeOf(measure.values[cellOf(pair)] / measure.median - 1));
    fact("what neither node explains", changeOf(measure.residuals[cellOf(pair)]));
  }
  if (pair.row !== pair.column) fact("the other way", told(data, back));
  const leaves = [pair.row, pair.column].map((rank) => known.nodes[rank].leaf).filter(Boolean);
  if (leaves.length > 0) fact("leaf switches", leaves.join(" → "));
  for (const rank of new Set([pair.row, pair.column])) if (known.nodes[rank].gone) fact(known.nodes[rank].name, known.nodes[rank].gone);
  parts.push(list);
  const runs = [...data.runs.ofPair(pair.row, pair.column)];
  if (runs.length > 0) {
    const ordered = element("ol");
    ordered.tabIndex = 0;
    ordered.setAttribute("aria-label", `Runs of ${nameOf(pair)}`);
    ordered.append(...runs.map((run) => runItem(data.runs, run)));
    const names = [pair.row, pair.column].map((rank) => quoted(known.nodes[rank].name)).join(" ");
    const command = element("p", "All that is kept of a run: ");
    command.append(element("code", `rdma-harness cluster show ${known.cluster} --run ${data.runs.sequence[runs.at(-1)]} --json`));
    const pairs = element("p", "These runs: ");
    pairs.append(element("code", `rdma-harness cluster show ${known.cluster} --pair ${names}`));
    parts.push(ordered, pairs, command);
  }
  panel.replaceChildren(...parts);
}
