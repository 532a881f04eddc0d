/* The session: every entry as a line of JSON that is read when it is drawn, and a node that says where it hangs. */

const facts = JSON.parse(document.getElementById("facts").textContent);
const { nodes } = facts;
/** The lines of the session file: the header, then one for each node. */
const lines = document.getElementById("session").textContent.split("\n").slice(1, -1)
  .map((line) => line.replace(/,\r?$/, ""));

const byId = new Map(nodes.map((node) => [node.id, node]));
const childrenOf = new Map();
nodes.forEach((node, place) => {
  node.place = place;
  if (!childrenOf.has(node.parent ?? null)) childrenOf.set(node.parent ?? null, []);
  childrenOf.get(node.parent ?? null).push(node);
});

/** Return the entry of a node; an empty one if its line cannot be read. */
function entryOf(node) {
  try {
    return JSON.parse(lines[node.place + 1]);
  } catch {
    return {};
  }
}

/** Return the nodes from the root to the one with `id`. */
function pathTo(id) {
  const path = [];
  for (let node = byId.get(id); node; node = byId.get(node.parent)) path.push(node);
  return path.reverse();
}

const newest = new Map(nodes.map((node) => [node.id, node]));
for (const { id, parent } of nodes.toReversed()) { // children stand below their parents
  if (newest.has(parent) && newest.get(parent).place < newest.get(id).place) newest.set(parent, newest.get(id));
}

/** Return the newest entry below a node, or itself. */
function newestLeaf(node) {
  return newest.get(node.id);
}

/** Return content, a text or a list, as a list of blocks. */
function blocksOf(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter((block) => block && typeof block === "object") : [];
}

function textOf(content) {
  return blocksOf(content).filter((block) => block.type === "text").map((block) => String(block.text ?? "")).join("\n");
}

const found = new Map();

/** Return all that can be read in an entry, in lower case: what the search looks through. */
function searchText(node) {
  if (!found.has(node.id)) {
    const { message = {}, summary, content } = entryOf(node);
    const said = blocksOf(message.content ?? content).map((block) =>
      block.type === "toolCall" ? `${block.name} ${JSON.stringify(block.arguments)}` : block.text ?? block.thinking ?? "");
    const parts = [node.prefix, node.text, node.label, node.search, summary, message.command, message.output, ...said];
    found.set(node.id, parts.filter(Boolean).join(" ").toLowerCase());
  }
  return found.get(node.id);
}
