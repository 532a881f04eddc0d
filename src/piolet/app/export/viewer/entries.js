/* One entry of the session as an article: who says it, when, and what. */

const SKILL = /^<skill name="([^"]*)" location="[^"]*">\n([^]*?)\n<\/skill>\s*([^]*)$/;

/** Draw a node. `results`: the messages of tools by call; `show`: which kinds of things are unfolded. */
function article(node, results, show) {
  const entry = entryOf(node);
  const element = el("article", { id: `entry-${node.place}`, class: node.kind, "data-id": node.id });
  try {
    const { kind = node.kind, title, body } = said(node, entry, results, show);
    element.className = kind;
    element.append(heading(node, entry, title), ...[body].flat(2).filter(Boolean));
  } catch {
    element.append(heading(node, entry, node.text || "entry"), data(entry));
  }
  if (node.label) element.firstChild.firstChild.after(el("span", { class: "label" }, clean(node.label)));
  return element;
}

function heading(node, entry, title) {
  const time = new Date(entry.timestamp ?? NaN);
  const known = !Number.isNaN(time.getTime());
  return el("h2", {}, el("span", { class: "who" }, clean(title)),
    known && el("time", { datetime: time.toISOString(), title: time.toLocaleString() },
      time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })),
    el("button", { class: "link", title: "Copy a link to this entry", "aria-label": "Copy link", "data-link": node.id }, "#"));
}

function said(node, entry, results, show) {
  const message = entry.message ?? {};
  switch (node.kind) {
    case "user":
      return { title: "User", body: userBody(message.content, show) };
    case "assistant":
      return { title: message.model || "Assistant", body: answer(message, results, show) };
    case "tool":
      return {
        title: `Result of ${message.toolName ?? "a tool"}`,
        body: [message.content].flatMap(blocksOf).map((block) => plainBlock(block, message.isError)),
      };
    case "bash":
      return { title: message.excludeFromContext ? "Command, not shown to the model" : "Command", body: command(message) };
    case "compaction": {
      const tokens = Number(entry.tokensBefore ?? 0).toLocaleString();
      return { title: "Compaction", body: folded("summary", `Compacted from ${tokens} tokens`,
        () => prose(entry.summary), show.tools) };
    }
    case "branch_summary":
      return { title: "Branch", body: folded("summary", "Summary of the branch that was left",
        () => prose(entry.summary), show.tools) };
    case "custom_message": {
      const own = facts.drawn[node.id];
      const { customType, content } = entry.type === "message" ? message : entry;
      return { title: customType, body: own ? styled(own.expanded) : blocksOf(content).map(proseBlock) };
    }
    default:
      return note(node, entry);
  }
}

/** Bookkeeping: a line that says what changed, and the data of what only programs understand. */
function note(node, entry) {
  const own = facts.drawn[node.id];
  if (own) return { kind: "custom_message", title: entry.customType, body: styled(own.expanded) };
  const telling = /^\[(model|thinking|title|label)/.test(node.text);
  return { kind: "bookkeeping", title: clean(node.text).replace(/^\[|\]$/g, ""), body: telling ? null : data(entry) };
}

const data = (value) => folded("data", "data", () => pre("code", highlight(clean(JSON.stringify(value, null, 2)), "json")));
const prose = (text) => el("div", { class: "prose" }, markdown(text));

function proseBlock(block) {
  if (block.type === "text") return prose(block.text);
  return block.type === "image" ? picture(block) : data(block);
}

function plainBlock(block, failed) {
  return block.type === "text" ? pre(failed ? "failure" : "output", clean(block.text)) : proseBlock(block);
}

function userBody(content, show) {
  return blocksOf(content).map((block) => {
    const skill = block.type === "text" ? SKILL.exec(block.text) : null;
    if (!skill) return proseBlock(block);
    return [folded("summary", `[skill] ${clean(skill[1])}`, () => prose(skill[2]), show.tools),
      skill[3] ? prose(skill[3]) : null];
  });
}

function answer(message, results, show) {
  const parts = blocksOf(message.content).map((block) => {
    switch (block.type) {
      case "thinking":
        return folded("thinking", "Thinking",
          () => prose(block.thinking || "(kept from us by the provider)"), show.thinking);
      case "toolCall":
        return toolCall(block, results.get(block.id), show.tools);
      default:
        return proseBlock(block);
    }
  });
  const failure = message.stopReason === "aborted" ? "Operation aborted" : message.errorMessage;
  return [parts, failure ? el("p", { class: "failure" }, clean(failure)) : null, usageLine(message.usage)];
}

function usageLine(usage) {
  if (!usage?.totalTokens) return null;
  const cost = usage.cost?.total ? ` · ${money(usage.cost.total)}` : "";
  const cached = usage.cacheRead ? ` (${count(usage.cacheRead)} cached)` : "";
  const read = (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
  return el("p", { class: "usage" }, `${count(read)} in${cached} · ${count(usage.output ?? 0)} out${cost}`);
}

function command(message) {
  const state = message.cancelled ? "(cancelled)" : message.exitCode ? `(exit ${Number(message.exitCode)})` : null;
  return [pre("output", el("span", { class: "command" }, `$ ${clean(message.command)}`), `\n${clean(message.output)}`),
    state && el("p", { class: "failure" }, state)];
}

/** Return a number of tokens in few characters: 950, 12.3k, 1.2M. */
function count(tokens) {
  if (tokens < 1000) return String(tokens);
  return tokens < 1e6 ? `${(tokens / 1000).toFixed(tokens < 1e4 ? 1 : 0)}k` : `${(tokens / 1e6).toFixed(1)}M`;
}

const money = (dollars) => `$${dollars.toFixed(dollars < 0.1 ? 4 : 2)}`;
