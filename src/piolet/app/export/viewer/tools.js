/* Tool calls with their results: a line that says what was done, the first of what came of it, all of it when opened. */

const FEW = { write: 10, bash: 5, grep: 15, find: 20, ls: 20 };
const FEW_OF_OTHERS = 10;

/** Draw a call. `result`: its message, if there is one; `open`: unfolded at once. */
function toolCall(call, result, open) {
  const args = call.arguments && typeof call.arguments === "object" ? call.arguments : {};
  const own = facts.drawn[call.id];
  const status = !result ? "pending" : result.isError ? "failed" : "done";
  const pictures = blocksOf(result?.content).filter((block) => block.type === "image").map(picture);
  if (own) return ownCard(own, status, pictures, open);
  const text = clean(textOf(result?.content)).trimEnd();
  const [head, first, all] = drawn(clean(call.name), args, text, result);
  return card(status, head, first, all, pictures, open);
}

function card(status, head, first, all, pictures, open) {
  const shown = [el("div", { class: "head" }, head), el("div", { class: "first" }, first, pictures)];
  if (!all) return el("div", { class: `call ${status}` }, shown);
  const details = folded(`call ${status}`, "", () => all(), open);
  details.firstChild.append(...shown);
  return details;
}

/** Return the line of a call, what is seen while it is folded, and what makes the rest, if anything is hidden. */
function drawn(name, args, text, result) {
  const failed = result?.isError;
  const failure = text ? pre("failure", text) : null;
  switch (name) {
    case "read": {
      const lines = range(args);
      const head = titled("read", path(args.path), lines && el("span", { class: "fg-warning" }, lines));
      if (failed) return [head, failure];
      return [head, null, text ? () => pre("code", highlight(text, languageOf(string(args.path)))) : null];
    }
    case "write": {
      const content = string(args.content).trimEnd();
      const language = languageOf(string(args.path));
      return foldable(titled("write", path(args.path)), content, FEW.write,
        (part) => pre("code", highlight(part, language)), failed ? failure : null);
    }
    case "edit": {
      const change = result?.details?.diff;
      const head = titled("edit", path(args.path));
      if (failed || typeof change !== "string") return [head, failure];
      return [head, diff(change)];
    }
    case "bash": {
      const command = el("span", { class: "command" }, `$ ${string(args.command) || "..."}`);
      const limit = args.timeout ? el("span", { class: "fg-muted" }, ` (timeout ${string(args.timeout)}s)`) : null;
      const took = result?.durationMs ? el("p", { class: "note" }, `Took ${(result.durationMs / 1000).toFixed(1)}s`) : null;
      const rows = text.split("\n");
      const last = rows.slice(-FEW.bash).join("\n");
      if (rows.length <= FEW.bash) return [[command, limit], [text ? pre("output", text) : null, took]];
      return [[command, limit], [hint(`${rows.length - FEW.bash} earlier lines`), pre("output", last), took],
        () => [pre("output", text), took?.cloneNode(true)].filter(Boolean)];
    }
    case "grep":
    case "find": {
      const pattern = name === "grep" ? `/${string(args.pattern)}/` : string(args.pattern);
      const where = ` in ${short(string(args.path) || ".")}${args.glob ? ` (${string(args.glob)})` : ""}`;
      return foldable(titled(name, el("span", { class: "fg-accent" }, pattern), where + limitOf(args)),
        text, FEW[name], (part) => pre("output", part));
    }
    case "ls":
      return foldable(titled("ls", path(args.path ?? "."), limitOf(args)), text, FEW.ls, (part) => pre("output", part));
    default: {
      const pairs = Object.entries(args).map(([key, value]) => `${key}: ${oneLine(value)}`).join(", ");
      const head = [titled(name, el("span", { class: "arguments" }, clean(pairs)))];
      const rows = text.split("\n");
      const first = text ? pre(failed ? "failure" : "output", rows.slice(0, FEW_OF_OTHERS).join("\n")) : null;
      if (rows.length <= FEW_OF_OTHERS && pairs.length < 100) return [head, first];
      const more = rows.length > FEW_OF_OTHERS ? hint(`${rows.length - FEW_OF_OTHERS} more lines`) : null;
      return [head, [first, more], () => [
        pre("code", highlight(clean(JSON.stringify(args, null, 2)), "json")), pre(failed ? "failure" : "output", text)]];
    }
  }
}

/** The parts of a card whose text is cut after some lines. `draw` makes an element of text. */
function foldable(head, text, few, draw, below = null) {
  const rows = text.split("\n");
  if (!text) return [head, below];
  if (rows.length <= few) return [head, [draw(text), below]];
  const more = hint(`${rows.length - few} more lines, ${rows.length} total`);
  return [head, [draw(rows.slice(0, few).join("\n")), more, below],
    () => [draw(text), below?.cloneNode(true)].filter(Boolean)];
}

const string = (value) => (value == null ? "" : clean(typeof value === "object" ? JSON.stringify(value) : value));
const oneLine = (value) => (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ");
const titled = (name, ...rest) => [el("b", {}, name), " ", rest].flat().filter(Boolean);
const hint = (text) => el("p", { class: "hint" }, `… ${text}`);
const path = (value) => el("span", { class: "fg-accent" }, short(string(value)) || "...");
const limitOf = (args) => (args.limit ? ` (limit ${string(args.limit)})` : "");

/** Return a path as seen from the folder of the session. */
function short(file) {
  const folder = `${facts.session.cwd.replace(/\/$/, "")}/`;
  return file.startsWith(folder) ? file.slice(folder.length) : file;
}

function range({ offset, limit }) {
  if (offset == null && limit == null) return "";
  const start = Number(offset) || 1;
  return limit ? `:${start}-${start + Number(limit) - 1}` : `:${start}`;
}

/* What extensions draw comes as lines of spans: text, the token or the colour before and behind it, attributes. */

function ownCard(own, status, pictures, open) {
  const same = JSON.stringify(own.folded) === JSON.stringify(own.expanded);
  return card(own.boxed ? status : `${status} bare`, styled(own.call), own.folded.length ? styled(own.folded) : null,
    same ? null : () => styled(own.expanded), pictures, open);
}

function styled(rows) {
  return pre("drawn", rows.flatMap((row, number) => [number ? "\n" : "", ...row.map(span)]));
}

function span([text, { fg, bg, ...attributes }]) {
  const literal = (color) => /^#[0-9a-f]{6}$/i.test(color ?? "");
  const classes = [fg && !literal(fg) && `fg-${fg}`, bg && !literal(bg) && `bg-${bg}`, ...Object.keys(attributes)];
  const element = el("span", { class: classes.filter(Boolean).join(" ") }, text);
  if (literal(fg)) element.style.color = fg;
  if (literal(bg)) element.style.background = bg;
  return element;
}
