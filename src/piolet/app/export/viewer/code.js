/* Source code and diffs in the colours of the theme. */

const MOST_COLOURED = 200_000; // characters; longer code is shown plain

const C_LIKE = `abstract as async await break case catch class const continue debugger declare default delete do else enum
export extends extern final finally fn for from func function go goto if impl implements import in inline instanceof
interface let loop match mod module mut namespace new of operator override package private protected pub public range
readonly return select sizeof static struct super switch template this throw throws trait try type typedef typeof union
unsafe use using var virtual void volatile where while yield bool boolean byte char double float i32 i64 int long number
short signed string str u32 u64 u8 unsigned usize`;
const KEYWORDS = {
  c: C_LIKE,
  python: `and as assert async await break case class continue def del elif else except finally for from global if import
in is lambda match nonlocal not or pass raise return self try while with yield`,
  shell: `case cd do done echo elif else esac exit export fi for function if in local read return set shift sudo then
until while`,
  ruby: `alias and begin break case class def defined do else elsif end ensure for if in module next not or redo rescue
retry return self super then undef unless until when while yield require attr_accessor puts`,
  sql: `add all alter and as asc between by case constraint create default delete desc distinct drop else end exists
foreign from full group having if in index inner insert into is join key left like limit not null on or order outer
primary references right select set table then union unique update values view when where with`,
  data: "",
};
const LITERALS = new Set("true false null none undefined nil nan inf True False None NULL".split(" "));
const FAMILIES = {
  python: "py pyi python python3", shell: "sh bash zsh shell console dockerfile makefile make", ruby: "rb ruby",
  sql: "sql", data: "json jsonl jsonc yaml yml toml ini cfg conf env css scss html htm xml svg vue",
  c: `js mjs cjs jsx ts tsx javascript typescript java kt kotlin c h cc cpp cxx hpp cs go rs rust swift scala dart php
  proto zig lua`,
};
const familyOf = new Map(Object.entries(FAMILIES).flatMap(([family, names]) =>
  names.trim().split(/\s+/).map((name) => [name, family])));
const words = Object.fromEntries(Object.entries(KEYWORDS).map(([family, list]) => [family, new Set(list.split(/\s+/))]));

const STRINGS = '"""[^]*?(?:"""|$)|\'\'\'[^]*?(?:\'\'\'|$)|"(?:[^"\\\\\\n]|\\\\[^])*"?|\'(?:[^\'\\\\\\n]|\\\\[^])*\'?';
const NUMBER = "\\b(?:0[xXbBoO][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b";
const WORD = "[@$]?[A-Za-z_][\\w]*";
const MARKS_OF = { c: "//[^\\n]*|/\\*[^]*?(?:\\*/|$)", sql: "--[^\\n]*|/\\*[^]*?(?:\\*/|$)" };
const TEMPLATE = "|`(?:[^`\\\\]|\\\\[^])*`?";

function patternOf(family, language) {
  const markup = /^(html?|xml|svg|vue)$/.test(language);
  const comment = markup ? "<!--[^]*?(?:-->|$)" : /css$/.test(language) ? "/\\*[^]*?(?:\\*/|$)" : MARKS_OF[family] ?? "#[^\\n]*";
  return new RegExp(`(${comment})|(${STRINGS}${family === "c" ? TEMPLATE : ""})|(${NUMBER})|(${WORD})`, "g");
}

/** Return the language of a file by its name; empty if the name says nothing. */
function languageOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return familyOf.has(name) ? name : name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : "";
}

/** Return code as spans and text; plain where the language is not known. */
function highlight(code, language) {
  const family = familyOf.get(String(language).toLowerCase());
  if (!family || code.length > MOST_COLOURED) return [code];
  const made = [];
  let at = 0;
  for (const match of code.matchAll(patternOf(family, language.toLowerCase()))) {
    const [whole, comment, string, number, word] = match;
    const end = match.index + whole.length;
    const key = string && /^\s*:/.test(code.slice(end, end + 8)) && family === "data";
    const kind = comment ? "Comment" : key ? "Variable" : string ? "String" : number ? "Number"
      : LITERALS.has(word) ? "Number" : words[family].has(family === "sql" ? word.toLowerCase() : word) ? "Keyword"
        : code[end] === "(" ? "Function" : /^[A-Z]\w*[a-z]/.test(word) ? "Type" : null;
    if (!kind) continue;
    if (match.index > at) made.push(code.slice(at, match.index));
    made.push(el("span", { class: `fg-syntax${kind}` }, whole));
    at = end;
  }
  made.push(code.slice(at));
  return made;
}

const DIFF_COLOURS = { "+": "added", "-": "removed" };

/** Draw a diff whose lines are a sign, a number and text; in a line that replaces one the changed part is marked. */
function diff(text) {
  const rows = clean(text).split("\n");
  const made = [];
  for (let at = 0; at < rows.length; at += 1) {
    const pair = alone(rows, at, "-") && alone(rows, at + 1, "+");
    if (pair) {
      const [before, after] = changed(parted(rows[at]), parted(rows[at + 1]));
      made.push(diffRow("removed", before), diffRow("added", after));
      at += 1;
    } else {
      made.push(diffRow(DIFF_COLOURS[rows[at][0]] ?? "kept", [rows[at] || " "]));
    }
  }
  return el("div", { class: "diff" }, made);
}

const diffRow = (kind, content) => el("div", { class: kind }, content);

/** Whether the line at `at` has the sign and no neighbour of the same sign. */
function alone(rows, at, sign) {
  return rows[at]?.[0] === sign && rows[at - 1]?.[0] !== sign && rows[at + 1]?.[0] !== sign;
}

function parted(row) {
  const [, gutter, text] = /^([+-] *\d* ?)(.*)$/s.exec(row);
  return [gutter, text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []];
}

/** Return two lines with what stands between their common beginning and their common end marked. */
function changed([oldGutter, before], [newGutter, after]) {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const marked = (gutter, parts) => [gutter + parts.slice(0, start).join(""),
    el("mark", {}, parts.slice(start, parts.length - end).join("")), parts.slice(parts.length - end).join("")];
  return [marked(oldGutter, before), marked(newGutter, after)];
}
