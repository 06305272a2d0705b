"use strict";
// Connects the engine of a mission with the scene, instruments, plots and controls of a page.

(async () => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent), { manifest, page } = data;
  const SEND_EVERY = 40;     // ms between inputs of the pilot
  const PLOT_EVERY = 300;    // ms between two drawings of the plots
  const REPORT_EVERY = 1000; // ms between two evaluations of the checks
  const SLOW_FRAME = 70;     // ms between two frames above which drawing becomes coarser
  const MODES = ["mission", "manual", "speed", "hold"];
  const down = manifest.down[2], follow = manifest.bodies.indexOf(page.follow);
  const flies = page.helm, names = Object.fromEntries(manifest.coords.body.map((name, k) => [name, k]));

  const array = arrays(await inflated("block"));
  let state = null, mode = 0, past = null, over = false, playing = false, run = 0, wanted = false, messages = [];
  const store = { time: [], columns: page.quantities.map(() => []) };
  const toasts = new Toasts($("messages"));
  const notes = [];
  const note = (text) => { notes.push(`${text}${"\u200b".repeat(notes.filter((t) => t.startsWith(text)).length)}`); };

  // -- engine, in a worker if the browser supports workers -------------------------------------------------------------------

  function connected(receive) {
    const here = () => missionRunner((message) => setTimeout(() => receive(message)));
    const text = ["engine", "runner"].map((id) => $(id).textContent).join("\n");
    let [worker, handle, unheard] = [null, null, []];
    try {
      worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      handle = (message) => worker.postMessage(message);
      worker.onmessage = ({ data: message }) => { unheard = null; receive(message); };
      worker.onerror = (event) => {
        if (!unheard) { receive({ failed: event.message }); return; }
        handle = here();
        unheard.splice(0).forEach(handle);
      };
    } catch (error) {
      handle = here();
    }
    const send = (message) => { unheard?.push(message); handle(message); };
    send.close = () => worker?.terminate();
    return send;
  }

  // -- scene -----------------------------------------------------------------------------------------------------------------

  let view = null;
  const moved = { path: null, strands: [] };
  function buildScene() {
    const { scene } = data;
    for (const frame of scene.frames) frame.fixed = false;
    scene.layers.push({ name: "path", on: true }, { name: "ghosts", on: true });
    try {
      view = new SceneView($("scene"), scene, array, page.follow, drawsInSoftware());
    } catch (error) {
      $("failed").hidden = false;
      $("failed").textContent = `The scene requires WebGL, which this browser does not support (${error.message}). Instruments, plots and controls are not affected.`;
      $("views").hidden = $("layers").hidden = true;
      return;
    }
    layerSwitches(view, $("layers"), $("legend"));
    moved.path = new Trail(view, "path", [0.95, 0.85, 0.2]);
    new ResizeObserver(() => { view.resize(); view.draw(); }).observe($("scene"));
    view.resize();
    look("start");
  }

  const frameOf = Object.fromEntries(data.scene.frames.map((frame) => [frame.name, frame]));
  const put = (ref, values) => array(ref).set(values);
  function moveScene() {
    const { values } = state, { position: p, orientation: o } = values;
    manifest.coords.body.forEach((name, k) => {
      if (!frameOf[name]) return;
      put(frameOf[name].position, p.subarray(3 * k, 3 * k + 3));
      put(frameOf[name].wxyz, o.subarray(4 * k, 4 * k + 4));
    });
    turnPropellers();
    moveArrows();
    moveLines();
    moveSea();
    if (follow >= 0) moved.path.add(state.t, p.subarray(3 * follow, 3 * follow + 3));
    scatter.show(state.t);
    view.setTime(0);
  }

  const turned = page.propellers.map(([name]) => ({ angle: 0, rest: Array.from(array(frameOf[name].wxyz)) }));
  let turnedAt = 0;
  function turnPropellers() {
    const force = state.values.actuator_force;
    const passed = Math.max(0, Math.min(0.2, state.t - turnedAt));
    turnedAt = state.t;
    const most = Math.max(1e-9, ...page.propellers.map(([, k]) => Math.abs(force[k])));
    page.propellers.forEach(([name, k], i) => {
      const { rest } = turned[i];
      turned[i].angle += passed * page.fastest * Math.sign(force[k]) * Math.sqrt(Math.abs(force[k]) / most);
      const [c, s] = [Math.cos(0.5 * turned[i].angle), Math.sin(0.5 * turned[i].angle)], [w, x, y, z] = rest;
      put(frameOf[name].wxyz, [w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s]);  // rest · turn about z
    });
  }

  // Rotates a vector by the quaternion (w, x, y, z) at an index of an array.
  function rotated(o, k, [a, b, c]) {
    const [w, x, y, z] = o.subarray(4 * k, 4 * k + 4);
    const [u, v, t] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
    return [a + w * u + y * t - z * v, b + w * v + z * u - x * t, c + w * t + x * v - y * u];
  }
  const largest = { still: 1e-9, other: 1e-9 };
  function moveArrows() {
    const { values } = state, { position: p, orientation: o } = values, size = page.size;
    for (const arrows of data.scene.arrows) {
      if (!view.layers.get(arrows.layer).on) continue;
      const ends = array(arrows.ends), spec = page.arrows[arrows.layer];
      if (arrows.layer === "current") {
        const flow = values.fluid_velocity ? values.fluid_velocity.subarray(3 * Math.max(follow, 0)) : [0, 0, 0];
        const at = p.subarray(3 * Math.max(follow, 0));
        page.around.forEach((place, n) => {
          for (let i = 0; i < 3; i++) [ends[6 * n + i], ends[6 * n + 3 + i]] = [at[i] + size * place[i], at[i] + size * (place[i] + flow[i])];
        });
      } else if (spec === "thrust") {
        const force = values.actuator_force;
        page.thrusters.forEach(({ index, body, place, along }, n) => {
          const [tail, axis] = [rotated(o, body, place), rotated(o, body, along)], length = page.thrust_length * force[index];
          for (let i = 0; i < 3; i++) {
            ends[6 * n + i] = p[3 * body + i] + tail[i];
            ends[6 * n + 3 + i] = ends[6 * n + i] + length * axis[i];
          }
        });
      } else if (values[spec]) {
        const kind = /weight|buoyancy/.test(spec) ? "still" : "other", F = values[spec];
        for (let k = 0; k < manifest.bodies.length; k++) largest[kind] = Math.max(largest[kind], Math.hypot(...F.subarray(6 * k, 6 * k + 3)));
        for (let k = 0; k < manifest.bodies.length; k++) {
          const f = rotated(o, k, F.subarray(6 * k, 6 * k + 3));
          for (let i = 0; i < 3; i++) {
            ends[6 * k + i] = p[3 * k + i];
            ends[6 * k + 3 + i] = p[3 * k + i] + (0.8 * size * f[i]) / largest[kind];
          }
        }
      }
    }
  }
  // Draws tethers as Catmull-Rom curves through their points, with four segments between two points.
  function moveLines() {
    const points = state.values.line_position;
    if (!points) return;
    data.scene.strands.forEach((strand, k) => {
      const [first, count] = page.tethers[k], at = (i) => points.subarray(3 * (first + Math.min(count - 1, Math.max(0, i))));
      const out = array(strand.points);
      for (let i = 0; i < strand.n; i++) {
        const x = (i % 4) / 4, j = Math.floor(i / 4), [a, b, c, d] = [at(j - 1), at(j), at(j + 1), at(j + 2)];
        for (let n = 0; n < 3; n++) out[3 * i + n] = b[n] + 0.5 * x * (c[n] - a[n] + x * (2 * a[n] - 5 * b[n] + 4 * c[n] - d[n] + x * (3 * (b[n] - c[n]) + d[n] - a[n])));
      }
    });
  }
  let waves = null, seaAt = -1;
  function moveSea() {
    if (!waves || !data.scene.surfaces.length || Math.abs(state.t - seaAt) < 0.05) return;
    seaAt = state.t;
    const { x, y, z } = data.scene.surfaces[0], out = array(z), n = waves.length / 7, row = (k, i) => waves[k * n + i];
    out.fill(0);
    for (let w = 0; w < n; w++) {
      const [a, omega, k, nx, ny, phase] = [0, 1, 2, 3, 4, 5].map((r) => row(r, w)), now = phase - omega * state.t;
      for (let i = 0; i < x.length; i++) for (let j = 0; j < y.length; j++) out[i * y.length + j] -= down * a * Math.cos(k * (nx * x[i] + ny * y[j]) + now);
    }
  }

  // Sets the view of the followed body; "start" is the initial view.
  function look(kind) {
    if (!view) return;
    view.mount(kind === "onboard" ? page.camera : null);
    for (const button of document.querySelectorAll("[data-view]")) button.classList.toggle("on", button.dataset.view === kind);
    if (kind === "onboard") return;
    view.frame(page.follow);
    if (kind === "start") return;
    const o = state.values.orientation, k = Math.max(follow, 0), heading = rotated(o, k, [1, 0, 0]), flip = down > 0 ? -1 : 1;
    const [x, y] = [heading[0], flip * heading[1]], size = Math.hypot(x, y) || 1;
    const away = { chase: [-x / size, -y / size, 0.45], side: [y / size, -x / size, 0.2], top: [-0.02 * x / size, -0.02 * y / size, 1] }[kind];
    view.lookFrom(away);
  }
  for (const button of document.querySelectorAll("[data-view]")) button.onclick = () => look(button.dataset.view);

  // -- instruments -----------------------------------------------------------------------------------------------------------

  function attitude() {
    const k = Math.max(follow, 0), flip = down > 0 ? 1 : -1;
    const [w, x, b, c] = state.values.orientation.subarray(4 * k, 4 * k + 4), [y, z] = [flip * b, flip * c], turn = 180 / Math.PI;
    const heading = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) * turn * flip;
    return {
      roll: Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * turn,
      pitch: Math.asin(Math.min(1, Math.max(-1, 2 * (w * y - z * x)))) * turn,
      heading: ((heading % 360) + 360) % 360,
    };
  }
  // Returns the height above the nearest triangle of terrain below [m], or null without terrain.
  let altitude = null, altitudeAt = -Infinity;
  function sounded([px, py, pz]) {
    if (performance.now() - altitudeAt < 300) return altitude;
    altitudeAt = performance.now();
    let nearest = Infinity;
    for (const solid of data.scene.solids) {
      if (solid.layer !== "terrain" || solid.frame) continue;
      const v = array(solid.vertices), faces = array(solid.faces);
      for (let k = 0; k < faces.length; k += 3) {
        const [a, b, c] = [3 * faces[k], 3 * faces[k + 1], 3 * faces[k + 2]];
        const [x1, y1, x2, y2] = [v[b] - v[a], v[b + 1] - v[a + 1], v[c] - v[a], v[c + 1] - v[a + 1]], area = x1 * y2 - x2 * y1;
        const [x, y] = [px - v[a], py - v[a + 1]], m = (x * y2 - x2 * y) / area, n = (x1 * y - x * y1) / area;
        if (!(m >= 0 && n >= 0 && m + n <= 1)) continue;
        const below = down * (v[a + 2] + m * (v[b + 2] - v[a + 2]) + n * (v[c + 2] - v[a + 2]) - pz);
        if (below >= 0) nearest = Math.min(nearest, below);
      }
    }
    return (altitude = nearest < Infinity ? nearest : null);
  }
  const row = (name, value) => `<tr><td>${name}</td><td>${value}</td></tr>`;
  let shownAt = 0;
  function showInstruments() {
    if (performance.now() - shownAt < 60) return;
    shownAt = performance.now();
    const { values, factor, load } = state, k = Math.max(follow, 0), at = (name, n) => values[name].subarray(n * k, n * k + 3);
    const { roll, pitch, heading } = attitude(), p = at("position", 3), depth = p[2] * down, speed = Math.hypot(...at("velocity", 6));
    const flow = values.fluid_velocity ? Math.hypot(...at("fluid_velocity", 3)) : 0, height = sounded(p);
    const warnings = [], limited = manifest.coords.actuator.filter((_, i) => values.saturated && values.saturated[i]);
    if (limited.length) warnings.push(`At limit: ${limited.slice(0, 4).map((name) => name.split(".").pop()).join(", ")}${limited.length > 4 ? ", …" : ""}`);
    if (playing && past === null && speedNow() !== Infinity && factor && factor < 0.9 * speedNow() && load > 0.8) warnings.push("This device is too slow for the selected speed");
    const title = past !== null ? "Earlier time" : !flies ? "Mission" : ["Autopilot", "Manual", "Speed", "Hold"][mode];
    $("hud").innerHTML = `<div class="big">${title}</div><table>${data.scene.wet ? row("depth", `${decimals(depth)} m`) : row("height", `${decimals(-depth)} m`)}
      ${row("speed", `${decimals(speed)} m/s`)}${flow > 0 ? row("current", `${decimals(flow)} m/s`) : ""}</table>
      ${warnings.map((text) => `<div class="warn">${escapeHtml(text)}</div>`).join("")}`;
    $("heading").innerHTML = headingTape(heading, manifest.axes);
    $("depth").style.visibility = data.scene.wet ? "" : "hidden";
    $("depth").innerHTML = depthTape(depth, height);
    $("attitude").innerHTML = horizon(roll, pitch);
    $("thrust").style.display = page.thrusters.length ? "" : "none";
    $("thrust").innerHTML = thrusterPlan(page.thrusters.map(({ name, index, most, plan }) =>
      [name, values.actuator_force[index] / most, Boolean(values.saturated && values.saturated[index]), ...plan]));
    $("clock").textContent = `${decimals(state.t, 1)} of ${decimals(manifest.duration, 0)} s`;
    $("factor").textContent = playing && factor ? `${factor < 9.95 ? factor.toFixed(1) : factor.toFixed(0)} ×` : "";
    if (document.activeElement !== $("time") || past === null) [$("time").max, $("time").value] = [Math.max(state.now, manifest.duration), state.t];
    $("grips").textContent = state.grips.map(([name, closed]) => `${name.split(".").pop()} ${closed ? "closed" : "open"}`).join(", ");
    toasts.show([...messages.filter(({ text }) => /^t = /.test(text)).map(({ text }) => text.replace(/^(t = [-\d]+\.\d)\d+ s/, "$1 s")), ...notes]);
  }

  // -- plots -----------------------------------------------------------------------------------------------------------------

  const columns = new Map(page.quantities.map((name, k) => [name, store.columns[k]]));
  const live = (ref) => (ref === "time" ? store.time : typeof ref === "string" ? columns.get(ref) : array(ref));
  for (const name in data.plots) {
    const group = data.plots[name], details = element("details"), place = element("div", "panels");
    details.open = !group.folded;
    details.append(element("summary", "", group.title), place);
    place.dataset.group = name;
    $("plots").append(details);
  }
  const plots = new Plots(data.plots, live, [""], (t) => lookBack(t));
  for (const scrolled of [document, document.querySelector("aside")]) scrolled.addEventListener("scrollend", () => plots.update());
  function takeSeries({ run: of, from, time, values }) {
    if (of !== run || from > store.time.length) return;
    store.time.length = from;
    store.time.push(...time);
    values.forEach((column, k) => { store.columns[k].length = from; store.columns[k].push(...column); });
    plots.update();
    plots.setTime(state ? state.t : 0);
  }

  // -- controls --------------------------------------------------------------------------------------------------------------

  const send = connected(receive);
  const speedNow = () => ($("speed").value === "max" ? Infinity : Number($("speed").value));
  for (const speed of [0.1, 0.25, 0.5, 1, 2, 5, 10, 50, "max"]) $("speed").add(new Option(speed === "max" ? "as fast as possible" : `${speed} ×`, speed, speed === 1, speed === 1));

  function play(on) {
    if (on && state && state.ended) { restart(); return; }
    hideCard();
    past = null;
    playing = on;
    send({ play: on });
    showPlaying();
  }
  function showPlaying() {
    $("play").textContent = playing ? "❚❚ Pause" : state && state.t > 0 ? "▶ Continue" : "▶ Start";
    $("play").classList.toggle("on", playing);
  }
  function restart(then) {
    const parameters = changed();
    playing = over = false;
    past = null;
    setMode(0, false);
    send({ restart: { seed: Number($("seed").value), parameters } });
    if (then) play(true);
    showPlaying();
  }
  function step() { hideCard(); playing = false; past = null; send({ step: 1 }); showPlaying(); }
  function lookBack(t) {
    past = state && t >= state.now - 1e-9 ? null : t;
    if (past !== null && playing) { playing = false; send({ play: false }); showPlaying(); }
  }
  function faster(way) {
    const list = $("speed");
    list.selectedIndex = Math.max(0, Math.min(list.options.length - 1, list.selectedIndex + way));
    send({ speed: speedNow() });
  }
  $("play").onclick = () => play(!playing);
  $("step").onclick = step;
  $("reset").onclick = () => { restart(); showCard(); };
  $("speed").onchange = () => send({ speed: speedNow() });
  $("time").oninput = () => lookBack(Number($("time").value));
  $("download").onclick = $("card-download").onclick = () => send({ recording: true });

  function save(bytes) {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([bytes], { type: "application/x-netcdf" }));
    link.download = `${manifest.name}-${$("seed").value}.nc`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    note(`Saved ${link.download}; open it with: hydromechs replay ${link.download}`);
  }

  // -- pilot -----------------------------------------------------------------------------------------------------------------

  const steering = new Steering({ 0: () => grip(true), 1: () => grip(false), 2: () => setMode(3), 3: () => setMode(2), 9: () => play(!playing) });
  let sent = {};
  function setMode(number, now = true) {
    if (!flies) return;
    mode = number;
    if (now) send({ held: { "operator.mode": mode } });
    sent["operator.mode"] = mode;
    for (const button of document.querySelectorAll("[data-mode]")) button.classList.toggle("on", Number(button.dataset.mode) === mode);
  }
  function steer() {
    if (!flies || past !== null) return;
    const { axes, arm } = steering.deflections(JOINTS);
    if (mode === 0 && [...axes, ...arm.slice(0, page.joints.length)].some((x) => x !== 0)) takeOver();
    const held = {};
    ["surge", "sway", "heave", "roll", "pitch", "yaw"].forEach((name, k) => { held[`operator.${name}`] = axes[k]; });
    page.joints.forEach((_, k) => { held[`operator.joint_${k + 1}`] = arm[k]; });
    const changes = Object.fromEntries(Object.entries(held).filter(([name, x]) => x !== (sent[name] ?? 0)));
    if (!Object.keys(changes).length) return;
    Object.assign(sent, changes);
    send({ held: changes });
  }
  function takeOver() {
    setMode(3);
    note($("sticks").hidden ? "You have control. If you release all keys, the vehicle holds its position. Press 0 for the autopilot."
      : "You have control. If you release the sticks, the vehicle holds its position. Select Autopilot to hand over control.");
    if (!playing) play(true);
    coach.begin();
  }
  setInterval(steer, SEND_EVERY);
  const grip = (close) => send({ grip: close });
  $("close-gripper").onclick = () => grip(true);
  $("open-gripper").onclick = () => grip(false);
  for (const button of document.querySelectorAll("[data-mode]")) button.onclick = () => setMode(Number(button.dataset.mode));

  const PRESS = { Digit0: () => setMode(0), Digit1: () => setMode(1), Digit2: () => setMode(2), Digit3: () => setMode(3),
    Escape: () => hideCard(), KeyB: () => look(document.querySelector("[data-view=onboard]").classList.contains("on") ? "start" : "onboard"),
    KeyC: () => grip(true), KeyV: () => grip(false), KeyP: () => play(!playing), Period: step, Backspace: () => { restart(); showCard(); },
    Space: () => { steering.keys.clear(); if (mode) setMode(3); else play(!playing); },
    Equal: () => faster(1), NumpadAdd: () => faster(1), Minus: () => faster(-1), NumpadSubtract: () => faster(-1) };
  function keyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { tagName, type } = event.target, typing = /SELECT|TEXTAREA/.test(tagName) || (tagName === "INPUT" && type !== "range");
    const own = tagName === "INPUT" || (/BUTTON|SUMMARY/.test(tagName) && /^(Space|Enter)$/.test(event.code));
    if (typing || (own && /^(Arrow|Space|Home|End|Page)/.test(event.code))) return;
    const steers = flies && (VEHICLE[event.code] || JOINTS[event.code]);
    if (!steers && !PRESS[event.code]) return;
    event.preventDefault();
    if (event.repeat) return;
    if (steers) steering.keys.add(event.code);
    if (steers) hideCard();
    if (PRESS[event.code]) PRESS[event.code]();
    steer();
  }
  addEventListener("keydown", keyDown);
  addEventListener("keyup", (event) => { steering.keys.delete(event.code); steer(); });
  addEventListener("blur", () => { steering.keys.clear(); steer(); });

  // Returns a button that acts like a key while it is pressed by pointer or keyboard.
  function keyButton(code, label, title) {
    const button = element("button", "", label);
    button.title = title;
    button.setAttribute("aria-label", title);
    const press = (on) => { if (on) steering.pressed.set(button, code); else steering.pressed.delete(button); steer(); };
    button.onpointerdown = (event) => { button.setPointerCapture(event.pointerId); press(true); };
    button.onpointerup = button.onpointercancel = button.onblur = () => press(false);
    button.onkeydown = (event) => { if (/^(Space|Enter)$/.test(event.code)) press(true); };
    button.onkeyup = () => press(false);
    button.oncontextmenu = (event) => event.preventDefault();
    return button;
  }
  function buildPilot() {
    $("flight").hidden = !flies && !manifest.grips.length && !manifest.firm.length;
    $("modes").hidden = !flies;
    $("gripper").hidden = !manifest.grips.length && !manifest.firm.length;
    const keys = Object.entries(JOINTS);
    page.joints.forEach((name, k) => {
      const [minus, plus] = [-1, 1].map((sign) => keys.find(([, [axis, way]]) => axis === k && way === sign)[0]);
      const box = element("span", "joint");
      box.append(keyButton(minus, "−", `${name}: backwards, key ${minus.slice(3)}`), element("span", "", name.split(".").pop().replaceAll("_", " ")), keyButton(plus, "+", `${name}: forwards, key ${plus.slice(3)}`));
      $("joints").append(box);
    });
    if (!flies) $("fly").hidden = $("card-keys").hidden = true;
    const touch = matchMedia("(pointer: coarse)").matches || navigator.maxTouchPoints > 0;
    $("sticks").hidden = !(flies && touch);
    if (touch) $("card-keys").textContent = "Use the two sticks: the left stick moves, the right stick turns and dives. If you release both, the vehicle holds its position.";
    for (const stick of document.querySelectorAll(".stick")) addStick(stick);
  }
  function addStick(stick) {
    const axes = stick.dataset.axes.split(" ").map(Number), signs = stick.dataset.signs.split(" ").map(Number), knob = stick.firstElementChild;
    const set = (x, y) => {
      knob.style.transform = `translate(${36 * x}px, ${36 * y}px)`;
      [x, y].forEach((value, k) => { steering.sticks[axes[k]] = Math.abs(value) < DEAD ? 0 : signs[k] * value; });
      steer();
    };
    const move = (event) => {
      const { left, top, width, height } = stick.getBoundingClientRect();
      const [x, y] = [(2 * (event.clientX - left)) / width - 1, (2 * (event.clientY - top)) / height - 1], size = Math.max(1, Math.hypot(x, y));
      set(x / size, y / size);
    };
    stick.onpointerdown = (event) => { hideCard(); stick.setPointerCapture(event.pointerId); move(event); };
    stick.onpointermove = (event) => { if (stick.hasPointerCapture(event.pointerId)) move(event); };
    stick.onpointerup = stick.onpointercancel = () => set(0, 0);
  }

  // Hints for the first flight; each hint is shown until the user follows it.
  const coach = {
    left: null,
    begin() {
      if (this.left) return;
      const touch = !$("sticks").hidden, say = (keys, stick) => (touch ? stick : keys);
      const steps = [
        [() => sent["operator.surge"], say("Hold <kbd>W</kbd> to fly forward", "Push the left stick up to fly forward")],
        [() => sent["operator.yaw"], say("<kbd>Q</kbd> and <kbd>E</kbd> turn", "Push the right stick sideways to turn")],
        [() => sent["operator.heave"], say("<kbd>R</kbd> and <kbd>F</kbd> move up and down", "Pull the right stick to dive")],
      ];
      if (page.joints.length) steps.push([() => page.joints.some((_, k) => sent[`operator.joint_${k + 1}`]), say("<kbd>J</kbd> <kbd>L</kbd>, <kbd>I</kbd> <kbd>K</kbd> and <kbd>U</kbd> <kbd>O</kbd> move the arm", "The − and + buttons move the arm")]);
      if (manifest.grips.length) steps.push([() => false, say("Near an object, <kbd>C</kbd> closes the gripper, <kbd>V</kbd> opens it", "Near an object, Close grips it")]);
      this.left = steps.filter(([done]) => !done());
    },
    show() {
      while (this.left && this.left.length && this.left[0][0]()) { this.left.shift(); this.since = performance.now(); }
      const last = this.left && this.left.length === 1 && performance.now() - (this.since ?? 0) > 12_000;
      if (last) this.left.shift();
      const text = this.left && this.left.length && mode !== 0 ? this.left[0][1] : "";
      $("hint").hidden = !text;
      if ($("hint").dataset.text !== text) $("hint").innerHTML = $("hint").dataset.text = text;
    },
  };

  // -- card ------------------------------------------------------------------------------------------------------------------

  function showCard(result = null) {
    $("card").hidden = false;
    $("card").classList.toggle("result", Boolean(result));
    $("stage").classList.add("card-shown");
    $("card-title").textContent = result ? result.title : manifest.title;
    $("card-text").textContent = result ? result.text : manifest.description || "";
    $("card-checks").replaceChildren(...(result ? checkRows(result.checks) : []));
    $("watch").textContent = result ? "↺ Watch again" : "▶ Watch the mission";
    $("card-download").hidden = !result;
  }
  function hideCard() {
    $("card").hidden = true;
    $("stage").classList.remove("card-shown");
  }
  $("watch").onclick = () => { if (state && state.t > 0) restart(true); else play(true); };
  $("fly").onclick = () => { if (state && (over || state.ended)) restart(true); takeOver(); hideCard(); };

  function checkRows(checks, t = Infinity) {
    return checks.map(({ name, passed, value, text, limit }) => {
      const spec = manifest.checks.find((check) => check.name === name), early = t < Math.min(spec.before ?? Infinity, manifest.duration);
      const line = element("li", `check ${early ? "" : passed ? "passed" : "missed"}`);
      line.title = `${text}: ${limit}`;
      line.append(element("b", "", early ? "·" : passed ? "✓" : "✗"), element("span", "", name), element("span", "value", Number.isFinite(value) ? Number(value).toPrecision(3) : "–"));
      return line;
    });
  }
  function finished({ t, ended, checks }) {
    playing = false;
    over = true;
    showPlaying();
    const passed = checks.filter((check) => check.passed).length;
    const text = ended ? ended.reason : checks.length ? `${passed} of ${checks.length} checks passed.` : `Simulated ${t.toFixed(1)} s.`;
    $("objective").querySelector("ul").replaceChildren(...checkRows(checks));
    showCard({ title: ended && ended.error ? "The simulation stopped" : "The mission is over", text, checks });
  }

  // -- parameters, seed and links --------------------------------------------------------------------------------------------

  const sliders = manifest.parameters.map((row) => ({ row, values: [row.value].flat() }));
  const changed = () => Object.fromEntries(sliders.filter(({ row, values }) => String(values) !== String([row.value].flat())).map(({ row, values }) => [row.path, row.size > 1 ? values : values[0]]));
  function buildSliders() {
    for (const slider of sliders) {
      const { row, values } = slider;
      slider.inputs = values.map((value, k) => {
        const box = element("label", "slider"), input = element("input"), out = element("output");
        const label = (page.labels[row.path] ?? row.label) + (values.length > 1 ? ` ${"xyz"[k] ?? k}` : "");
        Object.assign(input, { type: "range", min: row.low, max: row.high, step: "any" });
        input.value = value;
        const show = () => { out.textContent = `${number(values[k])} ${row.unit}`; };
        const near = (x) => row.values ? row.values.reduce((a, b) => (Math.abs(b - x) < Math.abs(a - x) ? b : a)) : x;
        input.oninput = () => { values[k] = near(Number(input.value)); show(); apply(row.path, values); };
        input.ondblclick = () => { input.value = values[k] = [row.value].flat()[k]; show(); apply(row.path, values); };
        box.title = `${row.path}; double-click to restore the value of the scenario`;
        box.append(element("span", "", label), out, input);
        $("sliders").append(box);
        show();
        return { input, show };
      });
    }
    $("seed").value = manifest.seed;
  }
  function apply(path, values) {
    if (state && state.now > 0) send({ parameter: [path, values.length > 1 ? values : values[0]] });
    else restart();
  }
  $("seed").onchange = () => { restart(); showCard(); };
  $("dice").onclick = () => { $("seed").value = 1 + Math.floor(Math.random() * (manifest.data.seas ? 31 : 9999)); if (manifest.data.seas) $("seed").value = manifest.data.seed + Number($("seed").value) % 32; restart(); };
  function linkText() {
    const parts = [["scenario", manifest.name], ["seed", $("seed").value], ...Object.entries(changed())];
    return `${location.href.split("#")[0]}#${parts.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`).join("&")}`;
  }
  $("share").onclick = async () => {
    const link = linkText(), box = $("link");
    [box.hidden, box.value] = [false, link];
    box.select();
    try {
      await navigator.clipboard.writeText(link);
      note("Link copied with scenario, seed and parameters");
    } catch (error) {
      note("The link could not be copied; copy it from the field below");
    }
  };
  function readLink() {
    for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
      const slider = sliders.find(({ row }) => row.path === name), numbers = text.split(",").map(Number);
      if (name === "scenario") {
        if (text !== manifest.name) note(`The link is for scenario ${text}, but this page simulates ${manifest.name}`);
      } else if (name === "seed") {
        if (/^\d{1,15}$/.test(text)) $("seed").value = text;
        else note(`The seed ${text} in the link is not an integer; the seed of the scenario is used`);
      } else if (name === "speed" && [...$("speed").options].some((option) => option.value === text)) $("speed").value = text;
      else if (!slider) note(`The link sets ${name}, which this page cannot change; available: ${sliders.map(({ row }) => row.path).join(", ") || "none"}`);
      else if (numbers.length !== slider.row.size || numbers.some((x) => !(x >= slider.row.low && x <= slider.row.high))) {
        note(`The link sets ${name} to ${text}, outside the range ${slider.row.low} to ${slider.row.high} ${slider.row.unit}; the value of the scenario is used`);
      } else numbers.forEach((x, k) => { slider.values[k] = x; slider.inputs[k].input.value = x; slider.inputs[k].show(); });
    }
  }

  // -- many missions ---------------------------------------------------------------------------------------------------------

  const scatter = new Scatter({ connected, manifest, page, module: () => wasm, seed: () => Number($("seed").value), changed, sliders, view: () => view, note });

  // -- messages of the engine ------------------------------------------------------------------------------------------------

  let framed = 0, seriesAt = 0, reportAt = 0;
  function receive(message) {
    if (message.failed) fail(message.failed);
    if (message.note) note(message.note);
    if (message.ready) send({ speed: speedNow() });
    if (message.restarted) {
      wanted = true;
      ({ run, waves } = message.restarted);
      $("seed").value = message.restarted.seed;
      [store.time, ...store.columns].forEach((column) => { column.length = 0; });
      [sent, messages, past, turnedAt, seaAt] = [{}, [], null, 0, -1];
      moved.path?.clear();
    }
    if (message.frame) {
      wanted = true;
      if (message.frame.run !== run) return;
      state = message.frame;
      framed += 1;
      if (document.body.dataset.ready !== "yes") ready();
      if (view && state.values.position.every(Number.isFinite)) moveScene();
      showInstruments();
    }
    if (message.series) takeSeries(message.series);
    if (message.report && message.report.run === run) {
      ({ messages } = message.report);
      $("objective").querySelector("ul").replaceChildren(...checkRows(message.report.checks, state.now));
    }
    if (message.finished) finished(message.finished);
    if (message.recording) save(message.recording);
  }
  function fail(text) {
    $("failed").hidden = false;
    $("failed").textContent = text;
    hideCard();
    document.body.dataset.ready = "failed";
  }

  const quantities = ["position", "orientation", "velocity", ...["fluid_velocity", "actuator_force", "saturated", "line_position"].filter((name) => manifest.variables.some((v) => v.name === name))];
  // Reduces drawing quality if the mean time of four frames is too long.
  let ticked = 0, slow = [];
  function keepUp(now) {
    if (playing && view && now - ticked < 3000) slow.push(now - ticked);
    ticked = now;
    if (slow.length < 4) return;
    if (slow.reduce((a, b) => a + b) > 4 * SLOW_FRAME) view.simplify();
    slow = [];
  }
  function tick(now) {
    keepUp(now);
    if (wanted) {
      wanted = false;
      const forces = view ? Object.entries(page.arrows).filter(([layer, name]) => name.startsWith("force_") && view.layers.get(layer).on).map(([, name]) => name) : [];
      send({ frame: { names: [...quantities, ...forces], at: past } });
    }
    if (state && now - seriesAt > PLOT_EVERY && state.n !== store.time.length) {
      seriesAt = now;
      send({ series: { names: page.quantities, from: Math.max(0, store.time.length - 1) } });
    }
    if (past !== null && state) plots.setTime(state.t);
    if (state && now - reportAt > REPORT_EVERY && (playing || reportAt === 0 || state.t !== reported)) {
      [reportAt, reported] = [now, state.t];
      send({ report: true });
    }
    coach.show();
    view?.draw();
    requestAnimationFrame(tick);
  }
  let reported = -1;
  function ready() {
    document.body.dataset.ready = "yes";
    document.body.dataset.started = String(Math.round(performance.now()));
  }

  // The engine starts first, while the scene is being built.
  const missing = HydroMechsEngine.supported();
  window.hydromechs = { send, play, restart, setMode, steering, plots, scatter, get view() { return view; }, get state() { return state; },
    get mode() { return MODES[mode]; }, get frames() { return framed; }, store, notes, linkText };  // for tests
  buildSliders();
  readLink();
  const wasm = missing ? null : await inflated("wasm");
  if (!missing) send({ start: { bytes: wasm, data: manifest, seed: Number($("seed").value), parameters: changed() } });
  $("title").textContent = manifest.title;
  $("objective").hidden = !manifest.checks.length;
  $("remarks").hidden = !manifest.notes.length;
  $("remarks").append(...manifest.notes.map((text) => element("p", "note", text)));
  buildPilot();
  buildScene();
  document.querySelector("[data-view=onboard]").hidden = !page.camera;
  showCard();
  if (window === top) $("watch").focus({ preventScroll: true });
  setMode(0, false);
  if (missing) { fail(missing); return; }
  requestAnimationFrame(tick);
})();
