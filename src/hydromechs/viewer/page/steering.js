"use strict";
// Input of a pilot by keys, buttons, sticks and gamepad, for the station and for simulations in a page.

const SLOW = 0.3;           // deflection of a key with Shift
const DEAD = 0.12;          // stick deflection below which input is zero

// key code -> [axis, deflection]; axes 0 to 5: forward, starboard and down of the vehicle, and rotations about them
const VEHICLE = { KeyW: [0, 1], KeyS: [0, -1], KeyA: [1, -1], KeyD: [1, 1], KeyR: [2, -1], KeyF: [2, 1],
  ArrowLeft: [3, -1], ArrowRight: [3, 1], ArrowUp: [4, -1], ArrowDown: [4, 1], KeyQ: [5, -1], KeyE: [5, 1] };
const TOOL = { KeyI: [0, 1], KeyK: [0, -1], KeyJ: [1, -1], KeyL: [1, 1], KeyU: [2, -1], KeyO: [2, 1] };
const JOINTS = { KeyJ: [0, -1], KeyL: [0, 1], KeyI: [1, 1], KeyK: [1, -1], KeyU: [2, 1], KeyO: [2, -1],
  KeyT: [3, 1], KeyY: [3, -1], KeyG: [4, 1], KeyH: [4, -1], KeyN: [5, 1], KeyM: [5, -1] };

class Steering {
  // `pad`: gamepad button -> function to call when it is pressed.
  constructor(pad) {
    this.keys = new Set();      // codes of keys that are down
    this.pressed = new Map();   // on-screen buttons that are down: element -> key code
    this.sticks = [0, 0, 0, 0, 0, 0];  // deflections of on-screen sticks
    this.pad = pad;
    this.buttons = [];
  }

  // Deflections of vehicle and arm, -1 to 1; `arms`: TOOL or JOINTS.
  deflections(arms) {
    const axes = [...this.sticks], arm = [0, 0, 0, 0, 0, 0];
    const size = this.keys.has("ShiftLeft") || this.keys.has("ShiftRight") ? SLOW : 1;
    for (const code of [...this.keys, ...this.pressed.values()]) {
      if (VEHICLE[code]) axes[VEHICLE[code][0]] += size * VEHICLE[code][1];
      if (arms[code]) arm[arms[code][0]] += size * arms[code][1];
    }
    this.gamepad(axes, arm);
    const limit = (x) => Math.max(-1, Math.min(1, x));
    return { axes: axes.map(limit), arm: arm.map(limit) };
  }

  gamepad(axes, arm) {
    const pad = connectedPads().find((p) => p && p.connected);
    if (!pad) { this.buttons = []; return; }
    const stick = (k) => (Math.abs(pad.axes[k] || 0) < DEAD ? 0 : pad.axes[k]);
    const down = (k) => Boolean(pad.buttons[k] && pad.buttons[k].pressed);
    const to = down(4) ? arm : axes;
    to[0] -= stick(1); to[1] += stick(0); to[2] += stick(3);
    if (to === axes) axes[5] += stick(2); else arm[3] += stick(2);
    for (const [k, act] of Object.entries(this.pad)) if (down(k) && !this.buttons[k]) act();
    this.buttons = pad.buttons.map((b) => b.pressed);
  }
}

// Returns the gamepads, or none if the browser does not support them or blocks them in this frame.
function connectedPads() {
  try {
    return [...navigator.getGamepads()];
  } catch (error) {
    return [];
  }
}
