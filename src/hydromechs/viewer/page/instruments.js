"use strict";
// Instruments that overlay the scene, for the station and for simulations in a page; functions return SVG.

const decimals = (x, n = 2) => (x === null || x === undefined ? "–" : Number(x).toFixed(n).replace(/^-(?=[0.]*$)/, ""));
const degrees = (heading, n) => decimals(decimals(heading, n) % 360, n);   // 359.96 is 0.0, not 360.0
const escapeHtml = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

// Headings are measured from x towards y: from north to east in NED, from east to north in ENU, where a right turn decreases them.
const NAMES = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
const windRose = (degrees, axes) => degrees % 45 ? undefined : NAMES[(axes === "ENU" ? 10 - degrees / 45 : degrees / 45) % 8];

function headingTape(heading, axes) {
  const marks = [];
  for (let k = Math.ceil((heading - 42) / 5) * 5; k <= heading + 42; k += 5) {
    const x = (axes === "ENU" ? -3.7 : 3.7) * (k - heading), name = ((k % 360) + 360) % 360, text = windRose(name, axes) ?? (name % 15 ? "" : name);
    marks.push(`<line x1="${x}" x2="${x}" y1="${text === "" ? 8 : 4}" y2="12"/>${text === "" ? "" : `<text x="${x}" y="24">${text}</text>`}`);
  }
  return `<g class="tape">${marks.join("")}</g><path class="pointer" d="M0 13 l-5 -8 h10 z"/><text class="now" x="0" y="41">${degrees(heading, 0)}°</text>`;
}

function depthTape(depth, altitude) {
  const step = 1, px = 22, marks = [];
  for (let d = Math.max(0, Math.ceil(depth - 4.4)); d <= depth + 4.4; d += step) {
    const y = px * (d - depth);
    marks.push(`<line x1="0" x2="${d % 5 ? 6 : 12}" y1="${y}" y2="${y}"/>${d % 5 && depth > 5 ? "" : `<text x="16" y="${y + 4}">${d}</text>`}`);
  }
  if (altitude !== null && altitude < 4.6) marks.push(`<rect class="ground" x="0" y="${px * altitude}" width="84" height="6"/>`);
  return `<g class="tape">${marks.join("")}</g><path class="box" d="M0 0 l8 -11 h74 v22 h-74 z"/><text class="now" x="46" y="5">${decimals(depth, 1)} m</text>`
    + (altitude === null ? "" : `<text class="small" x="82" y="104">alt ${decimals(altitude, 1)} m</text>`);
}

function horizon(roll, pitch) {
  const y = Math.max(-60, Math.min(60, 1.3 * pitch)), ladder = [-30, -20, -10, 10, 20, 30].map((p) =>
    `<line x1="-10" x2="10" y1="${y - 1.3 * p}" y2="${y - 1.3 * p}"/>`).join("");
  return `<defs><clipPath id="round"><circle r="48"/></clipPath></defs><g clip-path="url(#round)"><g transform="rotate(${-roll})">
    <rect class="above" x="-90" y="${y - 180}" width="180" height="180"/><rect class="below" x="-90" y="${y}" width="180" height="180"/>
    <g class="tape"><line x1="-90" x2="90" y1="${y}" y2="${y}"/>${ladder}</g></g></g>
    <circle class="rim" r="48"/><path class="pointer" d="M-24 0 h14 l4 5 M24 0 h-14 l-4 5 M0 0 h.1"/>`;
}

function thrusterPlan(rows) {
  const placed = rows.filter((x) => x.length > 3);
  if (!placed.length) return "";
  const reach = Math.max(0.05, ...placed.flatMap((x) => [Math.abs(x[3]), Math.abs(x[4])]));
  return placed.map(([name, share, saturated, x, y, along, across, up]) => {
    const [u, v] = [44 * y / reach, -44 * x / reach], kind = saturated ? "sat" : "";
    if (Math.abs(up) > 0.7) return `<circle cx="${u}" cy="${v}" r="7"/><circle class="${kind} fill" cx="${u}" cy="${v}" r="${7 * Math.min(1, Math.abs(share))}"/>`;
    return `<circle cx="${u}" cy="${v}" r="3"/><line class="${kind} push" x1="${u}" y1="${v}" x2="${u + 22 * across * share}" y2="${v - 22 * along * share}"/>`;
  }).join("") + `<path d="M0 -56 l-4 7 h8 z" class="bow"/>`;
}

// Shows the last three messages in the field of view, each for eight seconds. `place`: parent element.
class Toasts {
  constructor(place) { this.place = place; this.since = new Map(); }

  show(messages) {
    const now = performance.now();
    for (const text of messages) if (!this.since.has(text)) this.since.set(text, now);
    for (const text of [...this.since.keys()]) if (!messages.includes(text)) this.since.delete(text);
    const shown = [...this.since].filter(([, since]) => now - since < 8000).slice(-3).map(([text]) => text);
    if (String(shown) === this.last) return;
    this.last = String(shown);
    this.place.replaceChildren(...shown.map((text) => Object.assign(document.createElement("div"), { textContent: text })));
  }
}
