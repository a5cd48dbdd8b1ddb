// ---- tables of benchmarks and subsets
for (const table of document.querySelectorAll("table.sortable")) {
  sortable(table, (column, up, text) => {
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
}
function filterBenchmarks() {
  const wanted = by("filter-name").value.toLowerCase(), verdict = by("filter-verdict").value;
  const rows = [...by("benchmark-table").tBodies[0].rows];
  for (const row of rows) {
    row.hidden = !row.cells[0].dataset.sort.toLowerCase().includes(wanted) ||
      (verdict !== "" && row.dataset.verdict !== verdict);
  }
  const shown = rows.filter((row) => !row.hidden).length;
  by("filter-count").textContent = `${shown} of ${rows.length} benchmarks`;
}
on("filter-name", "input", filterBenchmarks);
on("filter-verdict", "change", filterBenchmarks);
filterBenchmarks();

// ---- one section per benchmark
const openAll = (open) => {
  for (const section of document.querySelectorAll("details.benchmark")) section.open = open;
};
on("open-all", "click", () => openAll(true));
on("close-all", "click", () => openAll(false));
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

// ---- light and dark
const MODES = ["auto", "light", "dark"];
function setTheme(mode) {
  if (mode === "auto") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", mode);
  by("theme").textContent = title(mode);
  try { localStorage.setItem("sklearn-mirt-theme", mode); } catch { /* no storage here */ }
  drawPlane();
}
on("theme", "click", () => {
  const mode = root.getAttribute("data-theme") || "auto";
  setTheme(MODES[(MODES.indexOf(mode) + 1) % MODES.length]);
});
let stored = "auto";
try { stored = localStorage.getItem("sklearn-mirt-theme") || "auto"; } catch { /* no storage here */ }
setTheme(MODES.includes(stored) ? stored : "auto");
root.dataset.ready = "yes";
