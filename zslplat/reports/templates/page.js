(function () {
  "use strict";
  var root = document.documentElement, said = document.getElementById("said");

  // Light and dark: as the system has it, until the reader chooses.
  var toggle = document.getElementById("theme"), system = matchMedia("(prefers-color-scheme: dark)");
  function kept(value) {
    try {
      if (value) { localStorage.setItem("zslplat-theme", value); }
      return localStorage.getItem("zslplat-theme");
    } catch (error) { return null; }
  }
  function isDark() { return root.dataset.theme ? root.dataset.theme === "dark" : system.matches; }
  function name() { toggle.textContent = isDark() ? "Light colours" : "Dark colours"; }
  if (kept()) { root.dataset.theme = kept(); }
  toggle.hidden = false;
  name();
  system.addEventListener("change", name);
  toggle.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept(root.dataset.theme);
    name();
  });

  // Tables are sorted by a button in each heading: numbers by their exact values, the rest as text, nothing last.
  function valueOf(row, place) {
    var cell = row.cells[place], value = cell.dataset.value, text = cell.textContent.trim();
    if (value !== undefined) { return { rank: 0, number: Number(value) }; }
    return { rank: text === "" || text === "\u2013" ? 2 : 1, text: text };
  }
  function compare(a, b, sign) {
    if (a.rank !== b.rank) { return a.rank - b.rank; }
    if (a.rank === 0) { return sign * (a.number - b.number); }
    return a.rank === 1 ? sign * a.text.localeCompare(b.text, undefined, { numeric: true }) : 0;
  }
  function sort(table, heading, place) {
    var down = heading.getAttribute("aria-sort") === "descending";
    var fresh = !heading.hasAttribute("aria-sort");
    var descending = fresh ? heading.classList.contains("number") : !down;
    var body = table.tBodies[0], rows = Array.from(body.rows);
    rows.map(function (row, i) { return { row: row, value: valueOf(row, place), i: i }; })
      .sort(function (a, b) { return compare(a.value, b.value, descending ? -1 : 1) || a.i - b.i; })
      .forEach(function (entry) { body.appendChild(entry.row); });
    table.querySelectorAll("th[aria-sort]").forEach(function (other) { other.removeAttribute("aria-sort"); });
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    said.textContent = "Sorted by " + heading.textContent + ", " + (descending ? "largest first" : "smallest first");
  }
  document.querySelectorAll("table.sortable").forEach(function (table) {
    if (table.tBodies[0].rows.length < 2) { return; }
    Array.from(table.tHead.rows[0].cells).forEach(function (heading, place) {
      var button = document.createElement("button");
      button.type = "button";
      while (heading.firstChild) { button.appendChild(heading.firstChild); }
      heading.appendChild(button);
      button.addEventListener("click", function () { sort(table, heading, place); });
    });
  });

  // Paper cannot be clicked: everything is open while printing.
  var closed = [];
  addEventListener("beforeprint", function () {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach(function (part) { part.open = true; });
  });
  addEventListener("afterprint", function () { closed.forEach(function (part) { part.open = false; }); });

  // A link into a folded part opens it.
  function reveal() {
    var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (var part = target; part; part = part.parentElement) { if (part.tagName === "DETAILS") { part.open = true; } }
  }
  addEventListener("hashchange", reveal);
  reveal();
}());
