"use strict";
// Draws the trail of a body, and many missions at the same time as outlines of a body with paths.

// Growing line in a layer of a scene, which keeps only every n-th point when it becomes long.
class Trail {
  constructor(view, layer, rgb, size = 4000) {
    this.size = size;
    this.points = new Float32Array(3 * size);
    this.line = view.addLine({ layer, color: rgb }, this.points);
    this.clear();
  }
  clear() {
    [this.count, this.last, this.every] = [0, -Infinity, 0.05];
    this.line.geometry.setDrawRange(0, 0);
  }
  add(t, point) {
    if (t < this.last + this.every) return;
    if (this.count === this.size) {
      for (let k = 0; k < this.size / 2; k++) this.points.copyWithin(3 * k, 6 * k, 6 * k + 3);
      [this.count, this.every] = [this.size / 2, 2 * this.every];
    }
    this.points.set(point, 3 * this.count++);
    this.last = t;
    this.line.geometry.setDrawRange(0, this.count);
    this.line.geometry.attributes.position.needsUpdate = true;
  }
}

class Scatter {
  constructor(given) {
    Object.assign(this, given, { flights: [], parts: [], workers: [], total: 0 });
    const $ = (id) => document.getElementById(id), { data, sensing } = this.manifest;
    this.place = $;
    if (sensing || data.seas || (data.flow && data.flow.gusts)) $("spread").value = "0";
    $("scatter").onclick = () => this.begin(100, Number($("spread").value));
    $("clear").onclick = () => this.clear();
  }

  begin(count, spread) {
    this.clear();
    const { manifest, page, module, sliders, changed } = this, given = changed();
    this.total = count;
    const seeds = manifest.data.seas ? Object.keys(manifest.data.seas).map(Number) : null;
    const missions = Array.from({ length: count }, (_, number) => {
      const seed = seeds ? seeds[number % seeds.length] : this.seed() + 1 + number, random = new HydroMechsEngine.Generator(seed, [1 + number]);
      const drawn = sliders.map(({ row, values }) => {
        const near = values.map((x) => Math.min(row.high, Math.max(row.low, x + spread * (2 * random.uniform() - 1) * (Math.abs(x) || 0.5 * (row.high - row.low)))));
        return [row.path, row.size > 1 ? near : near[0]];
      });
      return { number, seed, parameters: spread ? Object.fromEntries(drawn) : given };
    });
    const workers = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
    for (let w = 0; w < workers; w++) {
      const send = this.connected((message) => this.receive(message, send, w, workers, missions));
      send({ start: { bytes: module(), data: manifest, seed: manifest.seed, parameters: {} } });
      this.workers.push(send);
    }
    this.every = Math.max(0.1, manifest.step);
    this.place("clear").hidden = false;
    this.build(page);
    this.report();
  }
  receive(message, send, w, workers, missions) {
    if (!this.workers.includes(send)) return;
    if (message.ready) {
      const body = Math.max(0, this.manifest.bodies.indexOf(this.page.follow));
      send({ study: { missions: missions.filter((m) => m.number % workers === w), body, every: this.every, duration: this.manifest.duration } });
    }
    if (message.failed) this.note(message.failed);
    if (message.mission) {
      this.flights.push(message.mission);
      this.addPath(message.mission);
      this.report();
    }
  }
  report() {
    const { flights, total } = this, rates = new Map();
    for (const { checks } of flights) for (const [name, passed] of checks ?? []) {
      const row = rates.get(name) ?? [0, 0];
      rates.set(name, [row[0] + (passed ? 1 : 0), row[1] + 1]);
    }
    const all = flights.filter(({ checks }) => checks && checks.every(([, passed]) => passed)).length, bad = flights.filter(({ problem }) => problem).length;
    this.place("scattered").textContent = `${flights.length} of ${total} flown${rates.size ? `; all checks passed in ${all}` : ""}${bad ? `; ${bad} stopped with an error` : ""}`;
    this.place("rates").replaceChildren(...[...rates].map(([name, [good, n]]) => {
      const line = element("li", `check ${good === n ? "passed" : ""}`);
      line.append(element("b", "", good === n ? "✓" : "·"), element("span", "", name), element("span", "value", `${good} / ${n}`));
      return line;
    }));
  }
  clear() {
    for (const send of this.workers) send.close?.();
    this.workers = [];
    this.flights = [];
    const view = this.view();
    for (const part of this.parts) {
      part.parent.remove(part);
      part.geometry.dispose();
      const layer = view.layers.get("ghosts");
      layer.parts = layer.parts.filter((other) => other !== part);
    }
    this.parts = [];
    this.place("clear").hidden = true;
    this.place("scattered").textContent = "";
    this.place("rates").replaceChildren();
    if (view) view.dirty = true;
  }

  // Builds outlines of the bounding box of the followed body, one per mission, which do not hide the body.
  build(page) {
    const view = this.view();
    this.outlines = null;
    if (!view) return;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (const solid of view.data.solids.filter(({ frame, layer }) => frame === page.follow && layer === "bodies")) {
      view.array(solid.vertices).forEach((x, k) => { low[k % 3] = Math.min(low[k % 3], x); high[k % 3] = Math.max(high[k % 3], x); });
    }
    if (!(low[0] < high[0])) return;
    const corner = (k) => [0, 1, 2].map((axis) => ((k >> axis) & 1 ? high : low)[axis]);
    this.edges = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((k) => [1, 2, 4].filter((bit) => !(k & bit)).flatMap((bit) => [corner(k), corner(k | bit)]));
    this.points = new Float32Array(3 * this.edges.length * this.total);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.points, 3));
    const material = new THREE.LineBasicMaterial({ color: color([0.2, 0.9, 0.9]), transparent: true, opacity: 0.4 });
    this.outlines = new THREE.LineSegments(geometry, material);
    this.outlines.frustumCulled = false;
    view.keep("ghosts", this.outlines, view.root);
    this.outlines.visible = view.layers.get("ghosts").on;
    geometry.setDrawRange(0, 0);
    this.parts.push(this.outlines);
  }
  addPath({ poses }) {
    const view = this.view();
    if (!view || !poses || poses.length < 14) return;
    const points = new Float32Array(3 * (poses.length / 7));
    for (let k = 0; k < poses.length / 7; k++) points.set(poses.subarray(7 * k, 7 * k + 3), 3 * k);
    const line = view.addLine({ layer: "ghosts", color: [0.2, 0.9, 0.9] }, points);
    Object.assign(line.material, { transparent: true, opacity: 0.22 });
    line.visible = view.layers.get("ghosts").on;
    this.parts.push(line);
    view.dirty = true;
  }
  // Moves all outlines to their poses at a time [s].
  show(t) {
    const shown = this.flights.filter(({ poses }) => poses && poses.length), { outlines, edges, points } = this;
    if (!shown.length || !outlines) return;
    const q = new THREE.Quaternion(), v = new THREE.Vector3();
    shown.forEach(({ poses }, n) => {
      const k = Math.max(0, Math.min(poses.length / 7 - 1, Math.round(t / this.every))), [x, y, z, w, a, b, c] = poses.subarray(7 * k, 7 * k + 7);
      q.set(a, b, c, w);
      edges.forEach((corner, i) => {
        v.set(...corner).applyQuaternion(q);
        points.set([x + v.x, y + v.y, z + v.z], 3 * (n * edges.length + i));
      });
    });
    outlines.geometry.setDrawRange(0, shown.length * edges.length);
    outlines.geometry.attributes.position.needsUpdate = true;
  }
}
