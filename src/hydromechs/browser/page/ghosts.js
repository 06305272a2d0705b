"use strict";
// Lines behind a body, and many missions at once as translucent bodies with their paths.

// A growing line in a layer of a scene; it keeps every n-th point when it becomes long.
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
    Object.assign(this, given, { flights: [], parts: [], lines: null, total: 0 });
    const $ = (id) => document.getElementById(id);
    this.place = $;
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
    for (const send of this.workers ?? []) send.close?.();
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

  // Copies of the solids of the followed body, one instance for each mission.
  build(page) {
    const view = this.view();
    this.ghosts = [];
    if (!view) return;
    const solids = view.data.solids.filter((solid) => solid.frame === page.follow && solid.layer === "looks");
    const faces = solids.reduce((sum, solid) => sum + solid.faces.n / 3, 0);
    const material = new THREE.MeshStandardMaterial({ color: color([0.2, 0.9, 0.9]), transparent: true, opacity: 0.16, depthWrite: false });
    const geometries = faces * this.total < 400_000 ? solids.map((solid) => {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(view.array(solid.vertices), 3));
      geometry.setIndex(new THREE.BufferAttribute(view.array(solid.faces), 1));
      geometry.computeVertexNormals();
      return geometry;
    }) : [this.box(view, solids)];
    this.ghosts = geometries.map((geometry) => {
      const mesh = new THREE.InstancedMesh(geometry, material, this.total);
      mesh.frustumCulled = false;
      mesh.count = 0;
      view.keep("ghosts", mesh, view.root);
      this.parts.push(mesh);
      return mesh;
    });
  }
  // The box around some solids, for bodies with too many faces to be drawn a hundred times.
  box(view, solids) {
    const low = new THREE.Vector3(1e9, 1e9, 1e9), high = new THREE.Vector3(-1e9, -1e9, -1e9), p = new THREE.Vector3();
    for (const solid of solids) {
      const v = view.array(solid.vertices);
      for (let i = 0; i + 2 < v.length; i += 3) { p.set(v[i], v[i + 1], v[i + 2]); low.min(p); high.max(p); }
    }
    const size = high.clone().sub(low), middle = low.add(high).multiplyScalar(0.5);
    return new THREE.BoxGeometry(size.x, size.y, size.z).translate(middle.x, middle.y, middle.z);
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
  // Moves all ghosts to their places at a time [s].
  show(t) {
    if (!this.flights.length || !this.ghosts.length) return;
    const m = new THREE.Matrix4(), p = new THREE.Vector3(), q = new THREE.Quaternion(), one = new THREE.Vector3(1, 1, 1);
    this.flights.filter(({ poses }) => poses && poses.length).forEach(({ poses }, n) => {
      const k = Math.max(0, Math.min(poses.length / 7 - 1, Math.round(t / this.every))), [x, y, z, w, a, b, c] = poses.subarray(7 * k, 7 * k + 7);
      m.compose(p.set(x, y, z), q.set(a, b, c, w), one);
      for (const mesh of this.ghosts) { mesh.setMatrixAt(n, m); mesh.count = n + 1; }
    });
    for (const mesh of this.ghosts) mesh.instanceMatrix.needsUpdate = true;
  }
}
