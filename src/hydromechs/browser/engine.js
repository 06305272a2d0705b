// Runner of compiled missions: worlds of one scenario in WebAssembly, in a page, a worker or Node.
//
// It follows the Python classes LiveRun, OneWorld, Watched and Recorder step by step, with the same numbers. One module has
// the memory of one world at a time; each further world is an image of its state. No page, network or clock is used.
"use strict";

const HydroMechsEngine = (() => {
  const EPS = 2 ** -52;
  const FORMAT = 1;
  const CLOSE = 1e-9; // difference of two times of samples that count as one [s]
  const NOTHING = new Float64Array(0);

  // -- times on the grid of steps, as in Python's integrators ----------------------------------------------------------------

  const rounding = (t) => 4 * EPS * Math.abs(t);
  const slack = (t, h) => Math.max(1e-6 * h, rounding(t));
  const reached = (t, end, h) => t >= end - Math.max(Math.min(1e-6 * h, 1e-10), rounding(end));
  const roundEven = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
  const nextMultiple = (t, period, h) => (Math.floor((t + slack(t, h)) / period) + 1) * period;

  function gridTime(t, h) {
    let n = Math.round(t / h);
    if (Math.abs(t - n * h) <= Math.max(Math.min(1e-6 * h, 1e-10), rounding(t))) return [n, 0];
    n = Math.floor(t / h);
    return [n, t - n * h];
  }

  // -- texts -----------------------------------------------------------------------------------------------------------------

  // A number as Python's formats g, .3g, .1f and d write it.
  function formatted(x, spec = "g") {
    const found = /^(?:\.(\d+))?([gfde])$/.exec(spec);
    if (!found || !Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x === Infinity ? "inf" : x === -Infinity ? "-inf" : String(x);
    const digits = found[1] === undefined ? 6 : Number(found[1]);
    if (found[2] === "d") return String(Math.trunc(x));
    if (found[2] === "f") return x.toFixed(digits);
    const exponent = (text) => text.replace(/e([+-])(\d)$/, "e$10$2");
    if (found[2] === "e") return exponent(x.toExponential(digits));
    if (x === 0) return Object.is(x, -0) ? "-0" : "0";
    const most = Math.max(digits, 1);
    const scientific = x.toExponential(most - 1);
    const power = Number(scientific.split("e")[1]);
    const short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
    if (power < -4 || power >= most) return exponent(short(scientific.split("e")[0]) + "e" + scientific.split("e")[1]);
    return short(x.toFixed(Math.max(0, most - 1 - power)));
  }

  const filled = (template, numbers) =>
    template.replace(/\{(\d):([^}]*)\}/g, (_, k, spec) => formatted(numbers[Number(k)], spec || "g"));
  const quoted = (text) => `'${text}'`;

  // -- random numbers of gusts: PCG64 with NumPy's seeding and normal distribution --------------------------------------------

  const M64 = (1n << 64n) - 1n;
  const M128 = (1n << 128n) - 1n;

  // The words of numpy.random.SeedSequence(seed, spawn_key).
  function seedWords(seed, key, count) {
    const u32 = (x) => x >>> 0;
    const entropy = [];
    let rest = BigInt(seed);
    do {
      entropy.push(Number(rest & 0xffffffffn));
      rest >>= 32n;
    } while (rest > 0n);
    while (entropy.length < 4) entropy.push(0);
    entropy.push(...key);
    let constant = 0x43b0d7e5;
    const hashed = (value) => {
      value = u32(value ^ constant);
      constant = u32(Math.imul(constant, 0x931e8875));
      value = u32(Math.imul(value, constant));
      return u32(value ^ (value >>> 16));
    };
    const mixed = (x, y) => {
      const result = u32(Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y));
      return u32(result ^ (result >>> 16));
    };
    const pool = [0, 1, 2, 3].map((k) => hashed(entropy[k]));
    for (let a = 0; a < 4; a++) for (let b = 0; b < 4; b++) if (a !== b) pool[b] = mixed(pool[b], hashed(pool[a]));
    for (let a = 4; a < entropy.length; a++) for (let b = 0; b < 4; b++) pool[b] = mixed(pool[b], hashed(entropy[a]));
    let second = 0x8b51f9dd;
    return Array.from({ length: count }, (_, k) => {
      let value = u32(pool[k % 4] ^ second);
      second = u32(Math.imul(second, 0x58f38ded));
      value = u32(Math.imul(value, second));
      return u32(value ^ (value >>> 16));
    });
  }

  // Marsaglia and Tsang's ziggurat with 256 layers, as NumPy has it.
  const ziggurat = (() => {
    let tables = null;
    return () => {
      if (tables) return tables;
      const R = 3.6541528853610087963519472518;
      const f = (x) => Math.exp(-0.5 * x * x);
      let fraction = 0; // of erfc: the tail of the distribution beyond R
      for (let k = 200; k > 0; k--) fraction = k / (R + fraction);
      const area = R * f(R) + f(R) / (R + fraction);
      const [x, wi, fi, ki] = [0, 1, 2, 3].map(() => new Float64Array(256));
      x[255] = R;
      for (let k = 254; k > 0; k--) x[k] = Math.sqrt(-2 * Math.log(area / x[k + 1] + f(x[k + 1])));
      for (let k = 1; k < 256; k++) [wi[k], fi[k], ki[k]] = [x[k] / 2 ** 52, f(x[k]), Math.floor((x[k - 1] / x[k]) * 2 ** 52)];
      [wi[0], fi[0], ki[0], ki[1]] = [area / f(R) / 2 ** 52, 1, Math.floor(((R * f(R)) / area) * 2 ** 52), 0];
      return (tables = { R, wi, fi, ki });
    };
  })();

  class Generator {
    constructor(seed, key) {
      const w = seedWords(seed, key, 8);
      const wide = (k) => (BigInt(w[2 * k + 1]) << 32n) | BigInt(w[2 * k]);
      this.increment = ((((wide(2) << 64n) | wide(3)) << 1n) | 1n) & M128;
      this.state = 0n;
      this.next();
      this.state = (this.state + ((wide(0) << 64n) | wide(1))) & M128;
      this.next();
    }
    next() {
      this.state = (this.state * 0x2360ed051fc65da44385df649fccf645n + this.increment) & M128;
      const value = (this.state >> 64n) ^ (this.state & M64);
      const turn = this.state >> 122n;
      return ((value >> turn) | (value << ((64n - turn) & 63n))) & M64;
    }
    uniform() {
      return Number(this.next() >> 11n) / 2 ** 53;
    }
    normal() {
      const { R, wi, fi, ki } = ziggurat();
      for (;;) {
        const bits = this.next();
        const layer = Number(bits & 0xffn);
        const size = Number((bits >> 9n) & 0xfffffffffffffn);
        const x = (bits & 0x100n ? -1 : 1) * size * wi[layer];
        if (size < ki[layer]) return x;
        if (layer === 0) {
          for (;;) {
            const a = -Math.log1p(-this.uniform()) / R;
            const b = -Math.log1p(-this.uniform());
            if (b + b > a * a) return (size >> 8) & 1 ? -(R + a) : R + a;
          }
        }
        if ((fi[layer - 1] - fi[layer]) * this.uniform() + fi[layer] < Math.exp(-0.5 * x * x)) return x;
      }
    }
  }

  // Samples of gusts, x[k + 1] = φ x[k] + drive w[k], drawn as far as they are needed.
  class Gusts {
    constructor(seed, { sigma, drive, phi }) {
      [this.random, this.drive, this.phi] = [new Generator(seed, [0]), drive, phi];
      this.samples = [sigma.map((s) => s * this.random.normal())];
    }
    at(k) {
      while (this.samples.length <= k) {
        const last = this.samples[this.samples.length - 1];
        this.samples.push(last.map((x, axis) => this.phi * x + this.drive[axis] * this.random.normal()));
      }
      return this.samples[k];
    }
  }

  // -- quantities ------------------------------------------------------------------------------------------------------------

  const ANGLES = ["roll", "pitch", "heading", "tilt"].flatMap((name) => [name, `${name}_deg`]);

  function attitude(name, q, i) {
    const [w, x, y, z] = q.subarray(4 * i, 4 * i + 4);
    const angle = name.replace("_deg", "");
    let out;
    if (angle === "roll") out = Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
    else if (angle === "pitch") out = Math.asin(Math.min(1, Math.max(-1, 2 * (w * y - z * x))));
    else if (angle === "heading") out = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
    else out = 2 * Math.atan2(Math.hypot(x, y), Math.hypot(w, z));
    return name.endsWith("_deg") ? (out * 180) / Math.PI : out;
  }

  function periodOf(head) {
    if (!ANGLES.includes(head) || /^(pitch|tilt)/.test(head)) return null;
    return head.endsWith("_deg") ? 360 : 2 * Math.PI;
  }

  const nearest = (values, x) => values.reduce((a, b) => (Math.abs(b - x) < Math.abs(a - x) ? b : a));
  const modulo = (x, n) => x - n * Math.floor(x / n);
  const wrapped = (x, period) => (period === null ? x : modulo(x + 0.5 * period, period) - 0.5 * period);

  // Quaternion (w, x, y, z) of the rotation matrix R[at...at + 9], and the sign of `like` (w ≥ 0 without).
  function quaternion(R, at, like, place, out) {
    const [a, b, c, d, e, f, g, h, i] = R.subarray(at, at + 9);
    const trace = a + e + i;
    let q;
    if (trace >= a && trace >= e && trace >= i) q = [1 + trace, h - f, c - g, d - b];
    else if (a >= e && a >= i) q = [h - f, 1 + a - e - i, b + d, c + g];
    else if (e >= i) q = [c - g, b + d, 1 - a + e - i, f + h];
    else q = [d - b, c + g, f + h, 1 - a - e + i];
    const size = Math.hypot(...q);
    const side = like ? q.reduce((sum, x, k) => sum + x * like[place + k], 0) : q[0];
    for (let k = 0; k < 4; k++) out[place + k] = (side < 0 ? -q[k] : q[k]) / size;
  }

  const STATISTICS = {
    last: (x) => x[x.length - 1],
    min: (x) => x.reduce((a, b) => (a < b || Number.isNaN(a) ? a : b)),
    max: (x) => x.reduce((a, b) => (a > b || Number.isNaN(a) ? a : b)),
    mean: (x) => x.reduce((a, b) => a + b) / x.length,
    rms: (x) => Math.sqrt(x.reduce((a, b) => a + b * b, 0) / x.length),
    max_abs: (x) => STATISTICS.max(x.map(Math.abs)),
  };

  // -- module ----------------------------------------------------------------------------------------------------------------

  class Module {
    constructor(instance, manifest) {
      this.exports = instance.exports;
      this.manifest = manifest;
      this.current = null;
      const { region } = manifest.layout;
      this.region = [region[0] / 8, region[1] / 8];
      this.first = this.numbers.slice(...this.region);
      this.gusts = new Map();
    }
    get numbers() {
      const { buffer } = this.exports.memory;
      if (!this.view || this.view.buffer !== buffer) this.view = new Float64Array(buffer);
      return this.view;
    }
    view_of([address, size]) {
      return this.numbers.subarray(address / 8, address / 8 + size);
    }
    array(routine, name) {
      return this.view_of(this.manifest.layout.routines[routine].arrays[name]);
    }
    run(routine, passes) {
      return this.exports.run(this.manifest.layout.routines[routine].table, passes);
    }
    // Evaluate a program; its results are views that the next call overwrites.
    call(name, inputs) {
      const program = this.manifest.layout.programs[name];
      Object.keys(program.inputs).forEach((key, k) => this.view_of(program.inputs[key]).set(inputs[k]));
      this.exports.table.get(program.entry)(program.arguments);
      const out = {};
      for (const key in program.outputs) out[key] = this.view_of(program.outputs[key]);
      return out;
    }
    activate(world) {
      if (this.current === world) return;
      if (this.current) this.current._image = this.numbers.slice(...this.region);
      this.numbers.set(world._image, this.region[0]);
      this.current = world;
    }
    gustsOf(seed, spec) {
      if (!this.gusts.has(seed)) this.gusts.set(seed, new Gusts(seed, spec));
      return this.gusts.get(seed);
    }
  }

  // A point of the trajectory: time [s], configuration, velocity and internal states.
  const point = (t, y, nq) => ({ t, q: y.slice(0, nq), x: y.slice(nq) });

  class Diverged extends Error {}

  class World {
    constructor(module) {
      this.module = module;
      this.manifest = module.manifest;
      const m = this.manifest;
      Object.assign(this, { _m: m, _s: m.sizes, _h: m.step });
      this._image = module.first.slice();
      this.reset({});
    }

    // -- state ---------------------------------------------------------------------------------------------------------------

    _array(name) {
      this.module.activate(this);
      return this.module.array("mission", name);
    }
    get n() {
      return this._array("n")[0];
    }
    get t() {
      return this._array("n")[0] * this._h + this._array("part")[0];
    }
    get rows() {
      return this._rows.length;
    }
    reset({ seed = this.manifest.seed, parameters = {} } = {}) {
      const given = this._m.data;
      if (!Number.isSafeInteger(seed) || seed < 0) throw new RangeError(`seed is ${seed}; give a whole number from 0 on`);
      if (given.seas && !(String(seed) in given.seas)) {
        const known = Object.keys(given.seas);
        const text = `seed is ${seed}, but this page has waves of the seeds ${known[0]} to ${known[known.length - 1]}`;
        throw new RangeError(`${text}; choose one of them, or write the page again with --seed ${seed}`);
      }
      const values = {};
      for (const row of this.manifest.parameters) values[row.path] = [row.value].flat();
      for (const path in parameters) values[path] = this._checked(path, parameters[path]);
      this.module.activate(this);
      this.module.numbers.set(this.module.first, this.module.region[0]);
      this.seed = seed;
      this._parameters = values;
      if (this._m.sensing) this._array("seed")[0] = seed;
      this._gusts = given.flow && given.flow.gusts ? this.module.gustsOf(seed, given.flow.gusts) : null;
      const _texts = this._m.notes.map((text) => ({ t: 0, text }));
      Object.assign(this, { _rows: [], _log: [], _texts, _ended: null, _controlled: true, _counts: {}, _series: {} });
      this._soft = this._m.stops.map((s) => s.allowed);
      this._given = { seed, parameters: JSON.parse(JSON.stringify(Object.fromEntries(Object.keys(parameters).map((path) => [path, values[path].length > 1 ? values[path] : values[path][0]])))) };
      this._design();
      const at = this._point();
      this._refresh(at.t);
      this._ledger = null;
      this._ledger = this._energies(this._observed(at, this._inputs(at.t)));
      this._last = this._m.events.map((e) => this._off(e, at));
    }
    _checked(path, value) {
      const row = this.manifest.parameters.find((p) => p.path === path);
      if (!row) throw new RangeError(`no parameter ${quoted(path)}; the page has ${this.manifest.parameters.map((p) => p.path).join(", ") || "none"}`);
      const numbers = [value].flat().map(Number);
      if (numbers.length !== row.size) throw new RangeError(`parameter ${quoted(path)} takes ${row.size} numbers, got ${numbers.length}`);
      for (const x of numbers) {
        if (!(x >= (row.low ?? -Infinity) && x <= (row.high ?? Infinity))) {
          throw new RangeError(`parameter ${quoted(path)} is ${x}, outside its range ${row.low} to ${row.high} ${row.unit}; choose a value inside`);
        }
      }
      return row.designs ? [nearest(row.values, numbers[0])] : numbers;
    }
    // Numbers of controllers take effect through the design numbers of their block.
    _design() {
      for (const row of this.manifest.parameters) {
        if (row.designs) this._array("design").set(row.designs[row.values.indexOf(this._parameters[row.path][0])], row.at);
      }
    }
    _point() {
      return point(this.t, this._array("y"), this._s.nq);
    }
    _put(at) {
      const [n, part] = gridTime(at.t, this._h);
      this._array("n")[0] = n;
      this._array("part")[0] = part;
      const y = this._array("y");
      y.set(at.q, 0);
      y.set(at.x, this._s.nq);
    }
    // Write current, gusts, waves and given motions from a time on into inputs; return until when they hold [s].
    _fill(inputs, time) {
      const t = time + Math.max(1e-9 * this._h, rounding(time));
      const { places, flow, timed, seas } = this._m.data;
      let until = Infinity;
      if (flow) {
        let k = flow.segments.findIndex((s) => s[1] === null || t < s[1]);
        k = k < 0 ? flow.segments.length - 1 : k;
        const [begins, ends, velocity, slope] = flow.segments[k];
        const parts = [[begins, ends ?? Infinity, velocity, slope]];
        if (this._gusts) {
          const { interval } = flow.gusts;
          let i = Math.floor(t / interval);
          while ((i + 1) * interval <= t) i++;
          while (i * interval > t) i--;
          const [a, b] = [this._gusts.at(i), this._gusts.at(i + 1)];
          const [from, to] = [i * interval, (i + 1) * interval];
          parts.push([from, to, a, a.map((x, axis) => (b[axis] - x) / (to - from))]);
        }
        const first = Math.max(...parts.map((p) => p[0]));
        until = Math.min(...parts.map((p) => p[1]));
        const at = places.flow[0];
        inputs.fill(0, at, at + 6);
        for (const [from, , v, s] of parts) {
          for (let axis = 0; axis < 3; axis++) {
            inputs[at + axis] += v[axis] + s[axis] * (first - from);
            inputs[at + 3 + axis] += s[axis];
          }
        }
        inputs[at + 6] = first;
      }
      if (seas) inputs.set(seas[String(this.seed)], places.waves[0]);
      for (const { name, rows } of timed) {
        let k = rows.length - 1;
        while (k > 0 && t < rows[k][0]) k--;
        inputs.set(rows[k][1], places[name][0]);
        if (k + 1 < rows.length) until = Math.min(until, rows[k + 1][0]);
      }
      for (const path in this._parameters) {
        if (`parameter.${path}` in places) inputs.set(this._parameters[path], places[`parameter.${path}`][0]);
      }
      return until;
    }
    _refresh(t) {
      return this._fill(this._array("inputs"), t);
    }
    _inputs(t) {
      const inputs = this._array("inputs").slice();
      this._fill(inputs, t);
      return inputs;
    }

    // -- inputs of the user --------------------------------------------------------------------------------------------------

    _noted(kind, name, value) {
      const [n, part] = [this._array("n")[0], this._array("part")[0]];
      const before = this._log[this._log.length - 1];
      const again = before && before.n === n && before.part === part && before.kind === kind && before.name === name;
      if (again) before.value = value;
      else this._log.push({ n, part, kind, name, value });
    }
    setCommand(name, value) {
      const k = this._m.commands.findIndex((row) => row.name === name);
      if (k < 0) throw new Error(`no actuator ${quoted(name)}; actuators are ${this._m.commands.map((r) => r.name).join(", ")}`);
      if (!Number.isFinite(value)) throw new Error(`the command of ${quoted(name)} is ${value}, must be a finite number`);
      this._array("inputs")[k] = value;
      this._countRange(k, value, 1);
      this._noted("command", name, value);
    }
    setHeld(name, value) {
      const k = this._m.held.findIndex((row) => row.name === name);
      if (k < 0) throw new Error(`no held input ${quoted(name)}; held inputs are ${this._m.held.map((r) => r.name).join(", ")}`);
      const row = this._m.held[k];
      const inside = value >= (row.low ?? -Infinity) && value <= (row.high ?? Infinity) && !(row.switch && value > 0 && value < 1);
      if (!inside || !Number.isFinite(value)) {
        const must = row.switch ? "0 (open) or 1 (closed)" : `between ${row.low} and ${row.high}`;
        throw new Error(`held input ${quoted(name)} is ${value}, must be ${must}`);
      }
      if (this._array("inputs")[this._s.na + k] === value) return;
      const after = this._inputs(this.t);
      after[this._s.na + k] = value;
      this._switch(after);
      this._noted("held", name, value);
    }
    setParameter(path, value) {
      this._parameters[path] = this._checked(path, value);
      this._refresh(this.t);
      this._design();
      this._noted("parameter", path, this._parameters[path]);
    }
    setControl(on) {
      if (this._controlled === on) return;
      if (!on) this._array("inputs").set(this._settled(this._inputs(this.t), this.t));
      this._control(on);
      this._noted("control", "", on ? 1 : 0);
    }
    _control(on) {
      this._controlled = on;
      if (!on) this._array("signals").fill(NaN);
    }
    // Inputs with servo targets that stop where they are.
    _settled(inputs, t) {
      for (const [target, rate, since] of this._m.servos) {
        if (inputs[rate] === 0) continue;
        inputs[target] += inputs[rate] * (t - inputs[since]);
        inputs[rate] = 0;
        inputs[since] = t;
      }
      return inputs;
    }
    // Set commands and held inputs; constraints that close must fit, and an impulse makes velocities agree. Return the energy lost.
    _switch(after) {
      const t = this.t;
      let lost = 0;
      if (this._m.constraints.length) {
        const at = this._point();
        const found = this.module.call("closing", [[t], at.q, at.x, this._inputs(t), after]);
        this._m.constraints.forEach((c, k) => {
          const [distance, angle] = [found.apart[2 * k], found.apart[2 * k + 1]];
          if (found.closing[k] && !(Math.max(distance, angle) <= c.tolerance)) {
            const frames = c.between.map(quoted).join(" and ");
            throw new Error(
              `t = ${formatted(t)} s: ${c.kind} ${quoted(c.name)}: ${frames} do not meet: the frames are ${formatted(distance, ".3g")} m and ` +
                `${formatted(angle, ".3g")} rad apart, with limits of ${formatted(c.tolerance)}; move the frames together first, or increase the tolerance`,
            );
          }
        });
        lost = found.lost[0];
        this._array("y").set(found.x_after, this._s.nq);
      }
      this._array("inputs").set(after);
      return lost;
    }
    _countRange(k, value, count) {
      const row = this._m.commands[k];
      const spread = (limit) => (limit === null ? 0 : 1e-9 * Math.abs(limit));
      if (value >= (row.low ?? -Infinity) - spread(row.low) && value <= (row.high ?? Infinity) + spread(row.high)) return;
      if (!(row.name in this._counts)) {
        const unit = row.unit === "1" ? "" : ` ${row.unit}`;
        const rest = row.rest === null ? "" : `; its rest value is ${formatted(row.rest)}${unit}`;
        const [low, high] = [row.low ?? -Infinity, row.high ?? Infinity].map((x) => formatted(x));
        this._say(this.t, `the command of ${quoted(row.name)} is ${formatted(value)}${unit}, outside its range ${low} to ${high}${unit}${rest}`);
      }
      this._counts[row.name] = (this._counts[row.name] || 0) + count;
    }
    _say(t, text) {
      this._texts.push({ t, text: `t = ${formatted(t)} s: ${text}` });
    }

    // -- running -------------------------------------------------------------------------------------------------------------

    // Run to the last whole step up to a time [s], or to the end of the mission; return the time reached. So results do not
    // depend on the times of calls: steps are divided only at events.
    advance(time) {
      if (!Number.isFinite(time)) throw new Error(`until is ${time}, must be a finite time`);
      const until = Math.floor((time + slack(time, this._h)) / this._h) * this._h;
      while (!this._ended && this.t < until - slack(until, this._h)) {
        try {
          this._stretch(until);
        } catch (error) {
          if (!(error instanceof Diverged)) this._ended = { t: this.t, reason: error.message, error: true };
          else this._ended = { t: this.t, reason: `t = ${formatted(this.t)} s: the next step is not finite; use a shorter step`, error: true };
          this._texts.push({ t: this.t, text: this._ended.reason });
        }
      }
      return this.t;
    }
    step(k = 1) {
      const until = (this.n + k) * this._h;
      return this.advance(until + slack(until, this._h));
    }
    _stretch(until) {
      const t = this.t;
      const [h, m] = [this._h, this._m];
      let stop = Math.min(until, this._refresh(t));
      for (const e of m.events) if (e.quantity === "time" && e.level > t + slack(t, h)) stop = Math.min(stop, e.level);
      if (m.events.some((e, k) => e.quantity !== "time" && !m.guards.includes(k))) {
        stop = Math.min(stop, ...m.looks.map((period) => nextMultiple(t, period, h)));
      }
      const a = (name) => this._array(name);
      if (m.guards.length) a("guard").set(m.guards.map((k) => this._last[k]));
      a("sample")[0] = this._rows.length ? 0 : 1;
      a("control")[0] = this._controlled ? 1 : 0;
      a("paused")[0] = 0;
      a("alive")[0] = 1;
      if (m.texts.length) a("reports").fill(0);
      const began = this._point();
      const end = gridTime(stop, h);
      a("until").set(end);
      const seen = [];
      for (;;) {
        const rows = this.module.run("mission", m.capacity);
        this._take(rows, seen);
        const [n, part] = [a("n")[0], a("part")[0]];
        if (!a("alive")[0] || a("paused")[0] || n > end[0] || (n === end[0] && part >= end[1])) break;
      }
      this._hear();
      if (!a("alive")[0]) throw new Diverged();
      const here = this._point();
      for (const q of [...seen, here]) this._lookAtStops(q.t, q.q);
      m.guards.forEach((k, i) => (this._last[k] = a("guard")[i]));
      let before = began;
      if (m.guards.length) {
        const [n, part, ...y] = a("start");
        before = point(n * h + part, y, this._s.nq);
      }
      this._handleEvents(before);
    }
    // Add recorded rows.
    _take(count, seen) {
      const { records } = this.manifest.layout.routines.mission;
      const rows = (name, k) => {
        const [address, size] = records[name];
        return this.module.numbers.slice(address / 8 + k * size, address / 8 + (k + 1) * size);
      };
      const inputs = this._array("inputs");
      for (let k = 0; k < count; k++) {
        const t = rows("n", k)[0] * this._h + rows("part", k)[0];
        const applied = rows("applied", k);
        const row = { t, y: rows("y", k), inputs: inputs.slice(), signals: rows("signals", k) };
        row.inputs.set(applied);
        if (this._has(t)) this._drop();
        this._rows.push(row);
        seen.push({ t, q: row.y.subarray(0, this._s.nq) });
      }
    }
    _has(t) {
      const last = this._rows[this._rows.length - 1];
      return last !== undefined && Math.abs(t - last.t) <= Math.max(CLOSE, rounding(t));
    }
    _drop() {
      this._rows.pop();
      for (const name in this._series) this._series[name].length = Math.min(this._series[name].length, this._rows.length);
    }
    // Take the reports of blocks, and commands out of range.
    _hear() {
      const a = (name) => this._array(name);
      const { commands, texts, steps } = this._m;
      commands.forEach((row, k) => {
        if (a("outside")[k]) this._countRange(k, a("extreme")[k], a("outside")[k]);
      });
      if (commands.length) a("outside").fill(0);
      if (!a("paused")[0] || !texts.length) return;
      const every = steps.sensing || steps.ticking;
      const [n, part] = [a("n")[0], a("part")[0]];
      const t = (a("alive")[0] ? Math.ceil((n + (part > 0 ? 1 : 0)) / every) - 1 : Math.floor(n / every)) * every * this._h;
      const reports = a("reports").slice();
      texts.forEach((row, k) => {
        if (!reports[5 * k]) return;
        const text = filled(row.text, reports.subarray(5 * k + 1, 5 * k + 5));
        if (row.stop) throw new Error(`t = ${t.toFixed(3)} s: ${text}`);
        this._say(t, text);
      });
    }
    _lookAtStops(t, q) {
      this._m.stops.forEach((s, k) => {
        const [low, high] = [s.limits[0] ?? -Infinity, s.limits[1] ?? Infinity];
        const beyond = Math.max(low - q[s.at], q[s.at] - high);
        if (!(beyond > this._soft[k])) return;
        this._soft[k] = Infinity;
        const limit = q[s.at] > high ? high : low;
        const stiff = `${formatted(s.stiffness, ".3g")} ${s.unit === "rad" ? "N m" : "N"}/${s.unit}`;
        this._say(
          t,
          `joint ${quoted(s.joint)} is ${formatted(beyond, ".3g")} ${s.unit} beyond its limit of ${formatted(limit, ".4g")} ${s.unit}, ` +
            `because the default stop of ${stiff} is too soft; define stops for the joint`,
        );
      });
    }

    // -- events --------------------------------------------------------------------------------------------------------------

    _off(e, at) {
      if (e.quantity === "time" && Math.abs(at.t - e.level) <= slack(at.t, this._h)) return 0;
      return wrapped(this._value(e.terms, at) - e.level, e.period);
    }
    _value([head, terms], at) {
      if (head === "time") return at.t;
      return valueOf(head, terms, this._sampleOf(at, this._inputs(at.t), this._array("signals")));
    }
    // Integrate from a point to a time with the present commands, without controllers.
    _advanced(at, end) {
      const a = (name) => this.module.array("bare", name);
      while (!reached(at.t, end, this._h)) {
        const inputs = this._array("inputs").slice();
        const until = Math.min(end, this._fill(inputs, at.t));
        const [n, part] = gridTime(at.t, this._h);
        a("n")[0] = n;
        a("part")[0] = part;
        a("alive")[0] = 1;
        a("paused")[0] = 0;
        a("sample")[0] = 0;
        a("inputs").set(inputs);
        a("y").set(at.q, 0);
        a("y").set(at.x, this._s.nq);
        const goal = gridTime(until, this._h);
        a("until").set(goal);
        do this.module.run("bare", this._m.capacity);
        while (a("alive")[0] && (a("n")[0] < goal[0] || (a("n")[0] === goal[0] && a("part")[0] < goal[1])));
        at = point(a("n")[0] * this._h + a("part")[0], a("y"), this._s.nq);
        if (!a("alive")[0]) {
          this._put(at);
          throw new Diverged();
        }
      }
      return at;
    }
    // The point at which an event happened between two points, or null; see `Watched.crossing`.
    _crossing(k, before, after) {
      const [e, last, h] = [this._m.events[k], this._last[k], this._h];
      const now = this._off(e, after);
      if (e.quantity === "time" && now === 0) return last < 0 ? after : null;
      if (e.period !== null && Math.abs(now - last) > 0.5 * e.period) return null;
      const [rising, falling] = [last < 0 && now >= 0, last > 0 && now <= 0];
      if (!{ rising, falling, either: rising || falling }[e.direction]) return null;
      let [start, found] = [before, after];
      while (found.t - start.t > Math.max(1e-9, rounding(found.t))) {
        let middle = 0.5 * (start.t + found.t);
        const [whole, near] = [h * roundEven(middle / h), slack(found.t, h)];
        if (start.t + near < whole && whole < found.t - near) middle = whole;
        if (!(start.t < middle && middle < found.t)) break;
        const there = this._advanced(start, middle);
        if (this._off(e, there) * last > 0) start = there;
        else found = there;
      }
      return found;
    }
    _handleEvents(before) {
      const events = this._m.events;
      if (!events.length) return;
      let after = this._point();
      let found = [];
      events.forEach((e, k) => {
        const at = this._crossing(k, before, after);
        if (at) found.push({ e, at });
      });
      const acting = found.filter(({ e }) => e.acts).map(({ at }) => at);
      if (acting.length) {
        after = acting.reduce((a, b) => (b.t < a.t ? b : a));
        const together = after.t + Math.max(1e-8, 4 * rounding(after.t));
        found = found.filter(({ at }) => at.t <= together);
        this._put(after);
      }
      found.sort((a, b) => a.at.t - b.at.t);
      for (const { e, at } of found) {
        this._texts.push({ t: at.t, text: `t = ${at.t.toFixed(6)} s: ${e.message}` });
        const old = this._inputs(at.t);
        let inputs = old.slice();
        if (e.control === "off") inputs = this._settled(inputs, at.t);
        for (const [k, value] of e.edits) inputs[k] = value;
        const lost = this._switch(inputs);
        for (const text of this._closingTexts(e, lost, old)) this._texts.push({ t: at.t, text: `t = ${at.t.toFixed(6)} s: ${text}` });
        if (e.control) this._control(e.control === "on");
        if (e.stop && !this._ended) this._ended = { t: at.t, reason: `${e.name} at t = ${at.t.toFixed(6)} s`, error: false };
      }
      const here = this._point();
      events.forEach((e, k) => (this._last[k] = this._off(e, here)));
    }
    _closingTexts(e, lost, old) {
      const { grips, switches } = this._m;
      const closing = e.grasp.filter((name) => old[this._s.na + switches[name]] === 0);
      const firm = closing.filter((name) => !grips.some((g) => g.name === name)).map(quoted).join(", ");
      const out = firm ? [`${firm} closes; ${formatted(lost, ".3g")} J are lost in the impact`] : [];
      if (!grips.some((g) => closing.includes(g.name))) return out;
      const { apart } = this.module.call("apart", [this._point().q]);
      for (const name of closing) {
        const k = grips.findIndex((g) => g.name === name);
        if (k < 0) continue;
        const { held, reach } = grips[k];
        const away = `is ${formatted(apart[k] * reach, ".3g")} m away, reach ${formatted(reach)} m`;
        out.push(apart[k] < 1 ? `${quoted(name)} closes on ${quoted(held)}` : `${quoted(name)} closes on nothing: ${quoted(held)} ${away}`);
      }
      return out;
    }

    // -- observation ---------------------------------------------------------------------------------------------------------

    _observed(at, inputs) {
      this.module.activate(this);
      return this.module.call("observe", [[at.t], at.q, at.x, inputs]);
    }
    _energies(found) {
      const work = this._array("y").slice();
      const first = work.length - this._s.causes;
      const stored = ["kinetic_energy_body", "kinetic_energy_fluid", "potential_energy", "elastic_energy"].map((name) => found[name][0]);
      return { stored, work: work.slice(first) };
    }
    // A function of the name of a variable that returns its values at a point, computed when they are asked for.
    _sampleOf(at, inputs, signals) {
      const { nv, na, nh, causes, nb } = this._s;
      let found = null;
      const kept = {};
      const observed = () => (found = found || this._observed(at, inputs));
      const own = {
        time: () => [at.t],
        q: () => at.q,
        v: () => at.x.subarray(0, nv),
        internal_state: () => at.x.subarray(nv),
        command: () => inputs.subarray(0, na),
        held_input: () => inputs.subarray(na, na + nh),
        signal: () => signals,
        work: () => at.x.slice(at.x.length - causes).map((x, k) => x - this._ledger.work[k]),
        energy_residual: () => {
          const { stored } = this._energies(observed());
          const change = stored.reduce((sum, x, k) => sum + x - this._ledger.stored[k], 0);
          return [change - sample("work").reduce((a, b) => a + b, 0)];
        },
        orientation: () => {
          const R = observed().R_WB.slice();
          const like = this.manifest.layout.programs.turns ? this.module.call("turns", [at.q]).turns : null;
          const out = new Float64Array(4 * nb);
          for (let i = 0; i < nb; i++) quaternion(R, 9 * i, like, 4 * i, out);
          return out;
        },
      };
      const sample = (name) => (kept[name] = kept[name] || (own[name] ? own[name]() : observed()[name].slice()));
      return sample;
    }
    _now() {
      const t = this.t;
      return this._sampleOf(this._point(), this._inputs(t), this._array("signals").slice());
    }
    _of(row) {
      return this._sampleOf(point(row.t, row.y, this._s.nq), row.inputs, row.signals);
    }
    _row(k) {
      const row = this._rows[k];
      if (!row) throw new RangeError(`no sample ${k}; the run has ${this._rows.length}`);
      return row;
    }
    poses() {
      const sample = this._now();
      return { position: sample("position").slice(), orientation: sample("orientation").slice() };
    }
    poseAt(k) {
      const sample = this._of(this._row(k));
      return { position: sample("position"), orientation: sample("orientation") };
    }
    timeAt(k) {
      return this._row(k).t;
    }
    // Variables by name, at present or at a sample.
    observe(names = this._m.variables.map((v) => v.name), k = null) {
      const sample = k === null ? this._now() : this._of(this._row(k));
      const out = {};
      for (const name of names) out[name] = Float64Array.from(sample(this._variable(name).name));
      return out;
    }
    // Number of the last sample up to a time [s]; -1 if there is none.
    sampleAt(t) {
      let [low, high] = [0, this._rows.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this._rows[middle].t <= t + CLOSE) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    }
    // Waves as rows of amplitude, frequency, wavenumber, direction (2), phase and scale; null without.
    waves() {
      const place = this._m.data.places.waves;
      return place ? this._array("inputs").slice(place[0], place[0] + place[1]) : null;
    }
    // Distances of the frames of grips [m], in the order of the manifest.
    apart() {
      if (!this._m.grips.length) return [];
      const { apart } = this.module.call("apart", [this._point().q]);
      return this._m.grips.map((grip, k) => apart[k] * grip.reach);
    }
    _variable(name) {
      const found = this._m.variables.find((v) => v.name === name);
      if (!found) throw new Error(`no variable ${quoted(name)}; variables are ${this._m.variables.map((v) => v.name).join(", ")}`);
      return found;
    }
    forces() {
      const names = this._m.variables.map((v) => v.name).filter((name) => name.startsWith("force_"));
      const found = this.observe(names);
      return Object.fromEntries(names.map((name) => [name.slice(6), found[name]]));
    }
    quantity(name) {
      const [head, terms] = this._terms(name);
      return valueOf(head, terms, this._now());
    }
    // Variable and entries of a quantity, as in Python's `find_terms`.
    _terms(name) {
      this._found = this._found || {};
      if (this._found[name]) return this._found[name];
      const dot = name.indexOf(".");
      const [head, entry] = dot < 0 ? [name, ""] : [name.slice(0, dot), name.slice(dot + 1)];
      const known = this._m.variables.find((v) => v.name === head);
      const dims = head === "time" ? [] : ANGLES.includes(head) ? ["body"] : known && known.dims;
      if (!dims) throw new Error(`unknown quantity ${quoted(head)}`);
      const { coords } = this._m;
      const indices = (text, rest) => {
        if (!rest.length) return text ? [] : [[]];
        const names = coords[rest[0]];
        if (text === "*" || text.startsWith("*.")) {
          const more = indices(text.slice(2), rest.slice(1));
          return names.flatMap((_, i) => more.map((row) => [i, ...row]));
        }
        const labels = names.filter((n) => text === n || text.startsWith(`${n}.`)).sort((a, b) => b.length - a.length);
        for (const label of labels) {
          const more = indices(text.slice(label.length + 1), rest.slice(1));
          if (more.length) return more.map((row) => [names.indexOf(label), ...row]);
        }
        return [];
      };
      const found = indices(entry, dims);
      if (!found.length) throw new Error(`unknown quantity ${quoted(name)}; ${quoted(head)} has the dimensions ${dims.join(", ") || "none"}`);
      const shape = known ? known.shape : dims.length ? [this._s.nb] : [];
      const flat = found.map((row) => row.reduce((sum, i, k) => sum * shape[k] + i, 0));
      return (this._found[name] = [head, ANGLES.includes(head) ? found : flat.map((i) => [i])]);
    }
    commands() {
      return this._array("inputs").slice(0, this._s.na);
    }
    held() {
      return this._array("inputs").slice(this._s.na, this._s.na + this._s.nh);
    }
    signals() {
      return this._array("signals").slice();
    }
    // Times and values of quantities at the samples from number `from` on; `values` are those of one name, or a list of them.
    series(names, from = 0) {
      const several = [names].flat();
      this._fill_series(several);
      const values = several.map((name) => Float64Array.from(this._series[name].slice(from)));
      const time = Float64Array.from(this._rows.slice(from), (row) => row.t);
      return { time, values: Array.isArray(names) ? values : values[0] };
    }
    _values(name) {
      this._fill_series([name]);
      return this._series[name];
    }
    // Evaluate quantities at new samples, each sample once.
    _fill_series(names) {
      for (const name of names) this._series[name] = this._series[name] || [];
      const first = Math.min(...names.map((name) => this._series[name].length));
      for (let k = first; k < this._rows.length; k++) {
        const sample = this._of(this._rows[k]);
        for (const name of names) {
          const values = this._series[name];
          if (values.length === k) values.push(valueOf(...this._terms(name), sample));
        }
      }
    }
    messages() {
      return this._texts.map((row) => ({ ...row }));
    }
    ended() {
      return this._ended;
    }

    // -- checks and files ----------------------------------------------------------------------------------------------------

    // The samples so far and one of the present instant, where sensors that are due measure.
    _allRows() {
      const t = this.t;
      const last = { t, y: this._array("y").slice(), inputs: this._inputs(t), signals: this._signalsNow() };
      const rows = this._has(t) ? this._rows.slice(0, -1) : this._rows.slice();
      return [...rows, last];
    }
    _signalsNow() {
      const { steps, sensing } = this._m;
      const signals = this._array("signals").slice();
      if (!sensing) return signals;
      const t = this.t;
      const now = [1, t];
      for (const every of [steps.ticking, steps.sensing]) {
        const period = every * this._h;
        const number = period ? Math.round(t / period) : 0;
        now.push(period && Math.abs(t - number * period) <= slack(t, this._h) ? 1 : 0, number);
      }
      if (!now[4]) return signals;
      const image = this.module.numbers.slice(...this.module.region);
      this._array("control")[0] = this._controlled ? 1 : 0;
      this._refresh(t);
      this.module.array("look", "now").set(now);
      this.module.run("look", 1);
      const found = this._array("signals").slice();
      this.module.numbers.set(image, this.module.region[0]);
      return found;
    }
    checks() {
      const rows = this._allRows();
      if (this.manifest.checks.length) this._fill_series(this.manifest.checks.map((c) => c.quantity));
      return this.manifest.checks.map((c) => {
        const [head, terms] = this._terms(c.quantity);
        const before = this._values(c.quantity);
        const values = rows.slice(0, -1).map((_, k) => before[k]);
        values.push(valueOf(head, terms, this._of(rows[rows.length - 1])));
        const period = periodOf(head);
        const time = rows.map((row) => row.t);
        let { target } = c;
        if (c.mean_of) {
          const then = values.filter((_, k) => time[k] >= c.mean_of[0] && time[k] < c.mean_of[1]);
          const near = period === null || !then.length ? 0 : then[0];
          target += then.length ? near + STATISTICS.mean(then.map((x) => wrapped(x - near, period))) : NaN;
        }
        const x = values.filter((_, k) => time[k] >= c.after && time[k] < (c.before ?? Infinity)).map((v) => wrapped(v - target, period));
        const value = x.length ? STATISTICS[c.statistic](x) : NaN;
        const passed = Number.isFinite(value) && (c.below === null || value < c.below) && (c.above === null || value > c.above);
        return { name: c.name, passed, value, limit: c.limit, text: c.text };
      });
    }
    inputs() {
      const own = { scenario: this.manifest.name, version: this.manifest.version, ...this._given };
      const [n, part] = [this._array("n")[0], this._array("part")[0]];
      return JSON.parse(JSON.stringify({ ...own, entries: this._log, end: { n, part } }));
    }
    state() {
      this.module.activate(this);
      const image = this.module.numbers.slice(...this.module.region);
      const { seed, _parameters, _rows, _log, _texts, _ended, _controlled, _counts, _soft, _given, _ledger, _last } = this;
      const plain = { seed, _parameters, _log, _texts, _ended, _controlled, _counts, _soft, _given, _ledger, _last };
      return { image, rows: _rows.slice(), plain: structuredClone(plain) };
    }
    restore({ image, rows, plain }) {
      this.module.activate(this);
      this.module.numbers.set(image, this.module.region[0]);
      Object.assign(this, structuredClone(plain), { _rows: rows.slice(), _series: {} });
      const { flow } = this._m.data;
      this._gusts = flow && flow.gusts ? this.module.gustsOf(this.seed, flow.gusts) : null;
    }
    // A NetCDF 3 file of the samples, with the log of inputs.
    recording() {
      const rows = this._allRows();
      const n = rows.length;
      const variables = this._m.variables.map((v) => {
        const size = v.shape.reduce((a, b) => a * b, 1);
        return { ...v, size, values: new Float64Array(n * size) };
      });
      rows.forEach((row, k) => {
        const sample = this._of(row);
        for (const v of variables) v.values.set(sample(v.name), k * v.size);
      });
      const attrs = { ...this.manifest.attrs, seed: this.seed, finished: this._ended && this._ended.error ? 0 : 1 };
      attrs.messages = JSON.stringify(this._texts.map((row) => row.text));
      attrs.inputs = JSON.stringify(this.inputs());
      if (Object.keys(this._counts).length) attrs.commands_outside = JSON.stringify(this._counts);
      return netcdf(variables, this._m.coords, Float64Array.from(rows, (row) => row.t), attrs);
    }
    worlds(k) {
      return Array.from({ length: k }, () => new World(this.module));
    }
  }

  function valueOf(head, terms, sample) {
    if (ANGLES.includes(head)) return terms.reduce((sum, [i]) => sum + attitude(head, sample("orientation"), i), 0);
    const values = sample(head);
    return terms.reduce((sum, [i]) => sum + values[i], 0);
  }

  // -- NetCDF 3 (classic format with 64-bit offsets): dimensions, attributes, variables ---------------------------------------

  const TYPES = { float64: [6, 8, "<f8"], float32: [5, 4, "<f4"], int32: [4, 4, "<i4"], int8: [1, 1, "|i1"], bool: [1, 1, "|b1"] };
  const CHAR = 2;

  class Bytes {
    constructor() {
      this.parts = [];
      this.size = 0;
    }
    add(bytes) {
      this.parts.push(bytes);
      this.size += bytes.length;
      return this;
    }
    number(x) {
      const b = new Uint8Array(4);
      new DataView(b.buffer).setUint32(0, x);
      return this.add(b);
    }
    offset(x) {
      return this.number(Math.floor(x / 2 ** 32)).number(x % 2 ** 32);
    }
    pad() {
      return this.add(new Uint8Array((4 - (this.size % 4)) % 4));
    }
    text(text) {
      const b = new TextEncoder().encode(text);
      return this.number(b.length).add(b).pad();
    }
    attributes(rows) {
      if (!rows.length) return this.number(0).number(0);
      this.number(12).number(rows.length);
      for (const [name, value] of rows) this.text(name).number(CHAR).text(value);
      return this;
    }
    whole() {
      const out = new Uint8Array(this.size);
      let at = 0;
      for (const part of this.parts) {
        out.set(part, at);
        at += part.length;
      }
      return out;
    }
  }

  // Numbers as big-endian bytes.
  function swapped(values, dtype) {
    const [, width] = TYPES[dtype];
    const out = new Uint8Array(values.length * width);
    const view = new DataView(out.buffer);
    const put = { float64: "setFloat64", float32: "setFloat32", int32: "setInt32", int8: "setInt8", bool: "setInt8" }[dtype];
    for (let k = 0; k < values.length; k++) view[put](k * width, values[k]);
    return out;
  }

  function netcdf(variables, coords, time, attrs) {
    const dims = new Map();
    const dim = (name, size) => {
      if (!dims.has(name)) dims.set(name, size);
      return [...dims.keys()].indexOf(name);
    };
    const encoder = new TextEncoder();
    const rows = [];
    const [empty, dtypes] = [{}, {}];
    for (const v of variables) {
      const [type, , code] = TYPES[v.dtype];
      const own = [["units", v.units], ["long_name", v.long_name]];
      dtypes[v.name] = code;
      if (!v.size) {
        empty[v.name] = { dims: ["time", ...v.dims], shape: [time.length, ...v.shape], dtype: code, attrs: Object.fromEntries(own) };
        continue;
      }
      const places = [dim("time", time.length), ...v.dims.map((d, k) => dim(d, v.shape[k]))];
      rows.push({ name: v.name, places, own, type, data: swapped(v.values, v.dtype) });
    }
    rows.push({ name: "time", places: [dim("time", time.length)], own: [["units", "s"], ["long_name", "time"]], type: 6, data: swapped(time, "float64") });
    dtypes.time = "<f8";
    for (const d in coords) {
      const texts = coords[d].map((text) => encoder.encode(text));
      const longest = Math.max(1, ...coords[d].map((text) => [...text].length));
      dtypes[d] = `<U${longest}`;
      if (!texts.length) {
        empty[d] = { dims: [d], shape: [0], dtype: dtypes[d], attrs: {} };
        continue;
      }
      const width = Math.max(1, ...texts.map((b) => b.length));
      const data = new Uint8Array(texts.length * width);
      texts.forEach((b, k) => data.set(b, k * width));
      rows.push({ name: d, places: [dim(d, texts.length), dim(`string${width}`, width)], own: [["_Encoding", "utf-8"]], type: CHAR, data });
    }
    const native = Object.entries(attrs).filter(([, value]) => typeof value === "string" && value);
    const others = Object.fromEntries(Object.entries(attrs).filter(([, value]) => typeof value !== "string" || !value));
    const extra = { attrs: others, order: Object.keys(attrs), empty, dtypes };
    const global = [...native, ["hydromechs_extra", JSON.stringify(extra)]];
    const header = (offsets) => {
      const out = new Bytes().add(encoder.encode("CDF")).add(new Uint8Array([2])).number(0);
      out.number(10).number(dims.size);
      for (const [name, size] of dims) out.text(name).number(size);
      out.attributes(global).number(11).number(rows.length);
      rows.forEach((row, k) => {
        out.text(row.name).number(row.places.length);
        for (const place of row.places) out.number(place);
        out.attributes(row.own).number(row.type).number(Math.ceil(row.data.length / 4) * 4).offset(offsets[k]);
      });
      return out;
    };
    let at = header(rows.map(() => 0)).size;
    const offsets = rows.map((row) => {
      const here = at;
      at += Math.ceil(row.data.length / 4) * 4;
      return here;
    });
    const out = header(offsets);
    for (const row of rows) out.add(row.data).pad();
    return out.whole();
  }

  // -- start -----------------------------------------------------------------------------------------------------------------

  const supported = () =>
    typeof WebAssembly === "object" && typeof WebAssembly.Instance === "function"
      ? ""
      : "this browser does not run WebAssembly; use a recent version of Firefox, Chrome, Edge or Safari";

  function started(instance, manifest) {
    if (manifest.format !== FORMAT) throw new Error(`the mission has format ${manifest.format}, this engine reads ${FORMAT}; write the page again`);
    const missing = supported();
    if (missing) throw new Error(missing);
    return new World(new Module(instance, manifest));
  }

  async function instantiate(bytes, manifest) {
    const module = bytes instanceof WebAssembly.Module ? bytes : await WebAssembly.compile(bytes);
    return started(await WebAssembly.instantiate(module), manifest);
  }

  function instantiateSync(bytes, manifest) {
    const module = bytes instanceof WebAssembly.Module ? bytes : new WebAssembly.Module(bytes);
    return started(new WebAssembly.Instance(module), manifest);
  }

  return { instantiate, instantiateSync, supported, formatted, Generator };
})();

if (typeof module !== "undefined" && module.exports) module.exports = HydroMechsEngine;
