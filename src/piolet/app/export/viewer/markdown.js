/* Markdown as elements. Raw HTML stays text, pictures become links: nothing is asked of the network. */

const DEEPEST = 12; // what is nested deeper stays text

/** Return the elements of a text. */
function markdown(text, depth = 0) {
  return blocks(clean(text).replaceAll("\t", "    ").split("\n"), depth);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/;
const HEADING = /^ {0,3}(#{1,6})(?: +(.*))?$/;
const RULE = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const DELIMITERS = /^ {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;

function blocks(source, depth) {
  if (depth > DEEPEST) return [el("p", {}, source.join("\n"))];
  const made = [];
  for (let at = 0; at < source.length; ) {
    const line = source[at];
    let match;
    if (!line.trim()) {
      at += 1;
    } else if ((match = FENCE.exec(line))) {
      const closing = new RegExp(`^ {0,3}${match[1][0]}{${match[1].length},}\\s*$`);
      let end = at + 1;
      while (end < source.length && !closing.test(source[end])) end += 1;
      made.push(pre("code", highlight(source.slice(at + 1, end).join("\n"), match[2])));
      at = end + 1;
    } else if (/^ {4}/.test(line)) {
      let end = at;
      while (end < source.length && (/^ {4}/.test(source[end]) || !source[end].trim())) end += 1;
      made.push(pre("code", source.slice(at, end).map((row) => row.slice(4)).join("\n").trimEnd()));
      at = end;
    } else if ((match = HEADING.exec(line))) {
      made.push(el(`h${Math.min(6, match[1].length + 2)}`, {}, inline((match[2] ?? "").replace(/ #+ *$/, ""))));
      at += 1;
    } else if (RULE.test(line)) {
      made.push(el("hr"));
      at += 1;
    } else if (QUOTE.test(line)) {
      let end = at;
      while (end < source.length && (QUOTE.test(source[end]) || goesOn(source, end))) end += 1;
      made.push(el("blockquote", {}, blocks(source.slice(at, end).map((row) => row.replace(QUOTE, "")), depth + 1)));
      at = end;
    } else if (ITEM.test(line)) {
      at = list(source, at, depth, made);
    } else if (line.includes("|") && DELIMITERS.test(source[at + 1] ?? "")) {
      at = table(source, at, made);
    } else {
      at = paragraph(source, at, made);
    }
  }
  return made;
}

/** Whether a line can only be more of the paragraph above it. */
function goesOn(source, at) {
  const line = source[at] ?? "";
  return line.trim() !== "" && ![FENCE, HEADING, RULE, QUOTE, ITEM].some((start) => start.test(line));
}

function paragraph(source, at, made) {
  let end = at + 1;
  while (goesOn(source, end) && !/^ {0,3}(=+|-+) *$/.test(source[end])) end += 1;
  const text = source.slice(at, end).join("\n").trim();
  const underline = /^ {0,3}(=+|-{2,}) *$/.exec(source[end] ?? "");
  made.push(el(underline ? (underline[1][0] === "=" ? "h3" : "h4") : "p", {}, inline(text)));
  return underline ? end + 1 : end;
}

function list(source, at, depth, made) {
  const first = ITEM.exec(source[at]);
  const ordered = /\d/.test(first[2]);
  const element = el(ordered ? "ol" : "ul", ordered ? { start: parseInt(first[2], 10) } : {});
  for (let match; at < source.length && (match = ITEM.exec(source[at])) && match[2].at(-1) === first[2].at(-1); ) {
    const indent = match[1].length + match[2].length + Math.min(match[3].length || 1, 4);
    const own = [source[at].slice(indent)];
    at += 1;
    const inside = (row) => row.startsWith(" ".repeat(indent));
    while (at < source.length && (inside(source[at]) || !source[at].trim() || (own.at(-1).trim() && goesOn(source, at)))) {
      if (!source[at].trim() && !inside(source.slice(at).find((row) => row.trim()) ?? "")) break;
      own.push(inside(source[at]) ? source[at].slice(indent) : source[at].trimStart());
      at += 1;
    }
    const box = /^\[([ xX])\] /.exec(own[0]);
    if (box) own[0] = own[0].slice(4);
    const children = blocks(own, depth + 1).flatMap((child) =>
      child.nodeName === "P" ? [...child.childNodes] : [child]);
    element.append(el("li", {}, box && (box[1] === " " ? "☐ " : "☑ "), children));
    let next = at;
    while (next < source.length && !source[next].trim()) next += 1;
    if (ITEM.test(source[next] ?? "")) at = next;
  }
  made.push(element);
  return at;
}

function table(source, at, made) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
  const sides = cells(source[at + 1]).map((cell) => (cell.endsWith(":") ? (cell[0] === ":" ? "center" : "right") : ""));
  const row = (line, name) => el("tr", {}, cells(line).slice(0, sides.length)
    .map((cell, column) => el(name, { class: sides[column] || null }, inline(cell))));
  const head = row(source[at], "th");
  const body = [];
  for (at += 2; at < source.length && source[at].includes("|") && source[at].trim(); at += 1) {
    body.push(row(source[at], "td"));
  }
  made.push(el("div", { class: "table" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body))));
  return at;
}

const MARKS = { "**": "strong", __: "strong", "~~": "s", "*": "em", _: "em" };
const TARGET = /\(\s*<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,500}\)[^\s<>()]{0,500})?)>?(?:\s+(?:"[^"]{0,500}"|'[^']{0,500}'))?\s*\)/y;
const ANGLED = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/iy;
const BARE = /https?:\/\/[^\s<>"`]{1,2000}/iy;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;
const SPECIAL = /[\\`!\[<*_~]|https?:\/\//gi;

/** Return the nodes of a line of text. Time is linear: what has no end is not looked for twice. */
function inline(text, depth = 0) {
  const made = [];
  const endless = new Set();
  let plain = "";
  const add = (node) => {
    if (plain) made.push(plain);
    plain = "";
    made.push(node);
  };
  const at = (pattern, place) => {
    pattern.lastIndex = place;
    return pattern.exec(text);
  };
  for (let place = 0; place < text.length; ) {
    const next = at(SPECIAL, place)?.index ?? text.length;
    plain += text.slice(place, next);
    place = next;
    if (place === text.length) break;
    let match, end;
    if ((match = at(ESCAPED, place))) {
      plain += match[1];
      place += 2;
    } else if (text[place] === "`") {
      const run = /`+/y;
      run.lastIndex = place;
      const ticks = run.exec(text)[0];
      end = endless.has(ticks) ? -1 : closingTicks(text, ticks, place + ticks.length);
      if (end < 0) {
        endless.add(ticks);
        plain += ticks;
        place += ticks.length;
      } else {
        add(el("code", {}, text.slice(place + ticks.length, end).replace(/^ (.*) $/s, "$1")));
        place = end + ticks.length;
      }
    } else if ((match = at(ANGLED, place))) {
      add(link(match[1], match[1]));
      place += match[0].length;
    } else if ((match = at(BARE, place))) {
      const address = match[0].replace(/[.,;:!?'*_~\])}]+$/, "");
      add(link(address, address));
      place += address.length;
    } else if ((match = reference(text, place))) {
      const address = safeAddress(match.address);
      const shown = depth < DEEPEST ? inline(match.text, depth + 1) : [match.text];
      if (address) add(link(address, shown.length ? shown : address));
      else shown.concat(match.address ? [` (${match.address})`] : []).forEach(add);
      place = match.end;
    } else {
      const mark = text.slice(place, place + 2) in MARKS ? text.slice(place, place + 2) : text[place];
      end = mark in MARKS && depth < DEEPEST && !endless.has(mark) ? closingMark(text, mark, place) : -1;
      if (end < 0) {
        if (end === -2) endless.add(mark);
        plain += mark;
        place += mark.length;
      } else {
        add(el(MARKS[mark], {}, inline(text.slice(place + mark.length, end), depth + 1)));
        place = end + mark.length;
      }
    }
  }
  if (plain) made.push(plain);
  return made;
}

function closingTicks(text, ticks, place) {
  for (let at = text.indexOf(ticks, place); at >= 0; ) {
    let end = at;
    while (text[end] === "`") end += 1;
    if (end - at === ticks.length) return at;
    at = text.indexOf(ticks, end);
  }
  return -1;
}

/** Return where the mark at `place` is closed; -1 if it opens nothing, -2 if nothing after it closes it. */
function closingMark(text, mark, place) {
  const word = /[\p{L}\p{N}]/u;
  const start = place + mark.length;
  if (!text[start]?.trim() || (mark[0] === "_" && word.test(text[place - 1] ?? ""))) return -1;
  for (let at = text.indexOf(mark, start + 1); at >= 0; at = text.indexOf(mark, at + mark.length)) {
    const doubled = mark.length === 1 && text[at + 1] === mark;
    if (doubled) {
      at += 1;
      continue;
    }
    const inner = mark[0] === "_" && word.test(text[at + mark.length] ?? "");
    if (text[at - 1].trim() && text[at - 1] !== "\\" && !inner) return at;
  }
  return -2;
}

/** Read `[text](address)` or `![text](address)` at `place`; null if there is none. */
function reference(text, place) {
  const opened = text[place] === "!" ? place + 1 : place;
  if (text[opened] !== "[") return null;
  for (let at = opened + 1, open = 1; at < text.length && at < opened + 1000; at += 1) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === "[") open += 1;
    else if (text[at] === "]" && --open === 0) {
      TARGET.lastIndex = at + 1;
      const match = TARGET.exec(text);
      return match && { text: text.slice(opened + 1, at), address: match[1], end: TARGET.lastIndex };
    }
  }
  return null;
}
