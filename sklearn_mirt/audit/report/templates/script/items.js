// ---- item explorer: the list of items, and the panel of one
const flags = { backwards: new Set(items.backwards), saturated: new Set(items.saturated) };
const COLUMNS = [
  [(j) => items.id[j]],
  [(j) => items.benchmarks[items.benchmark[j]]],
  [(j) => items.mean[j], percent],
  [(j) => items.mdisc[j], number],
  [(j) => items.information[j], (v) => number(v, 3)],
];
let order = { column: COLUMNS.length - 1, up: false };
let haystack = null; // in small letters; made for the first search
const showItems = pagedTable("item", items.id.length, (j) => {
  const row = el("tr"), button = el("button", items.id[j], { type: "button", class: "link" });
  button.addEventListener("click", () => choose(j));
  const head = el("th", null, { scope: "row", class: "name", dir: "auto" });
  head.append(button);
  row.append(head);
  for (const [value, format] of COLUMNS.slice(1)) {
    const text = format ? format(value(j)) : value(j);
    row.append(el("td", text, { class: format ? "num" : "name", dir: "auto" }));
  }
  return row;
});

function listItems(found, fromFirst) {
  const [value] = COLUMNS[order.column], sign = order.up ? 1 : -1;
  explorer.matches = [...found].sort((a, b) => {
    const x = value(a), y = value(b);
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * compare(x, y);
  });
  showItems(explorer.matches, fromFirst);
}
function filterItems() {
  const wanted = by("item-search").value.trim().toLowerCase();
  const benchmark = by("item-benchmark").value, flag = by("item-kind").value;
  if (wanted && !haystack) {
    haystack = items.id.map((id, j) => (items.text ? `${id}\n${items.text[j]}` : id).toLowerCase());
  }
  const found = [...items.id.keys()].filter((j) =>
    (benchmark === "" || items.benchmark[j] === +benchmark) &&
    (!flag || flags[flag].has(j)) &&
    (!wanted || haystack[j].includes(wanted)));
  listItems(found, true);
  drawPlane();
}
sortable(by("item-table"), (column, up) => {
  order = { column, up };
  listItems(explorer.matches, false);
});
let waiting = 0;
on("item-search", "input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(filterItems, 120);
});
fill(by("item-benchmark"), items.benchmarks);
for (const id of ["item-benchmark", "item-kind"]) on(id, "change", filterItems);
on("plane", "click", (event) => { const found = itemAt(event); if (found) choose(found.item); });
for (const link of document.querySelectorAll(".item-link")) {
  link.addEventListener("click", () => { choose(+link.dataset.item); by("items").scrollIntoView(); });
}
filterItems();

let bytes = null;
async function loadAnswers() {
  if (bytes) return;
  const packed = Uint8Array.from(atob(data.answers.bytes), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  bytes = new Uint8Array(await new Response(stream).arrayBuffer());
}
// score of a respondent on an item, null where missing
function answer(j, i) {
  const { bits, stride } = data.answers;
  if (bits === 2) {
    const code = (bytes[j * stride + (i >> 2)] >> (2 * (i & 3))) & 3;
    return code === 2 ? null : code;
  }
  const code = bytes[j * stride + i];
  return code === 255 ? null : code / 250;
}
async function choose(j) {
  explorer.chosen = j;
  const panel = by("item-panel");
  panel.replaceChildren(el("h3", items.id[j], { dir: "auto" }));
  if (items.text && items.text[j]) panel.append(el("pre", items.text[j], { dir: "auto" }));
  panel.append(facts(j), curve(j));
  drawPlane();
  if (!data.answers) {
    panel.append(el("p", "Who answered what is too much to carry in this file.", { class: "quiet" }));
    return;
  }
  await loadAnswers();
  if (explorer.chosen === j) panel.append(...whoGotIt(j));
}
function facts(j) {
  const list = el("dl");
  const fact = (name, value) => list.append(el("dt", name), el("dd", value, { dir: "auto" }));
  fact("Benchmark", items.benchmarks[items.benchmark[j]]);
  if (items.subset) fact("Subset", items.subsets[items.subset[j]]);
  fact("Mean score", `${percent(items.mean[j])} of ${count(items.n[j])} answers`);
  dims.forEach((name, k) => fact(`Slope, ${name}`, `${number(items.slopes[k][j])} ± ${number(items.errors[k][j])}`));
  fact("Intercept", number(items.intercept[j]));
  if (items.guessing) fact("Guessing", number(items.guessing[j]));
  fact("Discrimination", number(items.mdisc[j]));
  fact("Information", number(items.information[j], 3));
  if (flags.backwards.has(j)) fact("Note", "runs backwards");
  if (flags.saturated.has(j)) fact("Note", "saturated");
  if (items.null && items.null.includes(j)) fact("Null control", "explained no better than in shuffled answers");
  return list;
}

// Pixels of an ability and of a probability in the picture of the template.
const across = (ability) => 80 + 25 * ability, height = (p) => 70 - 70 * p;
const steepness = (j) => Math.hypot(...items.slopes.map((s) => s[j]));
function curve(j) {
  const figure = by("item-curve").content.firstElementChild.cloneNode(true);
  const a = steepness(j), g = items.guessing ? items.guessing[j] : 0, points = [];
  for (let v = -3.2; v <= 3.2; v += 0.1) {
    const p = g + (1 - g) / (1 + Math.exp(-(a * v + items.intercept[j])));
    points.push(`${across(v).toFixed(1)},${height(p).toFixed(1)}`);
  }
  figure.querySelector(".curve").setAttribute("points", points.join(" "));
  return figure;
}
function whoGotIt(j) {
  const ability = people.id.map((_, i) => // along the item's own direction
    people.ability.reduce((sum, a, k) => sum + a[i] * items.slopes[k][j], 0) / (steepness(j) || 1));
  const mostAbleFirst = [...ability.keys()].sort((a, b) => ability[b] - ability[a]);
  const right = [], wrong = [], missing = [];
  for (const i of mostAbleFirst) {
    const score = answer(j, i), passed = score >= 0.5;
    (score === null ? missing : passed ? right : wrong).push(i);
    if (score === null || ability.length > 3000) continue;
    const cx = Math.max(0, Math.min(160, across(ability[i])));
    const cy = height(score) + (passed ? -1.6 : 1.6);
    svg(by("curve"), "circle", { class: passed ? "dot" : "wrong", cx, cy, r: 1.1, opacity: 0.6 });
  }
  const list = (heading, who, end = "") => {
    const names = who.slice(0, 30).map((i) => short(people.id[i], 80)).join(", ");
    const others = who.length > 30 ? `, and ${count(who.length - 30)} more` : "";
    return [
      el("h4", `${heading} (${count(who.length)})${end}`),
      el("p", names + others || "nobody", { class: "quiet", dir: "auto" }),
    ];
  };
  return [
    ...list("Got it right", right, ", most able first"),
    ...list("Got it wrong", wrong, ", most able first"),
    ...(missing.length ? list("No answer", missing) : []),
  ];
}
