/* The page: header, transcript of one branch, keys, links, and what happens when it is opened. */

const NEAR = "1500px"; // entries within this distance of the screen are drawn
const FIRST_ROWS = 10; // of the system prompt, before it is unfolded
const KEYS = {
  "/": ["Search", () => sidebar.search.focus()],
  j: ["Next entry", () => step(1)],
  k: ["Previous entry", () => step(-1)],
  t: ["Thinking", () => toggle("thinking")],
  o: ["Output of tools", () => toggle("tools")],
  h: ["Hidden entries", () => toggle("hidden")],
  b: ["Sidebar", () => toggleSidebar()],
  d: ["Dark, light, as the system", () => nextTheme()],
  "?": ["These keys", () => help()],
  Escape: ["Reset search and view", () => reset()],
};

const show = { thinking: false, tools: false, hidden: false };
let branch = { leaf: null, path: [], articles: new Map(), homes: new Map(), results: new Map() };
let current = null;

const sidebar = new Sidebar((node) => {
  document.body.classList.remove("open");
  go(newestLeaf(node), node);
});
const notice = el("p", { id: "said", role: "status", "aria-live": "polite" });
const toggles = Object.fromEntries(["thinking", "tools", "hidden"].map((name) => [name,
  el("button", { "data-toggle": name, "aria-pressed": "false", title: `Key ${name === "tools" ? "O" : name[0].toUpperCase()}`,
    onclick: () => toggle(name) }, { thinking: "Thinking", tools: "Tools", hidden: "Hidden" }[name])]));
const toolbar = el("div", { id: "toolbar" },
  el("button", { id: "menu", title: "Sidebar (B)", "aria-label": "Sidebar", onclick: toggleSidebar }, "☰"),
  el("strong", {}, clean(facts.title)), Object.values(toggles),
  el("button", { id: "theme", title: "Dark, light, as the system (D)", "aria-label": "Theme", onclick: nextTheme }, "◐"),
  el("button", { id: "download", title: "Download the session file", onclick: download }, "↓ JSONL"),
  el("button", { title: "Keys (?)", "aria-label": "Keys", onclick: help }, "?"));
const usage = el("div");
const transcript = el("div", { id: "transcript" });

/* ---------------------------------------------------------------------------------------------------- what is shown */

/** Show the branch that ends at `leaf`. */
function showBranch(leaf) {
  const path = pathTo(leaf);
  const onPath = new Set(path);
  const results = new Map();
  const homes = new Map();
  const articles = new Map();
  const callers = new Map(path.flatMap((node) => (node.calls ?? []).map((call) => [call, node.id])));
  watcher.disconnect();
  const parts = [];
  for (const node of path) {
    if (node.call && callers.has(node.call) && !results.has(node.call)) {
      results.set(node.call, entryOf(node).message ?? {}); // shown with its call, of several only the first
      homes.set(node.id, callers.get(node.call));
    } else if (show.hidden || isShown(node)) {
      const place = el("article", { class: "waiting", "data-id": node.id });
      place.style.minHeight = `${guessHeight(node)}px`;
      articles.set(node.id, place);
      homes.set(node.id, node.id);
      parts.push(place);
      watcher.observe(place);
    }
    const others = (childrenOf.get(node.id) ?? []).filter((child) => !onPath.has(child));
    if (others.length && node.id !== leaf) parts.push(fork(others));
  }
  const otherRoots = (childrenOf.get(null) ?? []).filter((node) => node !== path[0]);
  if (otherRoots.length) parts.unshift(fork(otherRoots));
  branch = { leaf, path, articles, homes, results };
  transcript.replaceChildren(...parts);
  usage.replaceChildren(...[chart(path, goOn)].filter(Boolean));
}

/** Whether people are meant to see an entry: no bookkeeping but changes of the model, no hidden messages. */
function isShown(node) {
  if (node.kind === "bookkeeping") return /^\[(model|thinking):/.test(node.text) || node.id in facts.drawn;
  return !node.hidden;
}

const guessHeight = (node) => 60 + Math.min(1200, Math.ceil(lines[node.place + 1].length / 90) * 20);

function fork(others) {
  return el("p", { class: "fork" }, others.length === 1 ? "Another branch begins here: " : "Other branches begin here: ",
    others.map((node) => el("button", { "data-branch": node.id, onclick: () => go(newestLeaf(node), node) },
      clean(`${node.prefix ?? ""} ${node.text}`).trim().slice(0, 60) || "entry")));
}

/** Draw an entry that waits for it. */
function fill(id) {
  const place = branch.articles.get(id);
  if (!place?.classList.contains("waiting")) return place;
  const drawnArticle = article(byId.get(id), branch.results, show);
  if (id === current) drawnArticle.classList.add("current");
  branch.articles.set(id, drawnArticle);
  place.replaceWith(drawnArticle);
  return drawnArticle;
}

const watcher = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    fill(target.dataset.id);
  }
}, { rootMargin: NEAR });

/** Draw the branch anew and leave what is at the top of the screen where it is. */
function redraw() {
  const top = [...branch.articles].find(([, element]) => element.getBoundingClientRect().bottom > 60);
  const offset = top?.[1].getBoundingClientRect().top;
  showBranch(branch.leaf);
  if (!top || !branch.articles.has(top[0])) return;
  const element = fill(top[0]);
  window.scrollBy({ top: element.getBoundingClientRect().top - offset, behavior: "instant" });
}

/** Go to an entry of the branch that ends at `leaf`. */
function go(leaf, target) {
  if (leaf.id !== branch.leaf) showBranch(leaf.id);
  if (!show.hidden && !branch.homes.has(target.id)) toggle("hidden");
  current = target.id;
  sidebar.show(leaf.id, current);
  for (const element of document.querySelectorAll("article.current")) element.classList.remove("current");
  const home = nearestHome(target);
  if (!home) return;
  const element = fill(home);
  element.classList.add("current");
  element.scrollIntoView({ block: "start" });
  requestAnimationFrame(() => requestAnimationFrame(() => element.scrollIntoView({ block: "start" })));
}

/** Return the id of the article that shows a node, or else one of its ancestors. */
function nearestHome(node) {
  for (let at = node; at; at = byId.get(at.parent)) if (branch.homes.has(at.id)) return branch.homes.get(at.id);
  return null;
}

/** Go to an entry of the branch that is shown. */
const goOn = (node) => go(byId.get(branch.leaf), node);

function step(count) {
  const ids = [...branch.articles.keys()];
  const at = ids.indexOf(nearestHome(byId.get(current)) ?? "");
  const id = ids[Math.max(0, Math.min(ids.length - 1, at + count))];
  if (id) goOn(byId.get(id));
}

/* ----------------------------------------------------------------------------------------------------------- header */

function header() {
  const { session, totals, models } = facts;
  const begun = new Date(session.created ?? NaN);
  const rows = [
    ["Session", session.id], ["Begun", Number.isNaN(begun.getTime()) ? "" : begun.toLocaleString()],
    ["Folder", session.cwd], ["Models", models.join(", ")],
    ["Messages", counts()], ["Tool calls", String(totals.toolCalls)], ["Tokens", `${count(totals.read)} in, ${count(totals.output)} out`], ["Cost", totals.cost ? money(totals.cost) : ""],
  ];
  return el("header", {}, el("h1", {}, clean(facts.title)),
    el("dl", {}, rows.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, clean(value))])),
    usage, prompt(), tools());
}

const NAMES = { user: "user", assistant: "assistant", tool: "tool results", bash: "commands", custom_message: "custom",
  compaction: "compactions", branch_summary: "branch summaries" };

/** Return how many entries of each kind there are. */
function counts() {
  const found = nodes.reduce((sums, { kind }) => ({ ...sums, [kind]: (sums[kind] ?? 0) + 1 }), {});
  return Object.entries(NAMES).filter(([kind]) => found[kind]).map(([kind, name]) => `${name} ${found[kind]}`).join(", ");
}

function prompt() {
  if (!facts.prompt) return null;
  const rows = clean(facts.prompt).split("\n");
  const details = folded("prompt", "System prompt", () => pre("output", rows.slice(FIRST_ROWS).join("\n")), show.tools);
  if (rows.length <= FIRST_ROWS) return el("div", { class: "prompt" }, el("h3", {}, "System prompt"), pre("output", rows.join("\n")));
  details.firstChild.append(pre("output", rows.slice(0, FIRST_ROWS).join("\n")), hint(`${rows.length - FIRST_ROWS} more lines`));
  return details;
}

function tools() {
  if (!facts.tools.length) return null;
  return folded("available", `Tools: ${facts.tools.map(({ name }) => clean(name)).join(", ")}`, () =>
    facts.tools.map(({ name, description, parameters }) => [el("h3", {}, clean(name)), el("p", {}, clean(description)),
      pre("code", highlight(clean(JSON.stringify(parameters, null, 2)), "json"))]).flat());
}

/* ------------------------------------------------------------------------------------------------------- operations */

function toggle(name) {
  show[name] = !show[name];
  toggles[name].setAttribute("aria-pressed", String(show[name]));
  redraw();
}

function toggleSidebar() {
  document.body.classList.toggle(window.matchMedia("(min-width: 50rem)").matches ? "closed" : "open");
  sidebar.draw();
}

function nextTheme() {
  const themes = ["", "dark", "light"];
  setTheme(themes[(themes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % themes.length]);
}

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  say(name ? `Theme: ${name}` : "Theme: as the system");
  remember("theme", name);
}

function reset() {
  document.body.classList.remove("open");
  document.activeElement?.blur();
  for (const name of Object.keys(show)) {
    show[name] = false;
    toggles[name].setAttribute("aria-pressed", "false");
  }
  sidebar.reset();
  showBranch(facts.leaf);
  current = facts.leaf;
  sidebar.show(facts.leaf, current);
  window.scrollTo({ top: 0 });
}

function help() {
  const rows = Object.entries(KEYS).map(([key, [text]]) => [el("dt", {}, el("kbd", {}, key === "Escape" ? "Esc" : key.toUpperCase())), el("dd", {}, text)]);
  const dialog = el("dialog", { id: "help", onclick: () => dialog.close(), onclose: () => dialog.remove() },
    el("h2", {}, "Keys"), el("dl", {}, rows.flat()));
  document.body.append(dialog);
  dialog.showModal();
}

function download() {
  const file = new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" });
  const address = URL.createObjectURL(file);
  el("a", { href: address, download: facts.session.file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Return the address of an entry on the branch that is shown. */
function addressOf(id) {
  const address = new URL(location.href);
  address.search = new URLSearchParams({ leafId: branch.leaf, targetId: id });
  address.hash = "";
  return address.href;
}

async function copyLink(id) {
  const address = addressOf(id);
  try {
    history.replaceState(null, "", address);
    await navigator.clipboard.writeText(address);
    say("Link copied");
  } catch {
    say("The link is in the address bar");
  }
}

function say(text) {
  notice.textContent = text;
  notice.classList.add("seen");
  clearTimeout(say.timer);
  say.timer = setTimeout(() => notice.classList.remove("seen"), 2000);
}

/** Keep a choice for the next time, where the browser lets a file keep something. */
function remember(name, value) {
  try {
    localStorage.setItem(`piolet-${name}`, value);
  } catch { /* then not */ }
}

function remembered(name) {
  try {
    return localStorage.getItem(`piolet-${name}`) ?? "";
  } catch {
    return "";
  }
}

/* ---------------------------------------------------------------------------------------------------------- opening */

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target instanceof HTMLInputElement;
  if ((typing && event.key !== "Escape") || document.querySelector("dialog[open]")) return;
  const action = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!action) return;
  event.preventDefault();
  action[1]();
}

/** Let the edge of the sidebar be dragged. */
function resizer() {
  const width = (pixels) => document.documentElement.style.setProperty("--sidebar", `${Math.max(180, Math.min(pixels, innerWidth * 0.7))}px`);
  if (Number(remembered("sidebar"))) width(Number(remembered("sidebar")));
  const moved = (event) => width(event.clientX);
  return el("div", { id: "edge", onpointerdown: (event) => {
    event.target.setPointerCapture(event.pointerId);
    event.target.onpointermove = moved;
  }, onpointerup: (event) => {
    event.target.onpointermove = null;
    remember("sidebar", String(event.clientX));
  } });
}

function open() {
  if (remembered("theme")) document.documentElement.dataset.theme = remembered("theme");
  document.body.append(sidebar.element, resizer(), el("div", { id: "shade", onclick: toggleSidebar }),
    el("main", {}, toolbar, header(), transcript), notice);
  document.addEventListener("keydown", pressed);
  document.addEventListener("click", (event) => {
    const id = event.target.closest?.("[data-link]")?.dataset.link;
    if (id) copyLink(id);
  });
  window.addEventListener("beforeprint", () => [...branch.articles.keys()].forEach(fill));
  // A page that shows this one may say what to show in an element of its own; else the address does.
  const given = document.querySelector('meta[name="pi-url-params"]')?.content ?? location.search;
  const wanted = new URLSearchParams(given);
  const target = byId.get(wanted.get("targetId"));
  const leaf = byId.get(wanted.get("leafId")) ?? (target && newestLeaf(target)) ?? byId.get(facts.leaf);
  current = leaf?.id ?? null;
  showBranch(current);
  sidebar.show(current, target?.id ?? current);
  if (target) goOn(target);
}

open();
