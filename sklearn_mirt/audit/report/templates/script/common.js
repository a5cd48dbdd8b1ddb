// Shared by all parts: data, elements, numbers, and the two kinds of tables.
// Names come from outside: text is only ever set with textContent, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const title = (name) => name.charAt(0).toUpperCase() + name.slice(1);
const items = data.items, people = data.respondents, dims = data.dims.map(title);
const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 25;
root.classList.add("has-js");

const by = (id) => document.getElementById(id);
const on = (id, event, action) => by(id).addEventListener(event, action);
function dressed(node, attributes = {}) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}
function el(tag, text, attributes) {
  const node = dressed(document.createElement(tag), attributes);
  if (text !== undefined && text !== null) node.textContent = text;
  return node;
}
function svg(parent, tag, attributes) {
  parent.append(dressed(document.createElementNS(SVG, tag), attributes));
  return parent.lastChild;
}
const num = (text) => el("td", text, { class: "num" });
function fill(select, names) {
  names.forEach((name, k) => select.append(el("option", name.slice(0, 80), { value: k })));
}

const number = (v, digits = 2) =>
  v === null || v === undefined ? "–" : v.toFixed(digits).replace("-", "−");
const percent = (v) => (v === null ? "–" : `${Math.round(100 * v)}%`);
const count = (n) => n.toLocaleString("en");
const short = (text, n) => (text.length > n ? `${text.slice(0, n)}…` : text);
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

// Make buttons of the heads of a table; text rises at the first click, numbers fall.
function sortable(table, sort) {
  const heads = [...table.tHead.querySelectorAll("th")];
  heads.forEach((head, column) => {
    const button = el("button", head.textContent, { type: "button" });
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const text = head.dataset.kind === "text";
      const now = head.getAttribute("aria-sort");
      const up = now ? now === "descending" : text;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      sort(column, up, text);
    });
  });
}

// Rows of a long table, the first ones at first; returns the function that shows others.
function pagedTable(name, total, rowOf) {
  const more = by(`${name}s-more`);
  let found = [], shown = PAGE;
  function draw() {
    by(`${name}-table`).tBodies[0].replaceChildren(...found.slice(0, shown).map(rowOf));
    by(`${name}-count`).textContent = `${count(found.length)} of ${count(total)} ${name}s`;
    more.hidden = shown >= found.length;
  }
  more.addEventListener("click", () => { shown += 4 * PAGE; draw(); });
  return (rows, fromFirst) => {
    found = rows;
    if (fromFirst) shown = PAGE;
    draw();
  };
}
