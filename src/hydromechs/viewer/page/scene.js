"use strict";
// Draws a scene packed by _client.py at any time: frames with solids, arrows, lines, tethers, surfaces.
// The scene is in world axes of the model; the root group rotates them so that z is up.

const FOV = 34;               // vertical field of view [deg]
const ONBOARD = 70;           // vertical field of view of onboard cameras [deg]
const DIRECTION = [-38, 20];  // azimuth and elevation of the initial view [deg]

class SceneView {
  // `plain`: coarse and without shadows, for computers without a graphics card.
  constructor(canvas, scene, array, follow, plain = false) {
    this.canvas = canvas;
    this.data = scene;
    this.array = array;
    this.times = array(scene.times);
    this.follow = "";
    this.layers = new Map(scene.layers.map(layer => [layer.name, { on: layer.on, parts: [] }]));
    this.movers = [];  // functions of (index, fraction, next index)
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !plain, alpha: true });
    [this.plain, this.sharpness] = [plain, plain ? 0.6 : 2];
    this.renderer.shadowMap.enabled = !plain;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.scene = new THREE.Scene();
    this.root = new THREE.Group();
    const [a, b, c] = scene.upright;
    this.root.quaternion.setFromRotationMatrix(new THREE.Matrix4().set(...a, 0, ...b, 0, ...c, 0, 0, 0, 0, 1));
    this.scene.add(this.root);
    this.camera = new THREE.PerspectiveCamera(FOV, 1, 0.01, 1000);
    this.camera.up.set(0, 0, 1);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.56 * Math.PI;  // keeps the camera above most of the ground
    this.controls.addEventListener("change", () => { this.dirty = true; });
    this.frames = new Map([["", this.root]]);
    this.build();
    this.setTime(this.times[0]);
    this.light();
    this.frame(follow);
    for (const [name, layer] of this.layers) this.switch(name, layer.on);
  }

  // -- building --------------------------------------------------------------------------------------------------------------

  build() {
    for (const frame of this.data.frames) {
      const group = new THREE.Group(), position = this.array(frame.position), wxyz = this.array(frame.wxyz);
      const a = new THREE.Quaternion(), b = new THREE.Quaternion();
      const move = (k, part, next) => {
        group.position.set(...[0, 1, 2].map(i => mix(position[3 * k + i], position[3 * next + i], part)));
        const at = (q, n) => q.set(wxyz[4 * n + 1], wxyz[4 * n + 2], wxyz[4 * n + 3], wxyz[4 * n]);
        group.quaternion.slerpQuaternions(at(a, k), at(b, next), part);
      };
      move(0, 0, 0);
      if (!frame.fixed) this.movers.push(move);
      this.frames.get(frame.parent).add(group);
      this.frames.set(frame.name, group);
    }
    for (const solid of this.data.solids) this.addSolid(solid);
    for (const arrows of this.data.arrows) this.addArrows(arrows);
    for (const line of this.data.lines) this.addLine(line, this.array(line.points));
    for (const strand of this.data.strands) {
      const points = this.array(strand.points), size = 3 * strand.n, line = this.addLine(strand, points.slice(0, size));
      const place = line.geometry.attributes.position;
      this.movers.push((k, part, next) => {
        for (let i = 0; i < size; i++) place.array[i] = mix(points[k * size + i], points[next * size + i], part);
        place.needsUpdate = true;
      });
    }
    for (const surface of this.data.surfaces) this.addSurface(surface);
  }

  addSolid(solid) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.array(solid.vertices), 3));
    geometry.setIndex(new THREE.BufferAttribute(this.array(solid.faces), 1));
    geometry.computeVertexNormals();
    const clear = solid.opacity < 1;
    const material = new THREE.MeshStandardMaterial({
      color: color(solid.color), roughness: 0.75, metalness: 0.05, transparent: clear, opacity: solid.opacity,
      side: solid.moving ? THREE.FrontSide : THREE.DoubleSide, depthWrite: !clear,
    });
    if (solid.layer === "terrain") texture(geometry, material, this.plain ? 1 : 8);  // texture, so that motion over the ground is visible
    const mesh = new THREE.Mesh(geometry, material);
    mesh.castShadow = solid.moving && !clear;
    mesh.receiveShadow = !clear;
    this.keep(solid.layer, mesh, this.frames.get(solid.frame));
  }

  addArrows(arrows) {
    const ends = this.array(arrows.ends), width = arrows.width;
    const material = new THREE.MeshStandardMaterial({ color: color(arrows.color), roughness: 0.6 });
    const shaft = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 12), material, arrows.n);
    const head = new THREE.InstancedMesh(new THREE.ConeGeometry(1, 1, 16), material, arrows.n);
    const tail = new THREE.Vector3(), tip = new THREE.Vector3(), along = new THREE.Vector3(), middle = new THREE.Vector3();
    const up = new THREE.Vector3(0, 1, 0), turn = new THREE.Quaternion(), size = new THREE.Vector3(), place = new THREE.Matrix4();
    const layer = this.layers.get(arrows.layer);
    this.movers.push((k, part, next) => {
      if (!layer.on) return;
      for (let n = 0; n < arrows.n; n++) {
        const i = 6 * (k * arrows.n + n), j = 6 * (next * arrows.n + n);
        tail.set(...[0, 1, 2].map(x => mix(ends[i + x], ends[j + x], part)));
        tip.set(...[3, 4, 5].map(x => mix(ends[i + x], ends[j + x], part)));
        const length = along.subVectors(tip, tail).length(), point = Math.min(5 * width, length);
        turn.setFromUnitVectors(up, length > 1e-9 ? along.divideScalar(length) : up);
        middle.copy(tail).addScaledVector(along, 0.5 * (length - point));
        shaft.setMatrixAt(n, place.compose(middle, turn, size.set(width, Math.max(length - point, 1e-9), width)));
        middle.copy(tip).addScaledVector(along, -0.5 * point);
        const thick = length > 1e-6 ? 2.5 * width * point / (5 * width) : 1e-9;
        head.setMatrixAt(n, place.compose(middle, turn, size.set(thick, Math.max(point, 1e-9), thick)));
      }
      shaft.instanceMatrix.needsUpdate = head.instanceMatrix.needsUpdate = true;
    });
    for (const mesh of [shaft, head]) {
      mesh.frustumCulled = false;
      this.keep(arrows.layer, mesh, this.root);
    }
  }

  addLine(line, points) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    const drawn = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: color(line.color) }));
    drawn.frustumCulled = false;
    this.keep(line.layer, drawn, this.root);
    return drawn;
  }

  addSurface(surface) {
    const { x, y } = surface, z = this.array(surface.z), count = x.length * y.length, faces = [];
    const points = new Float32Array(3 * count);
    for (let i = 0; i < x.length; i++) for (let j = 0; j < y.length; j++) {
      points.set([x[i], y[j], z[i * y.length + j]], 3 * (i * y.length + j));
      if (i && j) {
        const d = i * y.length + j, [a, b, c] = [d - y.length - 1, d - y.length, d - 1];
        faces.push(a, c, b, b, c, d);
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
    geometry.setIndex(faces);
    geometry.computeVertexNormals();
    const material = new THREE.MeshStandardMaterial({
      color: color(surface.color), transparent: true, opacity: surface.opacity, side: THREE.DoubleSide, depthWrite: false, roughness: 0.3,
    });
    const mesh = new THREE.Mesh(geometry, material);
    mesh.frustumCulled = false;
    this.keep(surface.layer, mesh, this.root);
    const layer = this.layers.get(surface.layer), place = geometry.attributes.position;
    this.movers.push((k, part, next) => {
      if (!layer.on) return;
      for (let i = 0; i < count; i++) place.array[3 * i + 2] = mix(z[k * count + i], z[next * count + i], part);
      place.needsUpdate = true;
      geometry.computeVertexNormals();
    });
  }

  keep(layer, part, parent) {
    this.layers.get(layer).parts.push(part);
    parent.add(part);
  }

  light() {
    const { reach } = this.extent(""), sun = new THREE.DirectionalLight(0xffffff, 2.2);
    this.scene.add(new THREE.HemisphereLight(0xebf5ff, 0x788278, 1.6));
    this.sun = sun;
    sun.castShadow = true;
    sun.shadow.mapSize.set(1024, 1024);
    sun.shadow.bias = -0.0005;
    sun.shadow.normalBias = 0.02 * reach / 10;
    this.scene.add(sun, sun.target);
  }

  // -- view ------------------------------------------------------------------------------------------------------------------

  // Returns the centre and half diagonal of the solids of a mechanism, or of all moving solids.
  extent(body) {
    const mechanism = this.data.frames.find(frame => frame.name === body)?.mechanism;
    const frames = new Set(this.data.frames
      .filter(frame => !frame.scenery && (!mechanism || frame.mechanism === mechanism)).map(frame => frame.name));
    this.scene.updateMatrixWorld(true);
    const low = new THREE.Vector3(1e9, 1e9, 1e9), high = new THREE.Vector3(-1e9, -1e9, -1e9), p = new THREE.Vector3();
    for (const solid of this.data.solids) {
      if (solid.layer !== "bodies" || !frames.has(solid.frame)) continue;
      const vertices = this.array(solid.vertices), step = 3 * Math.max(1, Math.floor(vertices.length / 3 / 500));
      for (let i = 0; i + 2 < vertices.length; i += step) {
        this.frames.get(solid.frame).localToWorld(p.set(vertices[i], vertices[i + 1], vertices[i + 2]));
        low.min(p);
        high.max(p);
      }
    }
    if (low.x > high.x) return { center: new THREE.Vector3(), reach: 1 };
    return { center: low.clone().add(high).multiplyScalar(0.5), reach: Math.max(0.5 * high.distanceTo(low), 1e-3) };
  }

  // Points the camera at a mechanism from the initial direction, and follows the mechanism.
  frame(body, margin = 1.1) {
    const { center, reach } = this.extent(body), [azimuth, elevation] = DIRECTION.map(x => x * Math.PI / 180);
    const rise = this.data.surfaces.length ? 0.05 : elevation;
    const distance = margin * reach / Math.sin(0.5 * FOV * Math.PI / 180) / Math.min(1, Math.max(this.camera.aspect, 0.4));
    const away = new THREE.Vector3(Math.cos(rise) * Math.cos(azimuth), Math.cos(rise) * Math.sin(azimuth), Math.sin(rise));
    this.camera.position.copy(center).addScaledVector(away, distance);
    this.controls.target.copy(center);
    this.camera.near = 0.01 * distance;
    this.camera.far = 300 * distance;
    this.camera.updateProjectionMatrix();
    if (this.data.wet) {
      const [top, bottom] = this.data.water;
      this.scene.fog = new THREE.Fog(color(top.map((x, i) => 0.3 * x + 0.7 * bottom[i])), 2 * distance, 16 * distance);
    }
    const shadow = this.sun.shadow.camera;
    [shadow.left, shadow.right, shadow.bottom, shadow.top] = [-2.5 * reach, 2.5 * reach, -2.5 * reach, 2.5 * reach];
    [shadow.near, shadow.far] = [0.1 * reach, 30 * reach];
    shadow.updateProjectionMatrix();
    this.reach = reach;
    this.follow = body;
    this.before = this.place();
    this.controls.update();
    this.dirty = true;
  }

  // Reduces quality to draw faster: first fewer pixels, then no shadows. Returns false if nothing is left to reduce.
  simplify() {
    if (this.sharpness > 1 && devicePixelRatio > 1) this.sharpness = 1;
    else if (this.renderer.shadowMap.enabled) this.renderer.shadowMap.enabled = this.sun.castShadow = false;
    else if (this.sharpness > 0.6) this.sharpness = 0.6;
    else return false;
    this.resize();
    return true;
  }

  // Fixes the camera to a frame; `place` contains the frame name, and position, direction and up in its axes. null frees it.
  mount(place) {
    this.mounted = place;
    this.controls.enabled = !place;
    this.camera.up.set(0, 0, 1);
    this.camera.fov = place ? ONBOARD : FOV;
    this.camera.updateProjectionMatrix();
    if (place) this.aim();
    this.dirty = true;
  }

  aim() {
    const { name, position, along, up } = this.mounted, group = this.frames.get(name);
    group.updateWorldMatrix(true, false);
    this.camera.position.copy(group.localToWorld(new THREE.Vector3(...position)));
    this.controls.target.copy(group.localToWorld(new THREE.Vector3(...position.map((x, k) => x + this.reach * along[k]))));
    this.camera.up.copy(group.localToWorld(new THREE.Vector3(...position.map((x, k) => x + up[k])))).sub(this.camera.position);
    this.camera.lookAt(this.controls.target);
  }

  // Moves the camera to a direction from its target, z up; the distance is unchanged.
  lookFrom(away) {
    const { target } = this.controls, distance = this.camera.position.distanceTo(target);
    this.camera.position.copy(target).addScaledVector(new THREE.Vector3(...away).normalize(), distance);
    this.controls.update();
    this.dirty = true;
  }

  place() {
    const frame = this.frames.get(this.follow);
    return frame && this.follow ? frame.getWorldPosition(new THREE.Vector3()) : null;
  }

  setTime(t) {
    const { times } = this, k = Math.max(0, last(times, t)), next = Math.min(k + 1, times.length - 1);
    const part = next > k ? Math.min(1, Math.max(0, (t - times[k]) / (times[next] - times[k]))) : 0;
    for (const move of this.movers) move(k, part, next);
    this.now = t;
    const now = this.place();
    if (now && this.before) {
      const shift = now.clone().sub(this.before);
      this.camera.position.add(shift);
      this.controls.target.add(shift);
    }
    this.before = now;
    if (this.mounted) this.aim();
    this.dirty = true;
  }

  switch(name, on) {
    const layer = this.layers.get(name);
    layer.on = on;
    for (const part of layer.parts) part.visible = on;
    if (this.now !== undefined) this.setTime(this.now);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.renderer.setPixelRatio(Math.min(devicePixelRatio || 1, this.sharpness));
    this.renderer.setSize(width, height, false);
    const before = this.camera.aspect;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (!this.sized) this.frame(this.follow);
    this.sized = true;
    this.dirty = this.dirty || before !== this.camera.aspect;
    this.dirty = true;
  }

  draw() {
    if (!this.dirty || !this.sized) return;
    this.dirty = false;
    this.sun.target.position.copy(this.controls.target);
    this.sun.position.copy(this.controls.target).add(new THREE.Vector3(-5.3, 7.5, 11.9).multiplyScalar(this.reach));
    if (!this.mounted) this.controls.update();
    this.renderer.render(this.scene, this.camera);
  }

  // Returns pictures of the followed mechanism at some times, as image URLs.
  pictures(times, width, height) {
    const [now, position, target, aspect] = [this.now, this.camera.position.clone(), this.controls.target.clone(), this.camera.aspect];
    const ratio = this.renderer.getPixelRatio(), out = [], canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width, height];
    this.renderer.setPixelRatio(1);
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    for (const t of times) {
      this.setTime(t);
      this.frame(this.follow, 0.9);
      this.sized = this.dirty = true;
      this.draw();
      const ink = canvas.getContext("2d");
      const shade = ink.createLinearGradient(0, 0, 0, height);
      this.data.water.forEach((c, i) => shade.addColorStop(i, css(c)));
      ink.fillStyle = shade;
      ink.fillRect(0, 0, width, height);
      ink.drawImage(this.canvas, 0, 0);
      out.push(canvas.toDataURL("image/jpeg", 0.85));
    }
    this.setTime(now);
    this.camera.position.copy(position);
    this.controls.target.copy(target);
    this.camera.aspect = aspect;
    this.renderer.setPixelRatio(ratio);
    this.resize();
    return out;
  }
}

// Adds layer switches to one element and a legend of visible arrows to another; draws the water behind the scene.
function layerSwitches(view, place, legend) {
  const swatches = new Map(view.data.arrows.map(arrows => [arrows.layer, css(arrows.color)]));
  const show = () => legend.replaceChildren(...[...swatches].filter(([name]) => view.layers.get(name).on).map(([name, colour]) => {
    const entry = element("span", "", name.replace("force: ", ""));
    entry.style.setProperty("--colour", colour);
    return entry;
  }));
  for (const [name, layer] of view.layers) {
    const label = element("label"), box = element("input");
    box.type = "checkbox";
    box.checked = layer.on;
    box.addEventListener("change", () => { view.switch(name, box.checked); show(); });
    const text = element("span", swatches.has(name) ? "swatch" : "", name);
    text.style.setProperty("--colour", swatches.get(name) ?? "transparent");
    label.append(box, text);
    place.append(label);
  }
  show();
  const [top, bottom] = view.data.water;
  view.canvas.style.background = `linear-gradient(${css(top)}, ${css(bottom)})`;
}

// Returns true if this computer renders without a GPU.
function drawsInSoftware() {
  const context = document.createElement("canvas").getContext("webgl2"), info = context?.getExtension("WEBGL_debug_renderer_info");
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(context?.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER) ?? "");
}

// Returns the bytes of a compressed block in the page.
async function inflated(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), c => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}

// Returns a function that reads arrays from a block, given their offsets.
function arrays(block) {
  const kinds = { f4: Float32Array, f8: Float64Array, u4: Uint32Array }, cache = new Map();
  return ref => {
    if (!cache.has(ref.at)) cache.set(ref.at, new kinds[ref.type](block, ref.at, ref.n));
    return cache.get(ref.at);
  };
}

const mix = (a, b, part) => a + part * (b - a);
const color = rgb => new THREE.Color().setRGB(...rgb, THREE.SRGBColorSpace);
const css = rgb => `rgb(${rgb.map(x => Math.round(255 * x)).join(" ")})`;

// Returns the index of the last entry of an ascending array that is at most x, or -1 if there is no such entry.
function last(values, x) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= x) low = middle + 1; else high = middle;
  }
  return low - 1;
}

let grains;
function texture(geometry, material, anisotropy) {
  if (!grains) {
    const canvas = document.createElement("canvas"), size = canvas.width = canvas.height = 256, ink = canvas.getContext("2d");
    ink.fillStyle = "#fff";
    ink.fillRect(0, 0, size, size);
    let seed = 1;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    for (let n = 0; n < 900; n++) {
      const r = 1 + 7 * random() ** 4, [x, y] = [size * random(), size * random()];
      ink.fillStyle = `rgb(60 50 35 / ${0.05 + 0.12 * random()})`;
      for (const dx of [-size, 0, size]) for (const dy of [-size, 0, size]) {  // continues at the edges
        ink.beginPath();
        ink.arc(x + dx, y + dy, r, 0, 7);
        ink.fill();
      }
    }
    grains = new THREE.CanvasTexture(canvas);
    grains.wrapS = grains.wrapT = THREE.RepeatWrapping;
    grains.colorSpace = THREE.SRGBColorSpace;
    grains.anisotropy = anisotropy;
  }
  const place = geometry.attributes.position.array, uv = new Float32Array(place.length / 3 * 2);
  for (let i = 0; i < place.length / 3; i++) [uv[2 * i], uv[2 * i + 1]] = [0.4 * place[3 * i], 0.4 * place[3 * i + 1]];
  geometry.setAttribute("uv", new THREE.BufferAttribute(uv, 2));
  material.map = grains;
}
