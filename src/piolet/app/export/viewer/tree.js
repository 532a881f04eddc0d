/* The tree as rows, with the rules and the texts of the terminal's: which entries are seen, where they hang, how deep. */

const FILTERS = { default: "Default", "no-tools": "No-tools", "user-only": "User", "labeled-only": "Labeled", all: "All" };

function passes(node, filter, leaf) {
  if (node.silent && node.id !== leaf) return false;
  switch (filter) {
    case "default": return node.kind !== "bookkeeping";
    case "no-tools": return node.kind !== "bookkeeping" && node.kind !== "tool";
    case "user-only": return node.kind === "user";
    case "labeled-only": return Boolean(node.label);
    default: return true;
  }
}

/** Return, for each node, the nearest of itself and its ancestors that is in `visible`, or null. */
function visibleAncestors(visible) {
  const known = new Map();
  for (const node of nodes) {
    const chain = [];
    let at = node;
    while (at && !known.has(at.id) && !visible.has(at.id)) {
      chain.push(at.id);
      at = byId.get(at.parent);
    }
    const answer = at ? (visible.has(at.id) ? at.id : known.get(at.id)) : null;
    for (const id of chain) known.set(id, answer);
  }
  return (id) => (visible.has(id) ? id : known.get(id) ?? null);
}

/**
 * Return the rows of the nodes that are wanted: what is hidden hands its children to its nearest visible ancestor. Only
 * children of a branch point are set in, and once more what follows each; the branch of `leaf` comes first.
 */
function layOut(leaf, wanted, foldedIds) {
  const visible = new Set(nodes.filter(wanted).map((node) => node.id));
  const active = new Set(pathTo(leaf).map((node) => node.id));
  const hangs = visibleAncestors(visible);
  const children = new Map();
  for (const node of nodes) {
    if (!visible.has(node.id) || byId.get(node.id) !== node) continue;
    const parent = node.parent == null ? null : hangs(node.parent);
    if (!children.has(parent)) children.set(parent, []);
    children.get(parent).push(node);
  }
  for (const siblings of children.values()) siblings.sort((a, b) => active.has(b.id) - active.has(a.id));
  const rows = [];
  const roots = children.get(null) ?? [];
  const waiting = roots.map((node) =>
    ({ node, level: 0, connector: "", bars: [], start: true, setIn: roots.length > 1 })).reverse();
  while (waiting.length) {
    const { node, level, connector, bars, start, setIn } = waiting.pop();
    const below = children.get(node.id) ?? [];
    const isFolded = below.length > 0 && foldedIds.has(node.id);
    rows.push({ node, level, connector, bars, start, hasChildren: below.length > 0, folded: isFolded,
      active: active.has(node.id) });
    if (isFolded || !below.length) continue;
    const passing = connector === "middle" ? [...bars, level - 1] : bars;
    if (below.length === 1) {
      waiting.push({ node: below[0], level: level + setIn, connector: "", bars: passing, start: false, setIn: false });
      continue;
    }
    for (const child of below.toReversed()) {
      waiting.push({ node: child, level: level + setIn + 1, connector: child === below.at(-1) ? "last" : "middle",
        bars: passing, start: true, setIn: true });
    }
  }
  return rows;
}

/** Return the lines in front of a row's text; the place of a fold mark is a blank that the caller fills. */
function indent(row) {
  const columns = Array.from({ length: row.level }, (_, level) => (row.bars.includes(level) ? "│ " : "  "));
  if (row.connector) columns[columns.length - 1] = row.connector === "middle" ? "├" : "└";
  return columns.join("");
}
