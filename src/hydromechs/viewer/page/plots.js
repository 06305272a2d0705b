"use strict";
// Draws the groups of curves packed by _client.py. All plots share one zoom and the time of the scene.

class Plots {
  constructor(data, array, runs, seek) {
    this.data = data;
    this.array = array;
    this.runs = runs;
    this.seek = seek;
    this.plots = [];
    this.plans = [];
    this.now = null;
    this.zoom = null;
    const watch = new IntersectionObserver(entries => {
      for (const entry of entries) if (entry.isIntersecting) {
        watch.unobserve(entry.target);
        if (!entry.target.plot) entry.target.make();
      }
    }, { rootMargin: "400px" });
    for (const place of document.querySelectorAll("[data-group]")) this.addGroup(place, data[place.dataset.group], watch);
    new ResizeObserver(() => this.resize()).observe(document.body);
    addEventListener("beforeprint", () => document.querySelectorAll(".plot").forEach(place => place.plot || place.make()));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.remake());
  }

  addGroup(place, group, watch) {
    const toggles = group.columns > 1 && group.panels[0].tables[0].curves.length > 1 ? element("div", "toggles") : null;
    const own = [];
    if (group.plan) place.append(element("div", "panel plan"));
    if (group.plan) this.plans.push(new Plan(place.firstChild, group.plan, this.array));
    place.classList.toggle("with-plan", Boolean(group.plan));
    group.panels.forEach((panel, k) => {
      const box = element("div", "panel"), head = element("h4", "", panel.title), value = element("span", "value");
      if (panel.label) head.append(element("span", "unit", panel.label));
      if (panel.note) head.append(element("span", "note", panel.note));
      const body = element("div", "plot");
      head.append(value);
      box.append(head, body);
      place.append(box);
      const below = k >= group.panels.length - group.columns;
      body.make = () => {
        const plot = this.plot(body, value, panel, group.columns > 1, below);
        this.plots.push(plot);
        own.push(plot);
        body.plot = plot;
      };
      watch.observe(body);
    });
    if (!toggles) return;
    group.panels[0].tables[0].curves.forEach((curve, k) => {
      const button = element("button", "toggle", curve.name);
      button.style.setProperty("--colour", curve.colour);
      button.setAttribute("aria-pressed", "true");
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        for (const plot of own) plot.setSeries(k + 1, { show: on });
      });
      toggles.append(button);
    });
    place.after(toggles);
  }

  plot(body, value, panel, small, below) {
    const style = getComputedStyle(document.body), ink = style.getPropertyValue("--soft"), line = style.getPropertyValue("--line");
    const joined = this.read(panel), single = joined.length === 2;
    const series = [{ label: "time", value: (u, t) => t == null ? "–" : `${t.toFixed(2)} s` }];
    for (const table of panel.tables) for (const curve of table.curves) series.push({
      label: curve.name + (this.runs.length > 1 ? ` · ${this.runs[table.run]}` : ""), stroke: curve.colour, points: { show: false },
      width: curve.reference ? 1 : 1.5, dash: curve.reference ? [2, 3] : table.run ? [7, 4] : undefined, spanGaps: panel.tables.length > 1,
      value: (u, x) => number(x),
    });
    const axis = { stroke: ink, font: "11px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { stroke: line, size: 4 } };
    const digits = (u, splits, k, space, step) => splits.map(x => x == null ? "" : fixed(x, step));
    const shade = u => {
      u.ctx.fillStyle = "rgb(192 57 43 / 0.18)";
      for (const [a, b] of panel.shaded ?? []) {
        const x = u.valToPos(a, "x", true), end = Math.max(u.valToPos(b, "x", true), x + 1);
        u.ctx.fillRect(x, u.bbox.top, end - x, u.bbox.height);
      }
    };
    const range = (u, low, high) => {
      if (low == null || !isFinite(low)) return [0, 1];
      const need = Math.max(panel.range, 1e-9, 1e-6 * Math.max(Math.abs(low), Math.abs(high))), middle = 0.5 * (low + high);
      const half = Math.max(0.54 * (high - low), 0.5 * need);
      return [middle - half, middle + half];
    };
    const options = {
      width: Math.max(body.clientWidth, 120), height: small ? 120 : 170, padding: [6, 10, 0, 0],
      cursor: { sync: { key: "time", setSeries: false }, drag: { x: true, y: false }, y: false, points: { size: 6 } },
      legend: { show: !small && !single, live: true },
      scales: { x: { time: false }, y: { range, dir: panel.down ? -1 : 1 } },
      axes: [
        { ...axis, values: digits, size: below ? 38 : 22, label: below ? "time [s]" : undefined, labelSize: 16, labelFont: axis.font },
        { ...axis, values: digits, size: (u, texts) => 14 + 6.2 * Math.max(0, ...(texts ?? []).map(text => text.length)), space: 28 },
      ],
      series,
      hooks: {
        drawClear: [shade],
        setScale: [(u, key) => { if (key === "x") this.zoomed(u); }],
        setCursor: [u => { if (single || small) value.textContent = u.cursor.idx == null ? "" : shown(u); }],
        ready: [u => this.mark(u)],
        draw: [u => this.mark(u)],
      },
    };
    const plot = new uPlot(options, joined, body);
    plot.panel = panel;
    plot.marker = plot.over.appendChild(element("div", "marker"));
    let from = 0;
    plot.over.addEventListener("mousedown", event => { from = event.clientX; });
    plot.over.addEventListener("click", event => {
      if (Math.abs(event.clientX - from) < 4) this.seek(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
    });
    if (this.zoom) plot.setScale("x", this.zoom);
    this.mark(plot);
    return plot;
  }

  // Returns the times and curves of a panel as data for uPlot.
  read(panel) {
    const tables = panel.tables.map(table => [this.array(table.t), ...table.curves.map(curve => values(this.array(curve.values)))]);
    return tables.length > 1 ? uPlot.join(tables.map(table => table.map(row => Array.from(row)))) : tables[0];
  }

  // Redraws visible plots after their arrays have changed.
  update() {
    this.zooming = true;  // until uPlot has set its scales, which it does after this task
    for (const plot of this.plots) {
      const { top, bottom } = plot.root.getBoundingClientRect();
      if (bottom > 0 && top < innerHeight) plot.setData(this.read(plot.panel), !this.zoom);
    }
    setTimeout(() => { this.zooming = false; });
  }

  zoomed(from) {
    if (this.zooming || !this.plots.includes(from)) return;
    this.zooming = true;
    const { min, max } = from.scales.x, all = from.data[0];
    this.zoom = min === all[0] && max === all[all.length - 1] ? null : { min, max };
    for (const plot of this.plots) if (plot !== from) plot.setScale("x", { min, max });
    this.zooming = false;
  }

  setTime(t) {
    this.now = t;
    for (const plot of this.plots) this.mark(plot);
    for (const plan of this.plans) plan.setTime(t);
  }

  mark(plot) {
    if (this.now === null || !plot.marker || plot.scales.x.min == null) return;
    const { min, max } = plot.scales.x, inside = this.now >= min && this.now <= max;
    plot.marker.style.display = inside ? "" : "none";
    if (inside) plot.marker.style.transform = `translateX(${plot.valToPos(this.now, "x")}px)`;
  }

  resize() {
    for (const plot of this.plots) {
      const width = plot.root.parentNode.clientWidth;
      if (width && Math.abs(width - plot.width) > 1) plot.setSize({ width, height: plot.height });
    }
  }

  // Redraws all plots in the colours of the page.
  remake() {
    const places = this.plots.map(plot => plot.root.parentNode);
    this.plots.forEach(plot => plot.destroy());
    this.plots.length = 0;
    for (const place of places) place.make();
  }
}

// Plot of paths from above on axes of equal scale, with a dot at the position of each body.
class Plan {
  constructor(place, plan, array) {
    const all = plan.paths.map(path => ({ ...path, points: array(path.points), t: path.t && array(path.t) }));
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const { points } of all) for (let i = 0; i < points.length; i += 2) {
      if (!isFinite(points[i]) || !isFinite(points[i + 1])) continue;
      [x0, x1] = [Math.min(x0, points[i]), Math.max(x1, points[i])];
      [y0, y1] = [Math.min(y0, points[i + 1]), Math.max(y1, points[i + 1])];
    }
    const size = 1.16 * Math.max(x1 - x0, y1 - y0, 0.2), [left, top] = [0.5 * (x0 + x1 - size), 0.5 * (y0 + y1 + size)];
    const at = (points, i) => [(points[2 * i] - left) / size * 300 + 44, (top - points[2 * i + 1]) / size * 300 + 6];
    const step = nice(size / 4), ticks = [];
    for (let x = Math.ceil(left / step) * step; x <= left + size; x += step) {
      const u = (x - left) / size * 300 + 44;
      ticks.push(`<line x1="${u}" x2="${u}" y1="6" y2="306"/><text x="${u}" y="321" text-anchor="middle">${fixed(x, step)}</text>`);
    }
    for (let y = Math.ceil((top - size) / step) * step; y <= top; y += step) {
      const v = (top - y) / size * 300 + 6;
      ticks.push(`<line y1="${v}" y2="${v}" x1="44" x2="344"/><text x="38" y="${v + 4}" text-anchor="end">${fixed(y, step)}</text>`);
    }
    const colours = new Map(all.map(path => [path.name, path.colour]));
    const drawn = all.map(({ points, colour, run, reference }) => {
      const corners = Array.from({ length: points.length / 2 }, (_, i) => at(points, i)).filter(p => p.every(isFinite));
      const dash = reference ? "2 3" : run ? "7 4" : "none";
      const ends = reference || !corners.length ? "" : `<circle cx="${corners[0][0]}" cy="${corners[0][1]}" r="4" class="start"`
        + ` stroke="${colour}"/><rect x="${corners.at(-1)[0] - 3.5}" y="${corners.at(-1)[1] - 3.5}" width="7" height="7" fill="${colour}"/>`;
      const width = reference ? 1 : 1.6;
      return `<polyline points="${corners.map(p => p.map(x => x.toFixed(1)).join()).join(" ")}" stroke="${colour}"`
        + ` stroke-width="${width}" stroke-dasharray="${dash}" fill="none"/>${ends}`;
    });
    place.append(element("h4", "", "Seen from above"));
    const picture = element("div", "map");
    picture.innerHTML = `<svg viewBox="0 0 350 345" role="img" aria-label="Paths from above"><g class="grid">${ticks.join("")}</g>`
      + `<rect class="edge" x="44" y="6" width="300" height="300"/>${drawn.join("")}<text class="label" x="194" y="340"`
      + ` text-anchor="middle"></text><text class="label" transform="translate(10 156) rotate(-90)" text-anchor="middle"></text></svg>`;
    const labels = picture.querySelectorAll(".label");
    [labels[0].textContent, labels[1].textContent] = [plan.x, plan.y];
    const legend = element("p", "names");
    for (const [name, colour] of colours) {
      const entry = element("span", "", name);
      entry.style.setProperty("--colour", colour);
      legend.append(entry);
    }
    place.append(picture, legend);
    this.dots = all.filter(path => !path.reference && path.t.length).map(path => {
      const dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      dot.setAttribute("r", "5");
      dot.setAttribute("class", "now");
      picture.firstChild.append(dot);
      return t => {
        const k = Math.max(0, last(path.t, t)), next = Math.min(k + 1, path.t.length - 1), [a, b] = [at(path.points, k), at(path.points, next)];
        const part = next > k ? Math.min(1, Math.max(0, (t - path.t[k]) / (path.t[next] - path.t[k]))) : 0;
        const [x, y] = [mix(a[0], b[0], part), mix(a[1], b[1], part)];
        if (isFinite(x) && isFinite(y)) [dot.cx.baseVal.value, dot.cy.baseVal.value] = [x, y];
      };
    });
  }

  setTime(t) {
    for (const move of this.dots) move(t);
  }
}

function element(tag, kind, text) {
  const out = document.createElement(tag);
  if (kind) out.className = kind;
  if (text) out.textContent = text;
  if (tag === "button") out.type = "button";
  return out;
}

// Returns values for uPlot, with gaps in place of values that are not finite.
function values(row) {
  return row.every(isFinite) ? row : Array.from(row, x => isFinite(x) ? x : null);
}

function nice(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return power * [1, 2, 5, 10].find(m => m * power >= x);
}

// Formats ticks with enough digits for their step, so that neighbours differ.
function fixed(x, step) {
  if (Math.abs(x) < 1e-9 * step) return "0";
  if (step < 1e-5 || Math.abs(x) >= 1e6) return x.toExponential(Math.max(0, Math.min(12, Math.round(Math.log10(Math.abs(x) / step) + 0.5))));
  let digits = 0;
  while (digits < 10 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
  return x.toFixed(digits).replace("-", "−");
}

function number(x) {
  if (x == null) return "–";
  if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e5)) return x.toExponential(3).replace("-", "−");
  return x.toPrecision(4).replace("-", "−");
}

const shown = u => u.series.slice(1).length > 1 ? `${u.data[0][u.cursor.idx].toFixed(2)} s` : number(u.data[1][u.cursor.idx]);
