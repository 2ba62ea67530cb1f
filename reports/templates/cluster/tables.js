// The tables beside the map: nodes, by the measure that is shown and in any order; and one row of the map, for who reads rather than looks.
const nodeTable = document.querySelector("#node-table tbody");
const heads = [...document.querySelectorAll("#node-table thead th")];
const rowTable = document.querySelector("#row tbody");

/** The numbers of every node by the measure that is shown. */
function fillNodes(measure) {
  document.getElementById("nodes-measure").textContent = measure.name;
  for (const row of nodeTable.rows) {
    const rank = Number(row.dataset.rank);
    const cells = [...row.cells].slice(4);
    measure.nodes[rank].forEach((number, at) => {
      const isShare = at % 2 === 1;
      cells[at].textContent = isShare ? (number === null ? "" : changeOf(number)) : valueOf(measure.metric, number);
      cells[at].classList.toggle("worse", isShare && number !== null && worseBy(measure, number) > measure.margin);
    });
    cells[4].textContent = measure.pairs[rank];
  }
}

/** Sorts the nodes by a column, the other way round when asked again. */
function sortNodes(head, measure) {
  const { key } = head.dataset;
  const down = head.getAttribute("aria-sort") === "ascending";
  heads.forEach((other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = { name: 0, leaf: 1, state: 2, found: 3 }[key];
  const number = (row) => {
    const rank = Number(row.dataset.rank);
    return key === "pairs" ? measure.pairs[rank] : measure.nodes[rank][Number(key)] ?? Infinity;
  };
  const compare = text === undefined
    ? (a, b) => number(a) - number(b)
    : (a, b) => natural.compare(a.cells[text].textContent, b.cells[text].textContent);
  const rows = [...nodeTable.rows].sort((a, b) => (compare(a, b) || 0) * (down ? -1 : 1));
  nodeTable.append(...rows);
}

/** The row of the chosen requester, in the order of the map. */
function fillRow(data) {
  if (!document.getElementById("row").open || !view.chosen) return;
  const measure = data.measures[view.measure];
  const { row } = view.chosen;
  document.querySelector("#row summary").textContent = `The row of ${known.nodes[row].name} as a table`;
  const rows = view.order.filter((rank) => rank !== row).map((column) => {
    const cell = cellOf({ row, column });
    const line = element("tr");
    const head = element("th", known.nodes[column].name);
    head.scope = "row";
    const value = states[cell] === HAS ? valueOf(measure.metric, measure.values[cell]) : "none";
    const residual = states[cell] === HAS ? changeOf(measure.residuals[cell]) : "none";
    line.append(head, element("td", value, "n"), element("td", residual, "n"), element("td", SAID[states[cell]]));
    return line;
  });
  rowTable.replaceChildren(...rows);
}
