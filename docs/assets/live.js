// Links to live pages open in a window over the page; they are loaded only then.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.live");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || typeof HTMLDialogElement === "undefined") return;
  event.preventDefault();
  const dialog = document.createElement("dialog"), frame = document.createElement("iframe"), close = document.createElement("button");
  dialog.className = "live";
  frame.src = link.href;
  frame.title = "Simulation";
  frame.allow = "gamepad *; clipboard-write *";
  close.textContent = "Close";
  close.onclick = () => dialog.close();
  dialog.onclose = () => dialog.remove();
  dialog.append(frame, close);
  document.body.append(dialog);
  dialog.showModal();
  frame.focus();
});
