// ---- the items in a plane: on a canvas, for suites of 100,000 items
// Okabe and Ito (2008), without yellow; shapes tell groups of one colour apart.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7F7F7F"];
const CIRCLE = [], SQUARE = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
const UP = [[0, -1.3], [1.2, 1], [-1.2, 1]], DOWN = UP.map(([x, y]) => [x, -y]);
const DIAMOND = [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]];
const SHAPES = [CIRCLE, SQUARE, UP, DIAMOND, DOWN];
const LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 36; // margins in pixels
const MOST_NAMED = 40; // benchmarks in the legend
const AXES = [...dims.map((d) => `slope, ${d}`), "mean score"];
const axisValue = (k, j) => (k < dims.length ? items.slopes[k][j] : items.mean[j]);
const explorer = { matches: [], chosen: -1 }; // items shown, and the one in the panel
let places = { items: [], x: [], y: [] }; // pixels of the items drawn

function mark(c, benchmark, x, y, size) {
  const corners = SHAPES[Math.floor(benchmark / COLOURS.length) % SHAPES.length];
  c.fillStyle = COLOURS[benchmark % COLOURS.length];
  if (size < 2) { c.fillRect(x - size, y - size, 2 * size, 2 * size); return; }
  c.beginPath();
  if (corners === CIRCLE) c.arc(x, y, size, 0, 2 * Math.PI);
  for (const [u, v] of corners) c.lineTo(x + size * u, y + size * v);
  c.fill();
}

const extents = [];
function extent(k) {
  if (extents[k]) return extents[k];
  // the outermost 0.1% of either side do not squeeze the rest
  const step = Math.max(1, Math.floor(items.id.length / 20000));
  const values = items.id.map((_, j) => axisValue(k, j)).filter((v, j) => j % step === 0 && v !== null);
  values.sort((a, b) => a - b);
  const at = (q) => values[Math.round(q * (values.length - 1))];
  const low = Math.min(0, at(0.001)), high = Math.max(0, at(0.999));
  const margin = 0.06 * Math.max(high - low, 1e-3);
  return (extents[k] = [low - margin, high + margin]);
}
const scale = ([low, high], from, to) => (v) => from + ((v - low) / (high - low)) * (to - from);
function ticks([low, high]) {
  const rough = (high - low) / 6, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const out = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) {
    const value = Math.round(v / step) * step;
    out.push([value, number(value, digits)]);
  }
  return out;
}

let planned = 0;
function drawPlane() {
  // several calls within one frame draw once
  if (!planned) planned = requestAnimationFrame(() => { planned = 0; drawNow(); });
}
function drawNow() {
  const canvas = by("plane"), c = canvas.getContext("2d");
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  c.scale(ratio, ratio);
  const x = { k: +by("axis-x").value }, y = { k: +by("axis-y").value };
  x.pixel = scale(extent(x.k), LEFT, width - RIGHT);
  y.pixel = scale(extent(y.k), height - BOTTOM, TOP);
  drawAxes(c, x, y, width, height);
  c.save();
  c.beginPath();
  c.rect(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM);
  c.clip();
  drawItems(c, x, y);
  c.restore();
}
function drawAxes(c, x, y, width, height) {
  const style = getComputedStyle(root), bottom = height - BOTTOM;
  const gridLine = (v, x0, y0, x1, y1) => {
    c.globalAlpha = v === 0 ? 1 : 0.45;
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.stroke();
    c.globalAlpha = 1;
  };
  c.strokeStyle = style.getPropertyValue("--line");
  c.fillStyle = style.getPropertyValue("--fg");
  c.font = "12px system-ui, sans-serif";
  c.textAlign = "center";
  for (const [v, text] of ticks(extent(x.k))) {
    gridLine(v, x.pixel(v), TOP, x.pixel(v), bottom);
    c.fillText(text, x.pixel(v), bottom + 14);
  }
  c.fillText(AXES[x.k], (LEFT + width) / 2, height - 4);
  c.save();
  c.translate(11, bottom / 2);
  c.rotate(-Math.PI / 2);
  c.fillText(AXES[y.k], 0, 0);
  c.restore();
  c.textAlign = "right";
  for (const [v, text] of ticks(extent(y.k))) {
    gridLine(v, LEFT, y.pixel(v), width - RIGHT, y.pixel(v));
    c.fillText(text, LEFT - 5, y.pixel(v) + 4);
  }
  c.strokeStyle = style.getPropertyValue("--fg"); // of the ring around the chosen item
}
function drawItems(c, x, y) {
  const { matches, chosen } = explorer, n = matches.length;
  const size = n > 20000 ? 1 : n > 3000 ? 1.6 : n > 400 ? 2.6 : 4;
  const place = (j) => [axisValue(x.k, j), axisValue(y.k, j)];
  const far = () => new Float32Array(n).fill(-1e6);
  places = { items: matches, x: far(), y: far() };
  // a large prime step visits all once, and none of the benchmarks covers the rest
  const stride = n % 7919 ? 7919 : 7907;
  c.globalAlpha = n > 20000 ? 0.35 : n > 3000 ? 0.5 : 0.75;
  for (let k = 0, i = 0; k < n; k++, i = (i + stride) % n) {
    const j = matches[i], [u, v] = place(j);
    if (u === null || v === null) continue;
    places.x[i] = x.pixel(u);
    places.y[i] = y.pixel(v);
    mark(c, items.benchmark[j], x.pixel(u), y.pixel(v), size);
  }
  c.globalAlpha = 1;
  if (chosen < 0) return;
  const [u, v] = place(chosen);
  c.lineWidth = 2;
  c.beginPath();
  c.arc(x.pixel(u), y.pixel(v), 8, 0, 2 * Math.PI);
  c.stroke();
}

function itemAt(event) {
  const box = by("plane").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, distance = 144;
  for (let i = 0; i < places.items.length; i++) {
    const d = (places.x[i] - x) ** 2 + (places.y[i] - y) ** 2;
    if (d < distance) { distance = d; best = i; }
  }
  return best < 0 ? null : { item: places.items[best], x, y };
}
on("plane", "pointermove", (event) => {
  const tip = by("tip"), found = itemAt(event);
  tip.hidden = !found;
  if (!found) return;
  const j = found.item, width = by("plane").clientWidth, onTheRight = found.x > width / 2;
  tip.replaceChildren(el("b", short(items.id[j], 120), { dir: "auto" }), el("br"),
    `${short(items.benchmarks[items.benchmark[j]], 60)}, mean score ${percent(items.mean[j])}`);
  if (items.text) tip.append(el("br"), short(items.text[j], 160));
  tip.style.left = onTheRight ? "auto" : `${found.x + 12}px`;
  tip.style.right = onTheRight ? `${width - found.x + 12}px` : "auto";
  tip.style.top = `${found.y + 10}px`;
});
on("plane", "pointerleave", () => { by("tip").hidden = true; });
for (const id of ["axis-x", "axis-y"]) {
  fill(by(id), AXES);
  on(id, "change", drawPlane);
}
by("axis-y").value = 1;
new ResizeObserver(drawPlane).observe(by("plane"));

items.benchmarks.slice(0, MOST_NAMED).forEach((name, b) => {
  const entry = el("li", null, { dir: "auto", title: name.slice(0, 200) });
  const icon = el("canvas", null, { width: 24, height: 24, "aria-hidden": "true" });
  mark(icon.getContext("2d"), b, 12, 12, 8);
  entry.append(icon, short(name, 60));
  by("legend").append(entry);
});
const nUnnamed = items.benchmarks.length - MOST_NAMED;
if (nUnnamed > 0) by("legend").append(el("li", `and ${nUnnamed} more`));
