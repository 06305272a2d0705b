"use strict";
// Connects the scene, timeline and plots of a page. Keys: Space plays, arrows step, Home and End jump.

(async () => {
  const by = id => document.getElementById(id), data = JSON.parse(by("data").textContent);
  const array = arrays(await inflated("block"));
  let view = null, playing = false, t = 0, clock = 0;
  const stage = by("stage");
  const tables = Object.values(data.plots).flatMap(group => group.panels).flatMap(panel => panel.tables).map(table => array(table.t));
  const times = data.scene ? array(data.scene.times) : tables[0] ?? [0, 1];
  const [begin, end] = [times[0], times[times.length - 1]];

  if (stage) try {
    view = new SceneView(by("scene"), data.scene, array, data.follow);
  } catch (error) {
    by("failed").hidden = false;
    by("failed").textContent = `The scene requires WebGL, which this browser does not support (${error.message}). Plots are not affected.`;
  }
  const plots = new Plots(data.plots, array, data.runs, seek);

  function seek(wanted) {
    t = Math.min(end, Math.max(begin, wanted));
    view?.setTime(t);
    plots.setTime(t);
    if (!stage) return;
    by("time").value = t;
    by("now").textContent = `${t.toFixed(2)} / ${end.toFixed(2)} s`;
    const past = data.marks.filter(mark => mark[0] <= t + 1e-9).at(-1);
    by("event").textContent = past && t - past[0] < 3 ? past[1] : "";
  }

  function play(on) {
    playing = on && end > begin;
    if (playing && t >= end) seek(begin);
    if (stage) {
      by("play").textContent = playing ? "❚❚" : "▶";
      by("play").setAttribute("aria-label", playing ? "Pause" : "Play");
    }
  }

  function tick(now) {
    const passed = Math.min(0.1, 1e-3 * (now - clock));
    clock = now;
    if (playing) {
      seek(t + passed * Number(by("speed").value));
      if (t >= end) play(false);
    }
    view?.draw();
    requestAnimationFrame(tick);
  }

  function addControls() {
    const time = by("time");
    [time.min, time.max] = [begin, end];
    time.addEventListener("input", () => seek(Number(time.value)));
    by("play").addEventListener("click", () => play(!playing));
    for (const speed of [0.1, 0.25, 0.5, 1, 2, 5, 10, 50]) by("speed").add(new Option(`${speed} ×`, speed, speed === 1, speed === 1));
    by("follow").add(new Option("Fixed camera", ""));
    for (const frame of data.scene.frames) if (!frame.parent && !frame.scenery) by("follow").add(new Option(`Follow ${frame.name}`, frame.name));
    by("follow").value = data.follow;
    by("follow").addEventListener("change", () => view?.frame(by("follow").value));
    for (const [when, text] of data.marks) {
      const mark = element("button");
      mark.title = mark.ariaLabel = `${when.toFixed(2)} s: ${text}`;
      mark.style.left = `${100 * (when - begin) / (end - begin || 1)}%`;
      mark.addEventListener("click", () => seek(when));
      by("marks").append(mark);
    }
    document.addEventListener("keydown", event => {
      const { tagName } = event.target;
      if (/^(INPUT|SELECT)$/.test(tagName) && event.target !== time || event.key === " " && /^(BUTTON|SUMMARY)$/.test(tagName)) return;
      const step = (end - begin) / 200, keys = { ArrowRight: t + step, ArrowLeft: t - step, Home: begin, End: end };
      if (event.key === " ") play(!playing);
      else if (event.key in keys && (event.target === by("scene") || event.target === time || document.body.classList.contains("replay"))) seek(keys[event.key]);
      else return;
      event.preventDefault();
    });
  }

  function addLayers() {
    layerSwitches(view, by("layers"), by("legend"));
    new ResizeObserver(() => { view.resize(); view.draw(); }).observe(by("scene"));
    view.resize();
  }

  // Adds a strip of pictures of the vehicle, from the start to the end of the run.
  function addMoments() {
    const place = by("moments");
    if (place && !view) place.closest("section").hidden = true;
    if (!place || !view) return;
    const count = 6, moments = Array.from({ length: count }, (_, k) => begin + (end - begin) * k / (count - 1));
    view.pictures(moments, 480, 320).forEach((picture, k) => {
      const button = element("button"), image = element("img");
      image.src = picture;
      image.alt = `Vehicle at ${moments[k].toFixed(1)} s`;
      button.append(image, element("span", "", `${moments[k].toFixed(1)} s`));
      button.addEventListener("click", () => { seek(moments[k]); stage.scrollIntoView({ block: "nearest" }); });
      place.append(button);
    });
  }

  if (stage) addControls();
  if (view) addLayers();
  seek(begin);
  requestAnimationFrame(now => { clock = now; tick(now); });
  if (document.body.classList.contains("replay") && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(true);
  addMoments();
  document.body.dataset.ready = "yes";
  window.hydromechs = { seek, play, view, plots, get time() { return t; } };  // for tests
})();
