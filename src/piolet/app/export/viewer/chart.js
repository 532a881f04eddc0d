/* Tokens and cost of each answer of the branch, as two rows of bars. */

const MOST_BARS = 200; // more answers than this share bars
// Class, place in the usage of a node, name.
const PARTS = [["cached", 2, "from cache"], ["read", 0, "input"], ["written", 3, "to cache"], ["output", 1, "output"]];
const HEIGHT = 48;

/** Draw the usage of the nodes of a path; null if none has any. `choose(node)`: a bar was chosen. */
function chart(path, choose) {
  const turns = path.filter((node) => node.usage);
  if (!turns.length) return null;
  const each = Math.ceil(turns.length / MOST_BARS);
  const bars = [];
  for (let at = 0; at < turns.length; at += each) {
    const group = turns.slice(at, at + each);
    const sum = (place) => group.reduce((total, node) => total + node.usage[place], 0);
    bars.push({ node: group[0], from: at + 1, to: at + group.length, usage: [0, 1, 2, 3, 4].map(sum) });
  }
  const all = [0, 1, 2, 3, 4].map((place) => turns.reduce((total, node) => total + node.usage[place], 0));
  const total = all[0] + all[1] + all[2] + all[3];
  return el("figure", { id: "usage" },
    row("Tokens of this branch", count(total), bars, PARTS.map(([name, place]) => [name, (bar) => bar.usage[place]]), choose),
    all[4] ? row("Its cost", money(all[4]), bars, [["cost", (bar) => bar.usage[4]]], choose) : null,
    el("figcaption", {}, PARTS.filter(([, place]) => all[place]).map(([kind, place, name]) =>
      el("span", { class: kind }, `${name} ${count(all[place])}`))));
}

function row(title, sum, bars, parts, choose) {
  const most = Math.max(...bars.map((bar) => parts.reduce((total, [, value]) => total + value(bar), 0))) || 1;
  const drawing = svg("svg", { viewBox: `0 0 ${bars.length} ${HEIGHT}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `${title} of ${bars.length} answers, ${sum} in all` });
  bars.forEach((bar, place) => {
    let top = HEIGHT;
    const pieces = parts.map(([name, value]) => {
      const height = (value(bar) / most) * HEIGHT;
      top -= height;
      return svg("rect", { class: name, x: place + 0.08, y: top, width: 0.84, height });
    });
    drawing.append(svg("g", { onclick: () => choose(bar.node) },
      svg("title", {}, told(bar)), svg("rect", { class: "ground", x: place, y: 0, width: 1, height: HEIGHT }), pieces));
  });
  if (bars.length < 40) drawing.style.maxWidth = `${bars.length * 1.4}rem`;
  return el("div", { class: "bars" }, el("h3", {}, title, " ", el("b", {}, sum)), drawing);
}

function told({ from, to, usage: [input, output, cached, written, cost] }) {
  const which = from === to ? `Answer ${from}` : `Answers ${from} to ${to}`;
  return `${which}: ${count(input + cached + written)} in (${count(cached)} cached), ${count(output)} out, ${money(cost)}`;
}
