// ---- abilities of the respondents
const ORDERS = [
  ...dims.map((d, k) => [d, (i) => -people.ability[k][i]]),
  ["mean score", (i) => -(people.mean[i] ?? -1)],
  ["name", (i) => people.id[i]],
];
const ends = people.ability.flatMap((a, k) => a.map((v, i) => Math.abs(v) + 1.96 * people.error[k][i]));
const widest = Math.max(1, ...ends.slice(0, 50000));
const showPeople = pagedTable("respondent", people.id.length, (i) => {
  const row = el("tr");
  row.append(el("th", people.id[i], { scope: "row", class: "name", dir: "auto" }));
  dims.forEach((_, k) => {
    const value = people.ability[k][i], half = 1.96 * people.error[k][i];
    row.append(num(number(value)), num(`[${number(value - half)}, ${number(value + half)}]`), whisker(value, half));
    if (!people.rank) return;
    const interval = `[${people.low_rank[k][i]}–${people.high_rank[k][i]}]`;
    row.append(num(`${people.rank[k][i]} ${interval}`), num(people.n_tied[k][i]));
  });
  row.append(num(percent(people.mean[i])), num(count(people.n[i])));
  return row;
});
function whisker(value, half) {
  const cell = el("td"), x = (v) => 60 + (58 * v) / widest;
  const picture = svg(cell, "svg", { class: "interval", viewBox: "0 0 120 11", "aria-hidden": "true" });
  svg(picture, "line", { class: "zero", x1: 60, x2: 60, y1: 0, y2: 11 });
  svg(picture, "line", { class: "whisker", x1: x(value - half), x2: x(value + half), y1: 5.5, y2: 5.5 });
  svg(picture, "circle", { class: "dot", cx: x(value), cy: 5.5, r: 3 });
  return cell;
}
function listPeople(fromFirst) {
  const wanted = by("respondent-search").value.toLowerCase();
  const [, key] = ORDERS[+by("respondent-sort").value];
  const found = [...people.id.keys()].filter((i) => people.id[i].toLowerCase().includes(wanted));
  showPeople(found.sort((a, b) => compare(key(a), key(b))), fromFirst);
}
fill(by("respondent-sort"), ORDERS.map(([name]) => name));
on("respondent-search", "input", () => listPeople(true));
on("respondent-sort", "change", () => listPeople(false));
listPeople(true);
