/* Elements are only ever made here, from names that stand in these files and text that stays text. */

/** Make an element: `on…` attributes are listeners, `true` is an empty attribute, false and null none. */
function el(name, attributes = {}, ...children) {
  return adorn(document.createElement(name), attributes, children);
}

function svg(name, attributes = {}, ...children) {
  return adorn(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function adorn(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

// Escape sequences of terminals, control characters but tab and line feed, and overrides of the writing direction.
const UNSEEN = new RegExp(
  "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]?|(?:\\x1b\\]|\\x9d)[^\\x07\\n\\x1b\\x80-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c|$)" +
  "|\\x1b[ -/]*[0-~]?|[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]", "g");

/** Return foreign text as it may be shown. */
function clean(text) {
  return String(text ?? "").replace(UNSEEN, "");
}

/** Return an address that may be followed, else null: the web and mail only. */
function safeAddress(address) {
  return /^(https?:\/\/|mailto:)/i.test(address) ? address : null;
}

function link(address, ...children) {
  return el("a", { href: address, rel: "noopener noreferrer", target: "_blank" }, ...children);
}

function pre(kind, ...children) {
  return el("pre", { class: kind }, ...children);
}

/** Make something that unfolds; `fill` makes the inside when it is opened first. */
function folded(kind, summary, fill, open = false) {
  const details = el("details", { class: kind, ontoggle: opened }, el("summary", {}, summary));
  let full = false;
  function opened() {
    if (!details.open || full) return;
    full = true;
    details.append(...[fill()].flat());
  }
  details.open = open;
  if (open) opened();
  return details;
}

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Draw a picture of the session; a click enlarges it. */
function picture(block) {
  if (!IMAGES.includes(block.mimeType) || !/^[A-Za-z0-9+/]+={0,2}$/.test(block.data ?? "")) {
    return el("p", { class: "note" }, `[image ${clean(block.mimeType)} that cannot be shown]`);
  }
  const source = `data:${block.mimeType};base64,${block.data}`;
  const image = el("img", { src: source, alt: `Picture (${block.mimeType})`, loading: "lazy" });
  return el("button", { class: "picture", title: "Enlarge", onclick: () => enlarge(source) }, image);
}

function enlarge(source) {
  const dialog = el("dialog", { class: "enlarged", onclick: () => dialog.close(), onclose: () => dialog.remove() },
    el("img", { src: source, alt: "" }));
  document.body.append(dialog);
  dialog.showModal();
}
