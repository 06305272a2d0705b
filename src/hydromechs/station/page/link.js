"use strict";
// Connection of the page in a worker thread. A page that is busy drawing still sends heartbeats, and receives only the latest frame.

const ALIVE_EVERY = 250;    // ms between heartbeats
const HUNG = 10000;         // ms without a message from the page after which heartbeats stop

let socket = null, address = "", last = 0, frame = null, free = true;

function connect() {
  socket = new WebSocket(address);
  socket.onmessage = (event) => {
    if (event.data.startsWith('{"type": "frame"')) { frame = event.data; forward(); }
    else postMessage({ message: event.data });
  };
  socket.onclose = () => { frame = null; postMessage({ closed: true }); };
}
function forward() {
  if (!free || frame === null) return;
  postMessage({ message: frame });
  frame = null; free = false;
}
function send(text) { if (socket && socket.readyState === WebSocket.OPEN) socket.send(text); }

onmessage = ({ data }) => {
  last = performance.now();
  if (data.connect) { address = data.connect; free = true; connect(); }
  else if (data.shown) { free = true; forward(); }
  else if (data.send) send(data.send);
};
setInterval(() => { if (performance.now() - last < HUNG) send('{"type": "alive"}'); }, ALIVE_EVERY);
