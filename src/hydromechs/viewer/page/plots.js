(() => {
  const slider = () => document.querySelector('[role=slider][aria-valuenow]');  // the time line of the replay
  const part = e => (e.getAttribute('aria-valuenow') - e.getAttribute('aria-valuemin'))
    / (e.getAttribute('aria-valuemax') - e.getAttribute('aria-valuemin') || 1);
  const area = plot => ['x', 'width'].map(name => Number(plot.querySelector('rect').getAttribute(name)));
  const plots = document.querySelectorAll('#hm-plots svg');
  const follow = () => {
    const now = slider();
    if (now) for (const plot of plots) {
      const [left, width] = area(plot);
      for (const end of ['x1', 'x2']) plot.querySelector('line').setAttribute(end, left + width * part(now));
    }
    setTimeout(follow, 60);
  };
  follow();
  for (const plot of plots) plot.addEventListener('click', event => {
    const field = document.querySelector('input[inputmode=decimal]');  // the time as a number, beside the time line
    if (!field || !slider()) return;
    const [left, width] = area(plot);
    const share = Math.min(1, Math.max(0, (event.clientX - plot.getBoundingClientRect().left - left) / width));
    const [low, high] = ['min', 'max'].map(end => Number(slider().getAttribute('aria-value' + end)));
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
    set.call(field, (low + share * (high - low)).toFixed(3));
    field.dispatchEvent(new Event('input', {bubbles: true}));
  });
})();
