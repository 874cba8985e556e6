// The parts of a page that go on by themselves, and three keys. Without scripts everything else works as well.
"use strict";

// A part is not replaced while somebody is inside it: the focus and a selection would be lost.
const busy = part => part.contains(document.activeElement) || (() => {
  const chosen = getSelection();
  return chosen && !chosen.isCollapsed && part.contains(chosen.anchorNode);
})();

for (const part of document.querySelectorAll("[data-live]")) {
  let source = null;
  // What is old says so: a figure that stands still would pass for one that does not change.
  const away = why => {
    if (part.querySelector(":scope > .away")) return;
    const note = document.createElement("p");
    note.className = "away warning";
    note.setAttribute("role", "status");
    note.textContent = `${why} What is below is of ${part.dataset.of || "when the page was loaded"}.`;
    part.prepend(note);
    part.classList.add("stale");
  };
  const open = () => {
    source = new EventSource(part.dataset.live);
    source.onerror = () => { if (!document.hidden) away("No new figures come from the console."); };
    source.addEventListener("away", event => away(JSON.parse(event.data)));
    source.onmessage = event => {
      if (busy(part)) return;
      const text = JSON.parse(event.data);
      const scrolled = [...part.querySelectorAll(".frame")].map(frame => frame.scrollLeft);
      part.innerHTML = text;
      part.classList.remove("stale");
      part.dataset.of = `${new Date().toISOString().slice(11, 19)} UTC`;
      part.querySelectorAll(".frame").forEach((frame, at) => { frame.scrollLeft = scrolled[at] || 0; });
      part.dispatchEvent(new CustomEvent("renewed"));
      if (part.querySelector("[data-ended]")) close();
    };
  };
  const close = () => { if (source) source.close(); source = null; };
  // A tab that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else if (!source) open(); });
  addEventListener("pagehide", close);
  if (!document.hidden) open();
}

// "/" finds a message, "s" searches the list.
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const field = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (field) { event.preventDefault(); field.focus(); }
});

// One box chooses all.
for (const all of document.querySelectorAll("[data-all]")) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of document.querySelectorAll(`input[name="${CSS.escape(all.dataset.all)}"]`)) box.checked = all.checked;
  });
}
