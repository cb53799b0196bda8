"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";

  /** An element with attributes and children; text never becomes markup. */
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "path", "g", "circle", "rect", "text", "line", "title"].includes(tag);
    const node = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    for (const child of children) node.append(child);
    return node;
  }
  const shown = (value) => (value === null ? "missing" : String(Number(value.toPrecision(4))));
  const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;

  /* light or dark */
  const theme = byId("theme");
  const preferred = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : preferred.matches;
  };
  function tellTheme() {
    theme.setAttribute("aria-pressed", String(isDark()));
  }
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    tellTheme();
    drawMap();
  });
  preferred.addEventListener("change", () => { tellTheme(); drawMap(); });

  /* points */
  const choice = byId("point");
  const places = new Map(data.points.map((point, place) => [point.row, place]));
  let current = -1;

  function listPoints(words) {
    const wanted = words.trim().toLowerCase();
    choice.replaceChildren();
    data.points.forEach((point, place) => {
      if (wanted && !point.name.toLowerCase().includes(wanted)) return;
      const label = point.share > 0 ? `${point.name} (${percent(point.share)} suspect)` : point.name;
      choice.append(make("option", { value: place }, label));
    });
    choice.disabled = choice.options.length === 0;
  }
  const nameOf = (j) => data.names[j];

  /** A few round numbers from `low` to `high`. */
  function ticks(low, high, count) {
    const raw = (high - low) / count;
    if (!(raw > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= raw * (1 - 1e-9));
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k += 1) found.push(k * step);
    return found;
  }
  const narrow = window.matchMedia("(max-width: 560px)");

  function images(point) {
    const captions = { value: "Original", expected: "Expected", trust: "Trust", repaired: "Repaired" };
    const box = make("div", { class: "four" });
    for (const [name, caption] of Object.entries(captions)) {
      const alt = `${caption} image of point ${point.name}`;
      box.append(make("figure", {}, make("figcaption", {}, caption), make("img", { src: point.images[name], alt })));
    }
    const ramp = make("img", { class: "ramp", src: data.scale.trust, alt: "" });
    const said = `. In the others black is ${shown(data.scale.black)} and white ${shown(data.scale.white)}.`;
    return make("div", {}, box, make("p", {}, make("small", {}, "Trust from 0 ", ramp, " to 1", said)));
  }

  function series(point) {
    const width = narrow.matches ? 420 : 900, height = 240, left = 60, bottom = 30, top = 10;
    const lines = point.series, count = lines.value.length;
    const all = [...lines.value, ...lines.repaired, ...lines.expected].filter((value) => value !== null);
    const low = Math.min(...all), high = Math.max(...all), span = high - low || 1;
    const x = (i) => left + (i / Math.max(1, count - 1)) * (width - left - 10);
    const y = (value) => height - bottom - ((value - low) / span) * (height - bottom - top);
    const said = `Series of point ${point.name}: ${lines.suspect.length} stretches are suspect.`;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said });
    const half = 0.5 * (x(1) - x(0));
    for (const [from, to] of lines.suspect) {
      svg.append(make("rect", { class: "shade", x: x(from) - half, y: top, width: Math.max(2, x(to) - x(from) + 2 * half), height: height - bottom - top }));
    }
    for (const value of ticks(low, high, 4)) {
      svg.append(make("line", { class: "grid", x1: left, x2: width - 10, y1: y(value), y2: y(value) }));
      svg.append(make("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, shown(value)));
    }
    for (const share of [0, 0.5, 1]) {
      const at = Math.round(share * (data.axis.length - 1));
      const anchor = share === 0 ? "start" : share === 1 ? "end" : "middle";
      svg.append(make("text", { class: "tick", x: x(share * (count - 1)), y: height - 10, "text-anchor": anchor }, shown(data.axis[at])));
    }
    const looks = { expected: "green dashed", value: "red", repaired: "blue" };
    for (const [name, look] of Object.entries(looks)) {
      let path = "", pen = "M";
      lines[name].forEach((value, i) => {
        if (value === null) { pen = "M"; return; }
        path += `${pen}${x(i).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      svg.append(make("path", { class: `line ${look}`, d: path }));
    }
    const legend = make("p", { class: "legend" });
    for (const [name, look] of Object.entries({ original: "red", expected: "green dashed", repaired: "blue" })) {
      const key = make("svg", { width: 28, height: 10, "aria-hidden": "true" }, make("path", { class: `line ${look}`, d: "M0 5L28 5" }));
      legend.append(make("span", {}, key, ` ${name}`));
    }
    if (lines.suspect.length) legend.append(make("span", {}, "shaded: suspect"));
    return make("div", {}, svg, legend);
  }

  function entries(point) {
    const head = make("tr");
    for (const name of [data.kind === "words" ? "Word" : "Attribute", "Value", "Expected"]) head.append(make("th", { scope: "col" }, name));
    head.append(make("th", { scope: "col" }, make("span", { class: "wide" }, "Value and expected")));
    for (const name of ["Trust", "Repaired"]) head.append(make("th", { scope: "col" }, name));
    const body = make("tbody");
    for (const [j, value, expected, trust, repaired, suspect] of point.entries) {
      const name = make("th", { scope: "row" }, make("bdi", {}, nameOf(j)));
      if (suspect) name.append(" ", make("span", { class: "tag" }, "suspect"));
      const largest = data.largest[j] || 1;
      const width = (number) => `width:${Math.min(100, (100 * Math.abs(number ?? 0)) / largest).toFixed(1)}%`;
      const both = make("span", { class: "both", "aria-hidden": "true" },
        make("span", { class: `bar ${suspect ? "red" : "blue"}`, style: width(value) }),
        make("span", { class: "bar hollow", style: width(expected) }));
      const cells = [shown(value), shown(expected), both, trust === null ? "missing" : trust.toFixed(2), shown(repaired)];
      const row = make("tr", suspect ? { class: "suspect" } : {}, name);
      for (const cell of cells) row.append(make("td", {}, cell));
      body.append(row);
    }
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Attributes of point ${point.name}` },
      make("table", { class: "entries" }, make("thead", {}, head), body));
  }

  function pick(place) {
    if (!(place in data.points)) return;
    current = place;
    const point = data.points[place];
    if (![...choice.options].some((option) => Number(option.value) === place)) {
      byId("find-point").value = "";
      listPoints("");
    }
    choice.value = String(place);
    const missing = point.missing ? `, ${point.missing} entries missing` : "";
    byId("said").textContent = `Point ${point.name}: ${percent(point.share)} of its entries are suspect${missing}.`;
    const box = byId("picked");
    box.replaceChildren();
    if (point.images) box.append(images(point));
    if (point.series) box.append(series(point));
    box.append(make("h3", {}, "Least trusted first"), entries(point));
    mark();
  }
  function step(by) {
    const listed = [...choice.options].map((option) => Number(option.value));
    if (listed.length === 0) return;
    const at = listed.indexOf(current);
    pick(listed[(at + by + listed.length) % listed.length]);
  }
  choice.addEventListener("change", () => pick(Number(choice.value)));
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("find-point").addEventListener("input", (event) => {
    listPoints(event.target.value);
    if (choice.options.length) pick(Number(choice.options[0].value));
    else byId("said").textContent = "No point has such a name.";
  });
  function goTo(row) {
    if (!places.has(row)) return;
    pick(places.get(row));
    byId("points").scrollIntoView();
    choice.focus({ preventScroll: true });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.pick");
    if (button) goTo(Number(button.dataset.row));
  });
  for (const button of document.querySelectorAll("button.pick")) {
    if (!places.has(Number(button.dataset.row))) button.replaceWith(...button.childNodes);
  }

  /* the table of suspects */
  const table = byId("table");
  if (table) {
    const FEW = 50;
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const more = byId("more"), search = byId("search");
    let all = rows.length <= FEW;
    const update = () => {
      const wanted = search.value.trim().toLowerCase();
      let found = 0;
      for (const row of body.rows) {
        const fits = !wanted || `${row.cells[0].textContent}\n${row.cells[1].textContent}`.toLowerCase().includes(wanted);
        found += fits ? 1 : 0;
        row.hidden = !fits || (!all && found > FEW);
      }
      more.hidden = all || found <= FEW;
      byId("counted").textContent = wanted ? `${found} of ${rows.length} rows` : `${rows.length} rows`;
    };
    search.addEventListener("input", update);
    more.addEventListener("click", () => { all = true; update(); table.parentElement.focus(); });
    const buttons = [...table.tHead.querySelectorAll("button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        const header = button.parentElement, column = Number(button.dataset.column);
        const down = header.getAttribute("aria-sort") === "ascending";
        for (const other of buttons) {
          other.parentElement.removeAttribute("aria-sort");
          other.querySelector("span").textContent = "";
        }
        header.setAttribute("aria-sort", down ? "descending" : "ascending");
        button.querySelector("span").textContent = down ? " ↓" : " ↑";
        const key = (row) => { const cell = row.cells[column]; return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent; };
        const order = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));
        const sorted = rows.slice().sort((a, b) => (down ? -1 : 1) * order(key(a), key(b)));
        body.append(...sorted);
        update();
      });
    }
    window.addEventListener("beforeprint", () => { for (const row of body.rows) row.hidden = false; });
    window.addEventListener("afterprint", update);
    update();
  }

  /* the map */
  const LIGHT = ["#0072b2", "#c24e00", "#00795a", "#a8437f", "#7a6000", "#333333", "#3d7ea6", "#7b3294"];
  const DARK = ["#5db8f0", "#ff9a52", "#3fc79d", "#e796c0", "#f0d442", "#e6e9ec", "#9fd0ff", "#c9a0e8"];
  const SHAPES = [
    (r) => `M${-r} 0A${r} ${r} 0 1 0 ${r} 0A${r} ${r} 0 1 0 ${-r} 0`,
    (r) => `M${-r} ${-r}H${r}V${r}H${-r}Z`,
    (r) => `M0 ${-1.2 * r}L${1.2 * r} ${r}H${-1.2 * r}Z`,
    (r) => `M0 ${-1.4 * r}L${1.4 * r} 0L0 ${1.4 * r}L${-1.4 * r} 0Z`,
    (r) => `M0 ${1.2 * r}L${1.2 * r} ${-r}H${-1.2 * r}Z`,
    (r) => `M${-r} ${-r / 3}H${-r / 3}V${-r}H${r / 3}V${-r / 3}H${r}V${r / 3}H${r / 3}V${r}H${-r / 3}V${r / 3}H${-r}Z`,
    (r) => `M${-r} ${-r}L0 ${-r / 3}L${r} ${-r}L${r / 3} 0L${r} ${r}L0 ${r / 3}L${-r} ${r}L${-r / 3} 0Z`,
  ];
  const box = byId("map-box");
  let at = 0, here = null, spots = [];

  function drawMap() {
    if (!box) return;
    const map = data.map, width = narrow.matches ? 420 : 900, height = narrow.matches ? 400 : 520, edge = 30;
    const group = map.groups[byId("colour").value];
    const range = (values) => { const low = Math.min(...values), high = Math.max(...values); return [low, high - low || 1]; };
    const [left, wide] = range(map.x), [low, tall] = range(map.y);
    spots = map.x.map((x, i) => [edge + ((x - left) / wide) * (width - 2 * edge), height - edge - ((map.y[i] - low) / tall) * (height - 2 * edge)]);
    const colours = isDark() ? DARK : LIGHT;
    const look = (k) => (k < 0 ? ["var(--soft)", SHAPES[0]] : [colours[k % colours.length], SHAPES[k % SHAPES.length]]);
    const said = `Map of ${map.x.length} points by two directions that have ${map.shares[0]} and ${map.shares[1]} percent of the variance. Arrow keys go from point to point, Enter picks one.`;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "application", "aria-label": said });
    const size = map.x.length > 400 ? 3.5 : 5;
    spots.forEach(([x, y], i) => {
      const [fill, shape] = look(group.of[i]);
      svg.append(make("path", { class: "place", d: shape(size), transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, fill, "data-at": i }));
    });
    here = make("circle", { class: "here", r: 11, cx: -50, cy: -50 });
    svg.append(here);
    const legend = make("p", { class: "legend" });
    const named = group.classes.map((name, k) => [name, k]);
    if (group.of.includes(-1)) named.push(["others", -1]);
    for (const [name, k] of named) {
      const [fill, shape] = look(k);
      const key = make("svg", { viewBox: "-8 -8 16 16", style: "width:16px", "aria-hidden": "true" }, make("path", { d: shape(5), fill }));
      legend.append(make("span", {}, key, " ", make("bdi", {}, name)));
    }
    box.replaceChildren(svg, legend);
    svg.addEventListener("click", (event) => {
      const spot = event.target.closest(".place");
      if (spot) { at = Number(spot.dataset.at); choose(); }
    });
    svg.addEventListener("keydown", (event) => {
      const move = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [1, -1], ArrowDown: [1, 1] }[event.key];
      if (move) { at = neighbour(...move); tell(); event.preventDefault(); }
      if (event.key === "Enter") choose();
    });
    mark();
  }
  function neighbour(axis, sign) {
    let best = at, least = Infinity;
    spots.forEach((spot, i) => {
      const along = sign * (spot[axis] - spots[at][axis]), across = Math.abs(spot[1 - axis] - spots[at][1 - axis]);
      const distance = along + 2 * across;
      if (i !== at && along > 0 && distance < least) { least = distance; best = i; }
    });
    return best;
  }
  function tell() {
    const map = data.map, group = map.groups[byId("colour").value];
    const of = group.of[at] < 0 ? "others" : group.classes[group.of[at]];
    here.setAttribute("cx", spots[at][0]);
    here.setAttribute("cy", spots[at][1]);
    const known = places.has(map.rows[at]) ? "Enter shows it." : "It is not among the points that can be picked.";
    byId("map-said").textContent = `Point ${map.names[at]}, ${of}. ${known}`;
  }
  function choose() {
    tell();
    if (places.has(data.map.rows[at])) goTo(data.map.rows[at]);
  }
  function mark() {
    if (!box || !here || current < 0) return;
    const found = data.map.rows.indexOf(data.points[current].row);
    if (found < 0) return;
    at = found;
    here.setAttribute("cx", spots[at][0]);
    here.setAttribute("cy", spots[at][1]);
  }
  if (box) byId("colour").addEventListener("change", drawMap);

  tellTheme();
  listPoints("");
  drawMap();
  pick(places.get(data.first) ?? 0);
  narrow.addEventListener("change", () => { drawMap(); pick(current); });
})();
