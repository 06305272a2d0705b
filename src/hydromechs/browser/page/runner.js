"use strict";
// Runs a compiled mission in real time and answers requests of the page, in a worker thread or in the page without workers.

function missionRunner(post) {
  const SLICE = 8;        // computing time between two messages [ms]
  const CHUNK = 0.02;     // simulated time between two readings of the clock [s]
  const LAG = 0.1;        // time by which a run may be late before its clock waits [s]
  let world = null, manifest = null, playing = false, speed = 1, goal = 0, clock = 0, stop = 0, run = 0;
  let measured = { wall: 0, since: 0, t: 0, factor: 0 };
  let study = null;

  // -- time ------------------------------------------------------------------------------------------------------------------

  function play(on) {
    playing = on && !world.ended();
    clock = performance.now();
    goal = world.t;
    measured = { ...measured, since: clock, t: world.t, wall: 0 };
  }

  // Advances for a slice of time; returns true if the run is still late.
  function advance() {
    const now = performance.now(), began = now, { step } = manifest;
    if (speed === Infinity) goal = Infinity;
    else {
      goal = (Number.isFinite(goal) ? goal : world.t) + 1e-3 * (now - clock) * speed;
      goal = Math.min(goal, world.t + step + LAG * Math.max(1, speed));
    }
    clock = now;
    const end = stop > world.t ? stop : Infinity;
    while (world.t + step <= goal + 1e-9 && world.t + 0.5 * step < end && performance.now() - began < SLICE) {
      world.advance(Math.min(goal, end, world.t + Math.max(CHUNK, step)) + 1e-9);
      if (world.ended()) break;
    }
    measured.wall += performance.now() - began;
    if (clock - measured.since > 500) {
      measured.factor = (world.t - measured.t) / (1e-3 * (clock - measured.since));
      measured.load = measured.wall / (clock - measured.since);
      [measured.since, measured.t, measured.wall] = [clock, world.t, 0];
    }
    if (world.ended() || world.t + 0.5 * step >= end) {
      playing = false;
      stop = 0;
      post({ finished: { t: world.t, ended: world.ended(), checks: world.checks() } });
    }
    return playing && world.t + step <= goal;
  }

  const again = new MessageChannel();
  let waiting = false;
  again.port1.onmessage = loop;
  function loop() {
    waiting = false;
    const due = playing && advance();
    const more = study && !due && explore();
    if (due || more) wake(true);
    else if (playing) wake(false);
  }
  function wake(now) {
    if (waiting) return;
    waiting = true;
    if (now) again.port2.postMessage(0);
    else setTimeout(loop, 3);
  }

  // -- requests --------------------------------------------------------------------------------------------------------------

  function start({ bytes, data, seed, parameters }) {
    const build = (engine) => {
      world = engine;
      manifest = data;
      post({ ready: true });
      restart({ seed, parameters });
    };
    HydroMechsEngine.instantiate(bytes, data).then(build).catch((error) => post({ failed: error.message }));
  }
  function restart({ seed, parameters }) {
    playing = false;
    study = null;
    run += 1;
    try {
      world.reset({ seed, parameters });
    } catch (error) {
      world.reset({});
      post({ note: error.message });
    }
    stop = manifest.duration;
    measured.factor = 0;
    post({ restarted: { run, seed: world.seed, waves: world.waves() } });
  }
  function attempt(action) {
    try {
      action();
    } catch (error) {
      post({ note: error.message });
    }
  }
  // A gripper closes on the nearest object in reach; connections between frames close if the frames meet.
  function grip(close) {
    const { grips, firm } = manifest;
    if (!close) return [...grips.map((g) => g.name), ...firm].forEach((name) => hold(`${name}.closed`, 0));
    const apart = world.apart(), nearest = apart.indexOf(Math.min(...apart));
    if (nearest >= 0) {
      const { name, held, reach } = grips[nearest], away = apart[nearest];
      if (away > reach) return post({ note: `${held} is ${away.toFixed(2)} m away; the gripper reaches ${reach} m` });
      hold(`${name}.closed`, 1);
      post({ note: `${name} closes on ${held}` });
    } else for (const name of firm) hold(`${name}.closed`, 1);
  }
  function hold(name, value) {
    if (manifest.held.some((row) => row.name === name)) world.setHeld(name, value);
  }

  function frame({ names, at }) {
    const k = at === null ? null : world.sampleAt(at), past = k !== null && k >= 0;
    const values = world.observe(names, past ? k : null);
    const { factor, load } = measured;
    const grips = manifest.held.flatMap((row, i) => (row.name.endsWith(".closed") ? [[row.name.slice(0, -7), world.held()[i] > 0]] : []));
    return { run, t: past ? world.timeAt(k) : world.t, now: world.t, n: world.rows, playing, factor, load, values, grips, ended: world.ended() };
  }

  const requests = {
    start,
    play: (on) => play(on),
    speed: (value) => { speed = value; play(playing); },
    step: (k) => { playing = false; world.step(k); },
    stop: (t) => { stop = t; },
    restart,
    held: (values) => { for (const name in values) attempt(() => hold(name, values[name])); },
    parameter: ([path, value]) => attempt(() => world.setParameter(path, value)),
    grip: (close) => attempt(() => grip(close)),
    frame: (wanted) => post({ frame: frame(wanted) }),
    series: ({ names, from }) => post({ series: { run, from, ...world.series(names, from) } }),
    report: () => post({ report: { run, checks: world.checks(), messages: world.messages() } }),
    recording: () => post({ recording: world.recording() }),
    study: (wanted) => begin(wanted),
  };

  function handle(message) {
    for (const name in message) {
      if (!world && name !== "start") continue;
      try {
        requests[name](message[name]);
      } catch (error) {
        post({ note: `${name}: ${error.message}` });
      }
    }
    if (world && (playing || study)) wake(true);
  }

  // -- many missions ---------------------------------------------------------------------------------------------------------

  // Flies missions one after another, each with its own seed and parameters; returns the poses of one body and the checks.
  function begin({ missions, body, every, duration }) {
    playing = false;
    study = { missions: [...missions], body, every, duration, current: null };
  }
  function explore() {
    const began = performance.now();
    while (performance.now() - began < 3 * SLICE) {
      if (!study.current) {
        const next = study.missions.shift();
        if (!next) {
          study = null;
          return false;
        }
        try {
          world.reset({ seed: next.seed, parameters: next.parameters });
        } catch (error) {
          post({ mission: { number: next.number, problem: error.message } });
          continue;
        }
        study.current = { ...next, poses: [] };
      }
      const { current, body, every, duration } = study, due = (current.poses.length / 7) * every;
      world.advance(due + 1e-9);
      const { position, orientation } = world.poses();
      current.poses.push(...position.subarray(3 * body, 3 * body + 3), ...orientation.subarray(4 * body, 4 * body + 4));
      const ended = world.ended();
      if (!ended && due + every <= duration + 1e-9) continue;
      const checks = world.checks().map((check) => [check.name, check.passed, check.value]);
      const problem = ended && ended.error ? ended.reason : "";
      post({ mission: { number: current.number, every, poses: Float32Array.from(current.poses), checks, problem, t: world.t } });
      study.current = null;
    }
    return true;
  }

  return handle;
}

if (typeof WorkerGlobalScope !== "undefined" && self instanceof WorkerGlobalScope) {
  const handle = missionRunner((message) => postMessage(message));
  onmessage = ({ data }) => handle(data);
}
