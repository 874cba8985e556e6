// The parts of a page that go on by themselves, two keys, and a form that is sent once. Everything else works without.
"use strict";

// Makes what is shown equal to what came, and touches nothing that is equal already: who reads, selects, scrolls or has
// the focus here keeps their place.
const renew = (old, fresh) => {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) { old.replaceWith(fresh); return; }
  if (old.nodeType !== Node.ELEMENT_NODE) { old.data = fresh.data; return; }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  renewChildren(old, fresh);
};
const renewChildren = (old, fresh) => {
  const wanted = [...fresh.childNodes];
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
  [...old.childNodes].forEach((each, at) => renew(each, wanted[at]));
  old.append(...wanted.slice(old.childNodes.length));
};

const RETRY_MS = 5000;
for (const part of document.querySelectorAll("[data-live]")) {
  let source = null, again = 0;
  // What is old says so: a figure that stands still would pass for one that does not change.
  const away = why => {
    if (part.querySelector(":scope > .away")) return;
    const note = document.createElement("p");
    note.className = "away warning";
    note.setAttribute("role", "status");
    note.textContent = `${why} What you see is from ${part.dataset.of || "when the page was loaded"}.`;
    part.prepend(note);
    part.classList.add("stale");
  };
  const close = () => { clearTimeout(again); if (source) source.close(); source = null; };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource(part.dataset.live);
    source.onerror = () => {
      if (document.hidden) return;
      away("The console sends no new figures.");
      // A browser tries again when a connection breaks, but not when a request is refused.
      if (source && source.readyState === EventSource.CLOSED) { close(); again = setTimeout(open, RETRY_MS); }
    };
    source.addEventListener("away", event => away(JSON.parse(event.data)));
    source.onmessage = event => {
      const text = document.createElement("template");
      text.innerHTML = JSON.parse(event.data);
      const note = part.querySelector(":scope > .away");
      if (note) note.remove();
      renewChildren(part, text.content);
      part.classList.remove("stale");
      part.dataset.of = `${new Date().toISOString().slice(11, 19)} UTC`;
      if (part.querySelector("[data-ended]")) close();
    };
  };
  // A tab that nobody sees asks for nothing; a page to which someone comes back goes on.
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
}

// "/" finds a message, "s" searches the list.
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const field = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (field) { event.preventDefault(); field.focus(); }
});

// A second click while the first is on its way changes nothing.
for (const form of document.querySelectorAll("form[method=post]")) {
  let sent = false;
  form.addEventListener("submit", event => { if (sent) event.preventDefault(); sent = true; });
  addEventListener("pageshow", () => { sent = false; });
}

// One box chooses all.
for (const all of document.querySelectorAll("[data-all]")) {
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of document.querySelectorAll(`input[name="${CSS.escape(all.dataset.all)}"]`)) box.checked = all.checked;
  });
}
