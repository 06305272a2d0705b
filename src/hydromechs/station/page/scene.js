// Keys and numbers have priority on slow machines: drawing takes at most half of the time, and at most 30 frames per second.
(() => {
  const least = 1000 / 30 - 4, most = 150, native = window.requestAnimationFrame.bind(window);
  let now = 0, pause = least;
  window.requestAnimationFrame = (draw) => native(function wait(t) {
    if (t !== now && t - now < pause) return native(wait);
    if (t !== now) { now = t; native((next) => { pause = Math.min(most, Math.max(least, 2 * (next - t) - 20)); }); }
    return draw(t);
  });
})();
