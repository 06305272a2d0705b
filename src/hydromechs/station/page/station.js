"use strict";
// Page of the operator station: sends input from keys, buttons and gamepad over the link, and shows received frames.

const $ = (id) => document.getElementById(id);
const base = location.pathname.replace(/\/?$/, "/");
const SEND_EVERY = 50;      // ms between messages of the pilot

const PLAIN = location.hash === "#numbers";   // page with numbers only, without scenes

const link = new Worker("link.js");   // holds the connection, so that a busy page still sends heartbeats
let hello = null, frame = null, scene = -1, gripping = false;
const steering = new Steering({ 0: () => grip("close"), 1: () => grip("open"), 2: () => mode("hold"), 3: () => mode("speed"), 9: () => toggle() });
const history = [];          // [t, depth, speed, heading]
let frames = 0;

// -- the link ---------------------------------------------------------------------------------------------------------------

function open() {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  link.postMessage({ connect: `${scheme}://${location.host}${base}link/${hello ? hello.seat : "new"}` });
  link.onmessage = ({ data }) => {
    if (data.closed) { banner("Connection lost; reconnecting"); setTimeout(open, 1000); return; }
    const message = JSON.parse(data.message);
    if (message.type === "hello") {
      if (!hello || hello.seat !== message.seat) scene = -1;
      hello = message;
      document.body.classList.toggle("armless", !hello.arms.length);
      fillScenarios();
    }
    else if (message.type === "frame") { frame = message; frames += 1; show(); link.postMessage({ shown: true }); }
    else if (message.type === "checked") problems(message.problems);
    else if (message.type === "saved") { problems([]); download(message); }
    else if (message.type === "ahead") note(message.problem || "");
    else if (message.type === "picture") note(message.problem || `saved ${message.file}`);
  };
}

function send(message) { link.postMessage({ send: JSON.stringify(message) }); }

const steers = () => frame !== null && frame.steers;

// -- requests of the operator -------------------------------------------------------------------------------------------------

function tick() {
  if (!steers()) return;
  const { axes, arm } = steering.deflections(frame.operator.arm_mode === "tool" ? TOOL : JOINTS);
  send({ type: "operator", axes, arm_axes: arm });
}
setInterval(tick, SEND_EVERY);

const mode = (name) => send({ type: "operator", mode: name });
const armMode = (name) => send({ type: "operator", arm_mode: name });
const toggle = () => send({ type: frame && frame.status.running ? "pause" : "start" });
function grip(what) {
  send({ type: "operator", gripper: what });
  clearTimeout(gripping);
  gripping = setTimeout(() => send({ type: "operator", gripper: "keep" }), 300);
}
function swing() {
  if (frame.operator.swing) send({ type: "operator", swing: false });
  else send({ type: "operator", mode: "hold", arm_mode: "tool", swing: true });
}
function nextArm() {
  const n = hello && hello.arms.length;
  if (n) send({ type: "operator", arm: (frame.operator.arm + 1) % n });
}

const lookAhead = () => send({ type: "ahead" });
function delay() {
  if (frame.status.link) { send({ type: "delay", delay: null }); return; }
  const value = (id) => Number($(id).value);
  const values = { delay: value("delay-time"), message_time: value("message-time"), loss: value("loss") };
  if (values.delay >= 0 && values.delay <= 20 && values.message_time >= 0 && values.message_time <= 20 && values.loss >= 0 && values.loss <= 1)
    { note(""); send({ type: "delay", ...values }); }
  else note("Enter a delay and transmission time from 0 to 20 s, and a message loss from 0 to 1.");
}

const PRESS = { Digit1: () => mode("manual"), Digit2: () => mode("speed"), Digit3: () => mode("hold"),
  Digit4: () => armMode("joints"), Digit5: () => armMode("tool"), Digit6: swing, Digit7: nextArm, Digit8: lookAhead, Digit9: delay,
  KeyC: () => grip("close"), KeyV: () => grip("open"), KeyP: toggle, Period: () => send({ type: "step" }),
  Backspace: () => send({ type: "reset" }), Space: () => { steering.keys.clear(); mode("hold"); } };

function keyDown(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT|TEXTAREA/.test(event.target.tagName || "")) return;
  if (VEHICLE[event.code] || TOOL[event.code] || JOINTS[event.code] || PRESS[event.code]) event.preventDefault();
  event.stopPropagation();
  if (event.repeat) return;
  steering.keys.add(event.code);
  if (PRESS[event.code] && steers()) PRESS[event.code]();
  tick();
}
function keyUp(event) { steering.keys.delete(event.code); tick(); }
function listen(target) {
  target.addEventListener("keydown", keyDown, true);
  target.addEventListener("keyup", keyUp, true);
}
listen(window);
window.addEventListener("blur", () => setTimeout(() => { if (!document.hasFocus()) { steering.keys.clear(); tick(); } }, 0));

// -- buttons ------------------------------------------------------------------------------------------------------------------

for (const name of ["start", "pause", "step", "reset", "ask", "give", "picture"])
  $(name).onclick = () => send({ type: name });
$("scale").onchange = (e) => send({ type: "scale", value: e.target.value === "max" ? "max" : Number(e.target.value) });
for (const b of document.querySelectorAll("[data-view]")) b.onclick = () => send({ type: "view", name: b.dataset.view });
$("swap").onclick = () => document.querySelector("main").classList.toggle("swapped");
for (const b of document.querySelectorAll("[data-mode]")) b.onclick = () => mode(b.dataset.mode);
for (const b of document.querySelectorAll("[data-arm]")) b.onclick = () => armMode(b.dataset.arm);
$("swing").onclick = swing;
$("ahead").onclick = lookAhead;
$("delay").onclick = delay;
$("next-arm").onclick = nextArm;
$("close-gripper").onclick = () => grip("close");
$("open-gripper").onclick = () => grip("open");
const PADS = [["KeyQ", "⟲"], ["KeyW", "▲"], ["KeyE", "⟳"], ["KeyJ", "arm ◀"], ["KeyI", "arm ▲"], ["KeyL", "arm ▶"],
  ["KeyA", "◀"], ["KeyS", "▼"], ["KeyD", "▶"], ["KeyU", "arm up"], ["KeyK", "arm ▼"], ["KeyO", "arm dn"],
  ["KeyR", "up"], ["KeyF", "down"]];
for (const [code, label] of PADS) {
  const b = document.createElement("button");
  b.textContent = label; b.title = code.replace("Key", "");
  b.classList.toggle("arm", label.startsWith("arm"));
  b.onpointerdown = (e) => { steering.pressed.set(b, code); b.setPointerCapture(e.pointerId); tick(); };
  b.onpointerup = b.onpointercancel = () => { steering.pressed.delete(b); tick(); };
  $("pads").append(b);
}
document.addEventListener("click", (e) => { if (e.target.tagName === "BUTTON") e.target.blur(); });

// -- configuration ------------------------------------------------------------------------------------------------------------

function fillScenarios() {
  const list = $("form").elements.scenario;
  list.replaceChildren(...hello.scenarios.map((name) => new Option(name, name, name === hello.scenario, name === hello.scenario)));
}
function changes() {
  const form = $("form").elements, out = {};
  for (const name of ["current", "position"]) {
    const text = form[name].value.trim();
    if (text) out[name] = text.split(/[\s,]+/).map(Number);
  }
  for (const name of ["wave_height", "wave_period", "heading_deg", "bandwidth", "stiffness", "seed"]) {
    const text = form[name].value.trim();
    if (text) out[name] = Number(text);
  }
  for (const [name, value] of Object.entries(out))
    if ([].concat(value).some((x) => !Number.isFinite(x))) { problems([`${name}: ${form[name].value} is not a number`]); return null; }
  return { scenario: form.scenario.value, changes: out };
}
$("form").onsubmit = (e) => { e.preventDefault(); const c = changes(); if (c) send({ type: "configure", ...c }); };
$("save").onclick = () => { const c = changes(); if (c) send({ type: "save", ...c }); };
function problems(list) {
  $("problems").replaceChildren(...list.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
}
function download(message) {
  note(`saved ${message.file}`);
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([message.text], { type: "text/yaml" }));
  a.download = message.file.split(/[\\/]/).pop();
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}

// -- display --------------------------------------------------------------------------------------------------------------------

let noted = "";
const note = (text) => { noted = text; };
const banner = (text) => { $("banner").textContent = text; $("banner").hidden = !text; };
const escape = escapeHtml, fixed = decimals, toasts = new Toasts($("messages"));
const short = (name) => escape(name.split(".").pop());
function bar(value, saturated) {
  const w = Math.min(50, 50 * Math.abs(value));
  return `<span class="bar"><i class="${saturated ? "sat" : ""}" style="left:${value < 0 ? 50 - w : 50}%;width:${w}%"></i></span>`;
}

function ghostRows() {
  const { ghost, status } = frame, link = status.link;
  if (!ghost || !link) return "";
  const g = ghost.hud, row = (name, value) => `<tr><td>${name}</td><td>${value}</td></tr>`;
  return `<div class="warn">Telemetry: ${fixed(link.age, 1)} s old${link.lost ? `; ${link.lost} messages lost` : ""}</div>
    <div class="ghost">Ghost: predicted ${fixed(link.ahead, 1)} s ahead
    <table>${row("position", `${g.position.map((x) => fixed(x)).join("  ")} m`)}
    ${row("depth", `${fixed(g.depth)} m`)}${row("heading", `${fixed(g.heading, 1)}°`)}${row("speed", `${fixed(g.speed)} m/s`)}
    ${g.tools.map((x) => row(short(x[0]), `${x.slice(1).map((v) => fixed(v)).join("  ")} m`)).join("")}</table></div>`;
}
function aheadRows() {
  const a = frame.ahead;
  return a ? `<div>Next 10 s, simulated in ${fixed(a.took, 0)} ms</div>${a.ways.map((w) =>
    `<div><span style="color:rgb(${w[1].map(Number).join(",")})">━━</span> ${escape(w[0])}: ${fixed(w[2], 1)} m away${
      w[3] < 9.9 ? `, stops at ${fixed(w[3], 1)} s` : ""}</div>`).join("")}` : "";
}

// -- display of a frame ----------------------------------------------------------------------------------------------------------

function show() {
  if (frame.scene !== scene) loadScenes();
  const { hud, status, operator } = frame;
  const warnings = [];
  const saturated = [...hud.thrusters.filter((x) => x[2]), ...hud.joints.filter((x) => x[3])].map((x) => x[0].split(".").pop());
  if (saturated.length) warnings.push(`At limit: ${saturated.join(", ")}`);
  if (status.lost) warnings.push("Pilot disconnected: holding position");
  if (status.link && status.link.problem) warnings.push(status.link.problem);
  if (hud.altitude !== null && hud.altitude < 0.8) warnings.push("Low altitude");
  if (hud.depth < -0.5) warnings.push("Above the surface");
  for (const x of hud.tethers) if (x[3] < 1) warnings.push(`${x[0].split(".").pop()} is slack`);
  if (status.running && status.scale !== "max" && status.factor < 0.9 * status.scale && status.factor > 0) warnings.push("Slower than real time");
  $("hud").innerHTML = `<div class="big">${escape(operator.mode)}${hello.arms.length ? ` · arm ${escape(operator.arm_mode)}${operator.swing ? " swings" : ""}` : ""}</div>
    <table><tr><td>depth</td><td>${fixed(hud.depth)} m</td></tr><tr><td>speed</td><td>${fixed(hud.speed)} m/s</td></tr>
    <tr><td>current</td><td>${fixed(Math.hypot(...hud.current))} m/s</td></tr></table>
    ${hud.tethers.map((x) => `<div>${short(x[0])}: ${fixed(x[1], 1)} m out, ${fixed(x[3], 0)} N</div>`).join("")}
    ${ghostRows()}${aheadRows()}${warnings.map((x) => `<div class="warn">${escape(x)}</div>`).join("")}`;
  $("heading").innerHTML = headingTape(hud.heading, status.axes);
  $("depth").innerHTML = depthTape(hud.depth, hud.altitude);
  $("attitude").innerHTML = horizon(hud.roll, hud.pitch);
  $("thrust").innerHTML = thrusterPlan(hud.thrusters);
  const place = (p) => p.map((v) => fixed(v)).join("  ");
  if ($("data").open) $("numbers").innerHTML = `<table><tr><td>heading</td><td>${degrees(hud.heading, 1)}°</td><td>altitude</td><td>${fixed(hud.altitude)} m</td></tr>
    <tr><td>roll</td><td>${fixed(hud.roll, 1)}°</td><td>pitch</td><td>${fixed(hud.pitch, 1)}°</td></tr>
    <tr><td>position</td><td colspan="3">${place(hud.position)} m</td></tr>
    ${hud.tools.map((x) => `<tr><td>${short(x[0])}</td><td colspan="3">${place(x.slice(1))} m</td></tr>`).join("")}
    ${hud.grips.map((x) => `<tr><td>${short(x[0])}</td><td colspan="3">${x[1] ? "closed" : "open"}</td></tr>`).join("")}
    ${hud.tethers.map((x) => `<tr><td>${short(x[0])}</td><td colspan="3">${fixed(x[1], 1)} m${x[2] === null ? "" : `, winch ${fixed(x[2])} m/s`}, tension ${fixed(x[3], 0)} N</td></tr>`).join("")}
    <tr><td>real time</td><td>${fixed(status.factor)} ×</td><td>dropped</td><td>${frame.dropped} frames</td></tr></table>
    ${hud.thrusters.map((x) => `<div>${bar(x[1], x[2])} ${short(x[0])}</div>`).join("")}
    ${hud.joints.map((x) => `<div>${bar(x[2], x[3])} ${short(x[0])} ${fixed(x[1], 0)} N·m</div>`).join("")}`;
  $("camera-name").textContent = frame.cameras[aimed.camera] ?? "onboard camera";
  $("next-camera").hidden = frame.cameras.length < 2;
  $("title").textContent = status.title;
  $("clock").textContent = `${fixed(frame.t, 1)} of ${fixed(status.duration, 0)} s`;
  $("passed").style.width = `${Math.min(100, 100 * frame.t / status.duration)}%`;
  const checks = $("objective").querySelector("ul");
  if (checks.dataset.scene !== String(scene)) {
    checks.dataset.scene = scene;
    checks.replaceChildren(...status.checks.map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    $("objective").hidden = !status.checks.length;
  }
  $("who").textContent = frame.steers ? `You have control${frame.asking.length ? `; ${frame.asking[0]} requests control` : ""}`
    : frame.pilot ? `${frame.pilot} has control` : "Nobody has control";
  $("who").textContent += ` · you are ${frame.you}, ${frame.seats} connected`;
  $("ask").disabled = frame.steers;
  $("give").disabled = !frame.steers;
  for (const id of ["start", "pause", "step", "reset", "scale", "picture", "ahead", "delay", "swing", "next-arm", "close-gripper", "open-gripper"])
    $(id).disabled = !frame.steers;
  $("start").classList.toggle("on", status.running);
  $("pause").classList.toggle("on", !status.running);
  $("swing").classList.toggle("on", operator.swing);
  $("ahead").classList.toggle("on", frame.ahead !== null);
  $("delay").classList.toggle("on", status.link !== null);
  for (const b of document.querySelectorAll("[data-mode]")) b.classList.toggle("on", b.dataset.mode === operator.mode);
  for (const b of document.querySelectorAll("[data-arm]")) b.classList.toggle("on", b.dataset.arm === operator.arm_mode);
  toasts.show([...status.messages, noted].filter(Boolean));
  banner(status.problem);
  if (!history.length || frame.t < history[history.length - 1][0]) history.length = 0;
  if (!history.length || frame.t - history[history.length - 1][0] >= 0.1) {
    const before = history.length ? history[history.length - 1][3] : hud.heading;  // no jump at 360°
    history.push([frame.t, hud.depth, hud.speed, hud.heading + 360 * Math.round((before - hud.heading) / 360)]);
    if (history.length > 600) history.shift();
    plot();
  }
}

function loadScenes() {
  scene = frame.scene;
  Object.assign(aimed, { camera: 0, pan: 0, tilt: 0 });
  for (const view of ["outside", "onboard"]) loadScene(view);
}
function loadScene(view) {
  const box = $(`scene-${view}`);
  box.onload = () => listen(box.contentWindow);
  box.src = PLAIN || (view === "onboard" && !camera) ? "about:blank" : `${base}${view}/${hello.seat}`;
}
const aimed = { camera: 0, pan: 0, tilt: 0 };   // selection of the onboard camera of this page
function aim(changes) {
  Object.assign(aimed, changes);
  send({ type: "aim", ...aimed });
}
for (const button of document.querySelectorAll("#gimbal [data-pan], #gimbal [data-tilt]")) button.onclick = () => aim({
  pan: Math.max(-180, Math.min(180, aimed.pan + Number(button.dataset.pan ?? 0))),
  tilt: Math.max(-90, Math.min(90, aimed.tilt + Number(button.dataset.tilt ?? 0))) });
$("ahead-again").onclick = () => aim({ pan: 0, tilt: 0 });
$("next-camera").onclick = () => aim({ camera: (aimed.camera + 1) % frame.cameras.length, pan: 0, tilt: 0 });
let camera = !PLAIN;
$("camera").onclick = () => {
  camera = !camera;
  $("camera").classList.toggle("on", camera);
  $("onboard").hidden = !camera;
  if (hello) loadScene("onboard");
};

function plot() {
  const canvas = $("plots"), g = canvas.getContext("2d"), labels = ["depth [m]", "speed [m/s]", "heading [°]"];
  g.clearRect(0, 0, canvas.width, canvas.height);
  const style = getComputedStyle(document.body), soft = style.getPropertyValue("--soft");
  g.font = "11px system-ui"; g.lineWidth = 1.4;
  const t1 = history[history.length - 1][0], t0 = t1 - 60, height = (canvas.height - 14) / 3;
  labels.forEach((label, k) => {
    const values = history.map((h) => h[k + 1]);
    let low = Math.min(...values), high = Math.max(...values);
    if (high - low < 0.2) { low -= 0.1; high += 0.1; }
    const y = (v) => k * height + 16 + (height - 24) * (k === 0 ? (v - low) : (high - v)) / (high - low);
    g.fillStyle = soft;
    const now = values[values.length - 1];
    g.fillText(`${label}  ${fixed(k === 2 ? ((now % 360) + 360) % 360 : now)}`, 4, k * height + 11);
    g.textAlign = "right"; g.fillText(`${fixed(low)} … ${fixed(high)}`, canvas.width - 4, k * height + 11); g.textAlign = "left";
    g.strokeStyle = ["#0072b2", "#d55e00", "#009e73"][k];
    g.beginPath();
    history.forEach((h, i) => { const x = canvas.width * (h[0] - t0) / 60; if (i) g.lineTo(x, y(h[k + 1])); else g.moveTo(x, y(h[k + 1])); });
    g.stroke();
  });
  g.fillStyle = soft;
  for (const back of [60, 40, 20, 0]) {
    g.textAlign = back === 60 ? "left" : back ? "center" : "right";
    g.fillText(back ? `−${back} s` : "now", canvas.width * (60 - back) / 60, canvas.height - 2);
  }
  g.textAlign = "left";
}

setInterval(() => { window.framesPerSecond = frames; frames = 0; }, 1000);
open();
