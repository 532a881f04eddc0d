/* The tree at the side: search, filters, and as many rows as can be seen. */

const ROW = 24; // pixels, as in the style sheet
const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, End: Infinity, Home: -Infinity };

class Sidebar {
  #rows = [];
  #folded = new Set();
  #words = [];
  #cursor = 0;

  /** `choose(node)` is called when a row is chosen. */
  constructor(choose) {
    this.choose = choose;
    this.filter = "default";
    this.leaf = facts.leaf;
    this.search = el("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search entries",
      autocomplete: "off", spellcheck: "false", oninput: () => this.#searched() });
    this.buttons = Object.entries(FILTERS).map(([name, text]) =>
      el("button", { "data-filter": name, "aria-pressed": "false", onclick: () => this.setFilter(name) }, text));
    this.status = el("p", { id: "status", role: "status" });
    this.inner = el("div", { class: "rows" });
    this.list = el("div", { id: "tree", role: "tree", tabindex: "0", "aria-label": "Entries",
      onscroll: () => this.draw(), onkeydown: (event) => this.#pressed(event) }, this.inner);
    this.element = el("nav", { id: "sidebar", "aria-label": "Session tree" },
      el("div", { class: "tools" }, this.search, el("div", { class: "filters" }, this.buttons)), this.list, this.status);
    new ResizeObserver(() => this.draw()).observe(this.list);
    this.layOut();
  }

  setFilter(name) {
    this.filter = name === this.filter ? "default" : name;
    this.#folded.clear();
    this.layOut();
    this.reveal(this.current);
  }

  reset() {
    this.search.value = "";
    this.#words = [];
    this.filter = "default";
    this.#folded.clear();
    this.layOut();
  }

  /** Show another branch, and mark one of its entries. */
  show(leaf, current) {
    this.current = current;
    if (leaf !== this.leaf) {
      this.leaf = leaf;
      this.layOut();
    }
    this.reveal(current);
  }

  /** Scroll to an entry, or to the nearest of its ancestors that has a row. */
  reveal(id) {
    for (let node = byId.get(id); node; node = byId.get(node.parent)) {
      const number = this.#rows.findIndex((row) => row.node.id === node.id);
      if (number < 0) continue;
      this.#move(number);
      return;
    }
    this.draw();
  }

  layOut() {
    const wanted = (node) => passes(node, this.filter, this.leaf) &&
      this.#words.every((word) => searchText(node).includes(word));
    this.#rows = layOut(this.leaf, wanted, this.#folded);
    this.#cursor = Math.min(this.#cursor, Math.max(0, this.#rows.length - 1));
    this.inner.style.height = `${this.#rows.length * ROW}px`;
    this.status.textContent = `${this.#rows.length} / ${nodes.length} entries`;
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.filter === this.filter));
    }
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 5);
    const seen = Math.ceil((this.list.clientHeight || 600) / ROW) + 10;
    this.inner.replaceChildren(...this.#rows.slice(first, first + seen).map((row, n) => this.#row(row, first + n)));
  }

  #row(row, number) {
    const { node } = row;
    const mark = row.hasChildren && row.start
      ? el("button", { class: "fold", tabindex: "-1", title: row.folded ? "Unfold" : "Fold", "aria-label": "Fold",
        onclick: (event) => this.#fold(row, event) }, row.folded ? "⊞ " : "⊟ ")
      : row.connector ? "─ " : null;
    const element = el("div", {
      class: `row ${node.kind}${node.remark ? " remark" : ""}`, role: "treeitem", id: `row-${number}`,
      "data-id": node.id, "aria-selected": String(node.id === this.current), "aria-level": String(row.level + 1),
      onclick: () => this.#choose(number) },
    el("span", { class: "lines" }, indent(row), mark, row.active ? el("i", { title: "On the branch shown" }, "• ") : null),
    node.label ? el("span", { class: "label" }, clean(node.label)) : null,
    node.prefix ? el("b", {}, `${clean(node.prefix)} `) : null,
    clean(node.text).replace(/\s+/g, " "));
    element.style.top = `${number * ROW}px`;
    if (number === this.#cursor) element.classList.add("cursor");
    return element;
  }

  #searched() {
    this.#words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.#folded.clear();
    this.layOut();
    this.reveal(this.current);
  }

  #fold(row, event) {
    event.stopPropagation();
    if (!this.#folded.delete(row.node.id)) this.#folded.add(row.node.id);
    this.layOut();
  }

  #choose(number) {
    this.#cursor = number;
    if (this.#rows[number]) this.choose(this.#rows[number].node);
  }

  #move(number) {
    this.#cursor = Math.max(0, Math.min(this.#rows.length - 1, number));
    const top = this.#cursor * ROW;
    const height = this.list.clientHeight;
    if (top < this.list.scrollTop || top + ROW > this.list.scrollTop + height) {
      this.list.scrollTop = top - height / 2;
    }
    this.list.setAttribute("aria-activedescendant", `row-${this.#cursor}`);
    this.draw();
  }

  #pressed(event) {
    const row = this.#rows[this.#cursor];
    if (event.key in STEPS) this.#move(this.#cursor + STEPS[event.key]);
    else if (event.key === "Enter") this.#choose(this.#cursor);
    else if (event.key === "ArrowLeft" && row?.start && row.hasChildren && !row.folded) this.#fold(row, event);
    else if (event.key === "ArrowRight" && row?.folded) this.#fold(row, event);
    else return;
    event.preventDefault();
  }
}
