"use strict";
(() => {
  // Names come from outside: text is only ever set with textContent, never as HTML.
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 25;
  // Okabe and Ito (2008), without yellow; shapes tell groups of one colour apart.
  const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F"];
  const SHAPES = ["circle", "square", "up", "diamond", "down"];
  root.classList.add("has-js");

  function el(tag, text, attributes) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    return node;
  }
  function svg(tag, attributes, parent) {
    const node = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (parent) parent.append(node);
    return node;
  }
  const number = (v, digits = 2) =>
    v === null || v === undefined ? "–" : v.toFixed(digits).replace("-", "−");
  const percent = (v) => (v === null ? "–" : `${Math.round(100 * v)}%`);
  const count = (n) => n.toLocaleString("en");
  const title = (name) => name.charAt(0).toUpperCase() + name.slice(1);

  // ---- light and dark
  const MODES = ["auto", "light", "dark"];
  function setTheme(mode) {
    if (mode === "auto") root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", mode);
    by("theme").textContent = title(mode);
    try { localStorage.setItem("sklearn-mirt-theme", mode); } catch { /* no storage here */ }
    drawPlane();
  }
  by("theme").addEventListener("click", () => {
    const mode = root.getAttribute("data-theme") || "auto";
    setTheme(MODES[(MODES.indexOf(mode) + 1) % MODES.length]);
  });

  // ---- tables that are in the page
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  for (const table of document.querySelectorAll("table.sortable")) {
    table.querySelectorAll("thead th").forEach((head, column) => {
      const button = el("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const text = head.dataset.kind === "text";
        const now = head.getAttribute("aria-sort");
        const up = now ? now === "descending" : text;
        for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => {
          const value = row.cells[column].dataset.sort ?? "";
          if (text) return value.toLowerCase();
          const parsed = parseFloat(value);
          return Number.isNaN(parsed) ? (up ? Infinity : -Infinity) : parsed;
        };
        const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
        rows.sort((a, b) => (up ? compare(a[0], b[0]) : compare(b[0], a[0])));
        table.tBodies[0].append(...rows.map((pair) => pair[1]));
      });
    });
  }
  function filterBenchmarks() {
    const wanted = by("filter-name").value.toLowerCase();
    const verdict = by("filter-verdict").value;
    const rows = [...by("benchmark-table").tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const match = row.cells[0].dataset.sort.toLowerCase().includes(wanted) &&
        (!verdict || row.dataset.verdict === verdict);
      row.hidden = !match;
      shown += match;
    }
    by("filter-count").textContent = `${shown} of ${rows.length} benchmarks`;
  }
  by("filter-name").addEventListener("input", filterBenchmarks);
  by("filter-verdict").addEventListener("change", filterBenchmarks);
  filterBenchmarks();

  // ---- one section per benchmark
  const details = [...document.querySelectorAll("details.benchmark")];
  const openAll = (open) => details.forEach((d) => { d.open = open; });
  by("open-all").addEventListener("click", () => openAll(true));
  by("close-all").addEventListener("click", () => openAll(false));
  window.addEventListener("beforeprint", () => openAll(true));
  function openTarget() {
    const target = location.hash && by(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") {
      target.open = true;
      target.scrollIntoView();
    }
  }
  window.addEventListener("hashchange", openTarget);
  // a second click on the same link changes no hash
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#benchmark-"]');
    if (link) by(link.getAttribute("href").slice(1)).open = true;
  });
  openTarget();

  // ---- item explorer
  const items = data.items, people = data.respondents, dims = data.dims.map(title);
  const nItems = items.id.length, nDims = dims.length;
  const flags = { backwards: new Set(items.backwards), saturated: new Set(items.saturated) };
  let haystack = null; // in small letters; made when the first search is
  let matches = [], shownItems = PAGE, chosen = -1, places = null, sortItems = ["information", false];
  const colourOf = (b) => COLOURS[b % COLOURS.length];
  const shapeOf = (b) => SHAPES[Math.floor(b / COLOURS.length) % SHAPES.length];

  function fill(select, names, first) {
    if (first !== undefined) select.append(el("option", first, { value: "" }));
    names.forEach((name, k) => select.append(el("option", name.slice(0, 80), { value: k })));
  }
  fill(by("item-benchmark"), items.benchmarks, "all");
  const AXES = [...dims.map((d) => `slope, ${d}`), "mean score"];
  fill(by("axis-x"), AXES);
  fill(by("axis-y"), AXES);
  by("axis-x").value = 0;
  by("axis-y").value = 1;
  const axisValue = (k, j) => (k < nDims ? items.slopes[k][j] : items.mean[j]);

  function filterItems() {
    const wanted = by("item-search").value.trim().toLowerCase();
    const benchmark = by("item-benchmark").value;
    const kind = by("item-kind").value;
    if (wanted && !haystack) {
      haystack = items.id.map((id, j) => (items.text ? `${id}\n${items.text[j]}` : id).toLowerCase());
    }
    matches = [];
    for (let j = 0; j < nItems; j++) {
      if (benchmark !== "" && items.benchmark[j] !== +benchmark) continue;
      if (kind && !flags[kind].has(j)) continue;
      if (wanted && !haystack[j].includes(wanted)) continue;
      matches.push(j);
    }
    by("item-count").textContent = `${count(matches.length)} of ${count(nItems)} items`;
    shownItems = PAGE;
    listItems();
    drawPlane();
  }
  const COLUMNS = [
    ["id", "Item", (j) => items.id[j]],
    ["benchmark", "Benchmark", (j) => items.benchmarks[items.benchmark[j]]],
    ["mean", "Mean score", (j) => items.mean[j], percent],
    ["mdisc", "Discrimination", (j) => items.mdisc[j], number],
    ["information", "Information", (j) => items.information[j], (v) => number(v, 3)],
  ];
  function headItems() {
    const row = el("tr");
    for (const [key, name, , format] of COLUMNS) {
      const head = el("th", null, { scope: "col" });
      if (format) head.className = "num";
      const button = el("button", name, { type: "button" });
      if (sortItems[0] === key) head.setAttribute("aria-sort", sortItems[1] ? "ascending" : "descending");
      button.addEventListener("click", () => {
        sortItems = [key, sortItems[0] === key ? !sortItems[1] : !format];
        headItems();
        listItems();
        by("item-table").querySelector("[aria-sort] button").focus();
      });
      head.append(button);
      row.append(head);
    }
    by("item-table").tHead.replaceChildren(row);
  }
  function listItems() {
    const get = COLUMNS.find((c) => c[0] === sortItems[0])[2];
    const up = sortItems[1];
    matches.sort((a, b) => {
      const x = get(a), y = get(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return up ? compare(x, y) : compare(y, x);
    });
    const rows = matches.slice(0, shownItems).map((j) => {
      const row = el("tr");
      for (const [key, , value, format] of COLUMNS) {
        const cell = el(key === "id" ? "th" : "td", null, { dir: "auto" });
        if (key === "id") {
          cell.className = "name";
          cell.setAttribute("scope", "row");
          const button = el("button", value(j), { type: "button", class: "link" });
          button.addEventListener("click", () => choose(j));
          cell.append(button);
        } else {
          cell.textContent = format ? format(value(j)) : value(j);
          if (format) cell.className = "num";
          else cell.className = "name";
        }
        row.append(cell);
      }
      return row;
    });
    by("item-table").tBodies[0].replaceChildren(...rows);
    by("items-more").hidden = shownItems >= matches.length;
  }
  by("items-more").addEventListener("click", () => { shownItems += 4 * PAGE; listItems(); });
  let waiting = 0;
  by("item-search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filterItems, 120);
  });
  for (const id of ["item-benchmark", "item-kind"]) by(id).addEventListener("change", filterItems);
  for (const id of ["axis-x", "axis-y"]) by(id).addEventListener("change", () => drawPlane());

  function mark(context, shape, x, y, s) {
    context.beginPath();
    if (shape === "circle") context.arc(x, y, s, 0, 2 * Math.PI);
    else if (shape === "square") context.rect(x - s, y - s, 2 * s, 2 * s);
    else if (shape === "diamond") { context.moveTo(x, y - 1.3 * s); context.lineTo(x + 1.3 * s, y); context.lineTo(x, y + 1.3 * s); context.lineTo(x - 1.3 * s, y); }
    else { const d = shape === "up" ? 1 : -1; context.moveTo(x, y - 1.3 * d * s); context.lineTo(x + 1.2 * s, y + d * s); context.lineTo(x - 1.2 * s, y + d * s); }
    context.fill();
  }
  const extents = [];
  const extent = (k) => extents[k] || (extents[k] = computeExtent(k));
  function computeExtent(k) {
    // the outermost 0.1% of either side do not squeeze the rest
    const step = Math.max(1, Math.floor(nItems / 20000));
    const values = [];
    for (let j = 0; j < nItems; j += step) { const v = axisValue(k, j); if (v !== null) values.push(v); }
    values.sort((a, b) => a - b);
    const at = (q) => values[Math.min(values.length - 1, Math.max(0, Math.round(q * (values.length - 1))))];
    let low = Math.min(0, at(0.001)), high = Math.max(0, at(0.999));
    const margin = 0.06 * Math.max(high - low, 1e-3);
    return [low - margin, high + margin];
  }
  let planned = 0;
  function drawPlane() {
    // however often it is asked for, it is drawn once a frame
    if (!planned) planned = requestAnimationFrame(() => { planned = 0; drawNow(); });
  }
  function drawNow() {
    const canvas = by("plane");
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const c = canvas.getContext("2d");
    c.scale(ratio, ratio);
    const style = getComputedStyle(root);
    const fg = style.getPropertyValue("--fg"), line = style.getPropertyValue("--line");
    const kx = +by("axis-x").value, ky = +by("axis-y").value;
    const [x0, x1] = extent(kx), [y0, y1] = extent(ky);
    const left = 44, bottom = 36, top = 8, right = 8;
    const px = (v) => left + ((v - x0) / (x1 - x0)) * (width - left - right);
    const py = (v) => height - bottom - ((v - y0) / (y1 - y0)) * (height - top - bottom);
    c.strokeStyle = line;
    c.fillStyle = fg;
    c.font = "12px system-ui, sans-serif";
    const ticks = (low, high) => {
      const rough = (high - low) / 6, unit = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough);
      const out = [];
      for (let v = Math.ceil(low / step) * step; v <= high; v += step) out.push(Math.round(v / step) * step);
      return [out, Math.max(0, -Math.floor(Math.log10(step)))];
    };
    const [tx, dx] = ticks(x0, x1), [ty, dy] = ticks(y0, y1);
    c.textAlign = "center";
    for (const v of tx) { c.globalAlpha = v === 0 ? 1 : 0.45; c.beginPath(); c.moveTo(px(v), top); c.lineTo(px(v), height - bottom); c.stroke(); c.globalAlpha = 1; c.fillText(number(v, dx), px(v), height - bottom + 14); }
    c.textAlign = "right";
    for (const v of ty) { c.globalAlpha = v === 0 ? 1 : 0.45; c.beginPath(); c.moveTo(left, py(v)); c.lineTo(width - right, py(v)); c.stroke(); c.globalAlpha = 1; c.fillText(number(v, dy), left - 5, py(v) + 4); }
    c.textAlign = "center";
    c.fillText(AXES[kx], (left + width) / 2, height - 4);
    c.save();
    c.translate(11, (height - bottom) / 2);
    c.rotate(-Math.PI / 2);
    c.fillText(AXES[ky], 0, 0);
    c.restore();
    const n = matches.length, size = n > 20000 ? 1 : n > 3000 ? 1.6 : n > 400 ? 2.6 : 4;
    c.globalAlpha = n > 20000 ? 0.35 : n > 3000 ? 0.5 : 0.75;
    places = { x: new Float32Array(n), y: new Float32Array(n) };
    // a large prime step visits all once, and none of the benchmarks covers the rest
    const stride = n % 7919 ? 7919 : 7907;
    c.save();
    c.beginPath();
    c.rect(left, top, width - left - right, height - top - bottom);
    c.clip();
    for (let k = 0, i = 0; k < n; k++, i = (i + stride) % n) {
      const j = matches[i], x = axisValue(kx, j), y = axisValue(ky, j);
      if (x === null || y === null) { places.x[i] = places.y[i] = -1e6; continue; }
      const X = px(x), Y = py(y), b = items.benchmark[j];
      places.x[i] = X;
      places.y[i] = Y;
      c.fillStyle = colourOf(b);
      if (size < 2) c.fillRect(X - size, Y - size, 2 * size, 2 * size);
      else mark(c, shapeOf(b), X, Y, size);
    }
    c.globalAlpha = 1;
    if (chosen >= 0) {
      c.strokeStyle = fg;
      c.lineWidth = 2;
      c.beginPath();
      c.arc(px(axisValue(kx, chosen)), py(axisValue(ky, chosen)), 8, 0, 2 * Math.PI);
      c.stroke();
    }
    c.restore();
  }
  function nearest(event) {
    const box = by("plane").getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    let best = -1, distance = 144;
    for (let i = 0; places && i < matches.length; i++) {
      const d = (places.x[i] - x) ** 2 + (places.y[i] - y) ** 2;
      if (d < distance) { distance = d; best = i; }
    }
    return best < 0 ? null : { item: matches[best], x, y };
  }
  const short = (text, n) => (text.length > n ? `${text.slice(0, n)}…` : text);
  by("plane").addEventListener("pointermove", (event) => {
    const tip = by("tip"), found = nearest(event);
    tip.hidden = !found;
    if (!found) return;
    const j = found.item;
    tip.replaceChildren(el("b", short(items.id[j], 120), { dir: "auto" }), el("br"),
      `${short(items.benchmarks[items.benchmark[j]], 60)}, mean score ${percent(items.mean[j])}`);
    if (items.text) tip.append(el("br"), short(items.text[j], 160));
    const width = by("plane").clientWidth;
    tip.style.left = found.x > width / 2 ? "auto" : `${found.x + 12}px`;
    tip.style.right = found.x > width / 2 ? `${width - found.x + 12}px` : "auto";
    tip.style.top = `${found.y + 10}px`;
  });
  by("plane").addEventListener("pointerleave", () => { by("tip").hidden = true; });
  by("plane").addEventListener("click", (event) => { const found = nearest(event); if (found) choose(found.item); });
  new ResizeObserver(drawPlane).observe(by("plane"));

  items.benchmarks.slice(0, 40).forEach((name, b) => {
    const entry = el("li", null, { dir: "auto", title: name.slice(0, 200) });
    const icon = document.createElement("canvas");
    icon.width = icon.height = 24;
    icon.style.cssText = "display:inline-block;width:12px;height:12px;cursor:default;vertical-align:-1px;margin-inline-end:.3rem";
    icon.setAttribute("aria-hidden", "true");
    const c = icon.getContext("2d");
    c.fillStyle = colourOf(b);
    mark(c, shapeOf(b), 12, 12, 8);
    entry.append(icon, short(name, 60));
    by("legend").append(entry);
  });
  if (items.benchmarks.length > 40) by("legend").append(el("li", `and ${items.benchmarks.length - 40} more`));

  // ---- one item
  let bytes = null;
  async function loadAnswers() {
    if (bytes || !data.answers) return;
    const text = atob(data.answers.bytes);
    const packed = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  }
  // score of a respondent on an item, null where missing
  function answer(j, i) {
    if (data.answers.bits === 2) {
      const code = (bytes[j * data.answers.stride + (i >> 2)] >> (2 * (i & 3))) & 3;
      return code === 2 ? null : code;
    }
    const code = bytes[j * data.answers.stride + i];
    return code === 255 ? null : code / 250;
  }
  async function choose(j) {
    chosen = j;
    const panel = by("item-panel");
    const add = (...nodes) => panel.append(...nodes);
    panel.replaceChildren(el("h3", items.id[j], { dir: "auto" }));
    const facts = el("dl");
    const fact = (name, value) => facts.append(el("dt", name), el("dd", value, { dir: "auto" }));
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
    if (items.text && items.text[j]) add(el("pre", items.text[j], { dir: "auto" }));
    add(facts, curve(j));
    drawPlane();
    if (!data.answers) { add(el("p", "Who answered what is too much to carry in this file.", { class: "quiet" })); return; }
    await loadAnswers();
    if (chosen === j) add(...whoGotIt(j));
  }
  function along(j) {
    // ability along the item's own direction
    const length = Math.hypot(...items.slopes.map((s) => s[j])) || 1;
    return people.id.map((_, i) => people.ability.reduce((sum, a, k) => sum + a[i] * items.slopes[k][j], 0) / length);
  }
  function curve(j) {
    const box = el("figure");
    const picture = svg("svg", { viewBox: "-14 -6 176 92", role: "img", width: "100%", "aria-label": "Probability of a right answer against ability along the item's direction" }, box);
    const length = Math.hypot(...items.slopes.map((s) => s[j]));
    const g = items.guessing ? items.guessing[j] : 0;
    const x = (v) => 80 + 25 * v, y = (p) => 70 - 70 * p;
    svg("line", { class: "frame", x1: 0, x2: 160, y1: 70, y2: 70 }, picture);
    svg("line", { class: "frame", x1: 0, x2: 0, y1: 0, y2: 70 }, picture);
    const points = [];
    for (let v = -3.2; v <= 3.2; v += 0.1) points.push(`${x(v).toFixed(1)},${y(g + (1 - g) / (1 + Math.exp(-(length * v + items.intercept[j])))).toFixed(1)}`);
    svg("polyline", { class: "curve", points: points.join(" ") }, picture);
    for (const v of [-3, -2, -1, 0, 1, 2, 3]) svg("text", { x: x(v), y: 78, "text-anchor": "middle" }, picture).textContent = number(v, 0);
    svg("text", { x: -3, y: 4, "text-anchor": "end" }, picture).textContent = "1";
    svg("text", { x: -3, y: 72, "text-anchor": "end" }, picture).textContent = "0";
    svg("text", { x: 80, y: 85, "text-anchor": "middle" }, picture).textContent = "ability along the item’s direction";
    picture.id = "curve";
    return box;
  }
  function whoGotIt(j) {
    const ability = along(j), right = [], wrong = [], missing = [];
    const order = ability.map((_, i) => i).sort((a, b) => ability[b] - ability[a]);
    const picture = by("curve");
    for (const i of order) {
      const score = answer(j, i);
      if (score === null) { missing.push(i); continue; }
      (score >= 0.5 ? right : wrong).push(i);
      if (order.length <= 3000) svg("circle", { class: score >= 0.5 ? "dot" : "wrong", cx: Math.max(0, Math.min(160, 80 + 25 * ability[i])), cy: 70 - 70 * score + (score >= 0.5 ? -1.6 : 1.6), r: 1.1, opacity: 0.6 }, picture);
    }
    const list = (who) => {
      const names = who.slice(0, 30).map((i) => short(people.id[i], 80)).join(", ");
      return el("p", names + (who.length > 30 ? `, and ${count(who.length - 30)} more` : "") || "nobody", { class: "quiet", dir: "auto" });
    };
    const out = [el("h4", `Got it right (${count(right.length)}), most able first`), list(right), el("h4", `Got it wrong (${count(wrong.length)}), most able first`), list(wrong)];
    if (missing.length) out.push(el("h4", `No answer (${count(missing.length)})`), list(missing));
    return out;
  }
  for (const link of document.querySelectorAll(".item-link")) {
    link.addEventListener("click", () => { choose(+link.dataset.item); by("items").scrollIntoView(); });
  }

  // ---- abilities
  let shownPeople = PAGE;
  const SORTS = [...dims.map((d, k) => [d, (i) => -people.ability[k][i]]), ["mean score", (i) => -(people.mean[i] ?? -1)], ["name", (i) => people.id[i]]];
  fill(by("respondent-sort"), SORTS.map((s) => s[0]));
  const head = el("tr");
  head.append(el("th", "Respondent", { scope: "col" }));
  dims.forEach((d) => {
    head.append(el("th", d, { scope: "col" }), el("th", "95% interval", { scope: "col" }), el("td"));
    if (people.rank) head.append(el("th", "Rank", { scope: "col", class: "num" }), el("th", "Ties", { scope: "col", class: "num" }));
  });
  head.append(el("th", "Mean score", { scope: "col", class: "num" }), el("th", "Answers", { scope: "col", class: "num" }));
  by("respondent-table").tHead.append(head);
  const reach = Math.max(1, ...people.ability.flatMap((a, k) => a.map((v, i) => Math.abs(v) + 1.96 * people.error[k][i])).slice(0, 50000));
  function listPeople() {
    const wanted = by("respondent-search").value.toLowerCase();
    const key = SORTS[+by("respondent-sort").value || 0][1];
    const found = [];
    people.id.forEach((name, i) => { if (name.toLowerCase().includes(wanted)) found.push(i); });
    found.sort((a, b) => compare(key(a), key(b)));
    by("respondent-count").textContent = `${count(found.length)} of ${count(people.id.length)} respondents`;
    by("respondent-table").tBodies[0].replaceChildren(...found.slice(0, shownPeople).map(personRow));
    by("respondents-more").hidden = shownPeople >= found.length;
  }
  function personRow(i) {
    const row = el("tr");
    row.append(el("th", people.id[i], { scope: "row", class: "name", dir: "auto" }));
    dims.forEach((_, k) => {
      const value = people.ability[k][i], half = 1.96 * people.error[k][i];
      row.append(el("td", number(value), { class: "num" }), el("td", `[${number(value - half)}, ${number(value + half)}]`, { class: "num" }));
      const cell = el("td"), picture = svg("svg", { class: "interval", viewBox: "0 0 120 11", "aria-hidden": "true" }, cell);
      const x = (v) => 60 + (58 * v) / reach;
      svg("line", { class: "zero", x1: 60, x2: 60, y1: 0, y2: 11 }, picture);
      svg("line", { class: "whisker", x1: x(value - half), x2: x(value + half), y1: 5.5, y2: 5.5 }, picture);
      svg("circle", { class: "dot", cx: x(value), cy: 5.5, r: 3 }, picture);
      row.append(cell);
      if (people.rank) row.append(el("td", `${people.rank[k][i]} [${people.low_rank[k][i]}–${people.high_rank[k][i]}]`, { class: "num" }), el("td", people.n_tied[k][i], { class: "num" }));
    });
    row.append(el("td", percent(people.mean[i]), { class: "num" }), el("td", count(people.n[i]), { class: "num" }));
    return row;
  }
  by("respondent-search").addEventListener("input", () => { shownPeople = PAGE; listPeople(); });
  by("respondent-sort").addEventListener("change", listPeople);
  by("respondents-more").addEventListener("click", () => { shownPeople += 4 * PAGE; listPeople(); });

  headItems();
  listPeople();
  filterItems();
  let stored = "auto";
  try { stored = localStorage.getItem("sklearn-mirt-theme") || "auto"; } catch { /* no storage here */ }
  setTheme(MODES.includes(stored) ? stored : "auto");
  root.dataset.ready = "yes";
})();
