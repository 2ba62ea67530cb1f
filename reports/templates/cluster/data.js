// The numbers behind the map. They stand in the page as compressed columns; a page of which nothing was measured has none.
const source = document.getElementById("data");
const known = source ? JSON.parse(source.textContent) : undefined;
const count = known ? known.nodes.length : 0;

async function unpacked() {
  const text = atob(document.getElementById("packed").textContent);
  const bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The numbers of a column: first bytes of all, then second bytes, and so on; those of floats are the upper ones. */
function column(bytes, { at, length, bytes: each, float }) {
  const numbers = new Uint32Array(length);
  for (let place = 0; place < each; place++) {
    const shift = 8 * (float ? 3 - place : each - 1 - place);
    const from = at + place * length;
    for (let n = 0; n < length; n++) numbers[n] |= bytes[from + n] << shift;
  }
  return float ? new Float32Array(numbers.buffer) : numbers;
}

/** Everything as columns of numbers; of each workload, which run of it a run is. */
function columns(bytes) {
  const read = (of) => column(bytes, of);
  const { sequence, round, requester, responder, outcome, late_ns: late, points, said, texts } = known.runs;
  const runs = { sequence: read(sequence), round: read(round), requester: read(requester), responder: read(responder), outcome: read(outcome), late: read(late), said: new Map(said), texts };
  runs.nth = new Uint32Array(runs.round.length);
  const seen = [];
  runs.round.forEach((number, run) => {
    const { workload } = known.rounds[number];
    runs.nth[run] = seen[workload] ?? 0;
    seen[workload] = runs.nth[run] + 1;
  });
  runs.points = points.map((of) => ({ ...of, values: read(of.values) }));
  runs.ofPair = byPair(runs);
  const measures = known.measures.map((of) => ({ ...of, values: read(of.values), residuals: read(of.residuals) }));
  return { runs, measures };
}

/** The runs of a pair, whichever workload: places of runs in the order of pairs, and where each pair begins. */
function byPair({ requester, responder }) {
  const first = new Uint32Array(count * count + 1);
  const pair = (run) => requester[run] * count + responder[run];
  for (let run = 0; run < requester.length; run++) first[pair(run) + 1] += 1;
  for (let n = 1; n < first.length; n++) first[n] += first[n - 1];
  const next = first.slice();
  const runs = new Uint32Array(requester.length);
  for (let run = 0; run < requester.length; run++) runs[next[pair(run)]++] = run;
  return (row, column) => runs.subarray(first[row * count + column], first[row * count + column + 1]);
}

const HAS = 0, INVALID = 1, FAILED = 2, NONE = 3;

/** How each pair came out by the workload of a measure: its value counts, it is not usable, it could not run, nobody asked. */
function outcomes(runs, { workload, values }) {
  const states = new Uint8Array(count * count).fill(NONE);
  runs.outcome.forEach((outcome, run) => {
    if (known.rounds[runs.round[run]].workload !== workload || outcome >= 4) return;
    const cell = runs.requester[run] * count + runs.responder[run];
    if (outcome === 2) states[cell] = FAILED;
    else if (states[cell] === NONE) states[cell] = INVALID;
  });
  values.forEach((value, cell) => { if (!Number.isNaN(value)) states[cell] = HAS; });
  return states;
}
