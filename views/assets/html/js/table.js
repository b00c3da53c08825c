// Tables that sort by a click or Enter on a column's head, and narrow down by a word.

/**
 * A table in `place`. A column has `name`, `of(row)` (what it sorts by), and may have `show(row)` (text or an element),
 * `title` (what it means) and `number: false`. `pick(row)` is called when a row is chosen by click, Enter or space.
 */
function table(place, { caption, columns, rows, search, pick, sort, limit = 500 }) {
  const state = { column: sort ?? 0, down: true, word: "", rows, shown: limit, picked: null };
  const body = make("tbody");
  const note = make("span", { class: "quiet" });
  const heads = columns.map((column, index) =>
    make("th", { class: column.number === false ? null : "number", scope: "col" },
      make("button", { type: "button", title: column.title ?? null, onclick: () => order(index) }, column.name)));
  const input = search && make("input", { type: "search", placeholder: search, "aria-label": search,
    oninput: () => { state.word = input.value.trim().toLowerCase(); fill(); } });
  const more = make("button", { type: "button", onclick: () => { state.shown += 5 * limit; fill(); } }, "Show more");
  place.replaceChildren(
    make("div", { class: "tools" }, input, note),
    make("div", { class: "scroll", tabindex: "-1" },
      make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, heads)), body)),
    more);

  function order(index) {
    state.down = state.column === index ? !state.down : columns[index].number !== false;
    state.column = index;
    fill();
  }
  function matching() {
    const { of } = columns[state.column];
    const fits = (row) => !state.word
      || columns.some((column) => column.number === false && String(column.of(row)).toLowerCase().includes(state.word));
    const compare = (a, b) => (a === b ? 0 : a === null || a === undefined ? -1 : b === null || b === undefined ? 1 : a < b ? -1 : 1);
    return state.rows.filter(fits).sort((a, b) => compare(of(a), of(b)) * (state.down ? -1 : 1));
  }
  function fill() {
    const found = matching();
    heads.forEach((head, index) =>
      head.setAttribute("aria-sort", index !== state.column ? "none" : state.down ? "descending" : "ascending"));
    body.replaceChildren(...found.slice(0, state.shown).map((row) => {
      const choose = () => { state.picked = row; fill(); pick(row); };
      const key = (event) => {
        const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[event.key];
        if (step) { event.currentTarget[step]?.focus(); event.preventDefault(); }
        else if (event.key === "Enter" || event.key === " ") { choose(); event.preventDefault(); }
      };
      return make("tr", pick ? { class: "pick", tabindex: "0", onclick: choose, onkeydown: key,
        "aria-selected": String(row === state.picked) } : {},
        columns.map((column) => make("td", { class: column.number === false ? "name" : "number" },
          column.show ? column.show(row) : String(column.of(row) ?? "–"))));
    }));
    const missing = found.length - Math.min(found.length, state.shown);
    more.hidden = missing === 0;
    const isAll = found.length === rows.length;
    note.textContent = missing ? `the first ${whole(state.shown)} of ${whole(found.length)}${isAll ? "" : " found"}`
      : isAll ? "" : `${whole(found.length)} of ${whole(rows.length)}`;
  }
  fill();
  return {
    /** Shows other rows, with the same order. */
    show(rows) { state.rows = rows; state.shown = limit; fill(); },
  };
}
