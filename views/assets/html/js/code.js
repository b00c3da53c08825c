// The program's functions that made the requests, or in which it ran: an icicle, the outermost on top.

const WEIGHTS = [["Server time", time], ["Requests", whole], ["Bytes", bytes], ["Round trips with a stack", whole], ["Client CPU", time],
  ["Bytes held at the end", bytes], ["Off-CPU", time]];
const KINDS = ["client", "server", "network", "waiting", "others"];

function code() {
  if (!DATA.code) return;
  // The page has a list, each node before its calls.
  const open = [], [root] = DATA.code;
  for (const node of DATA.code) {
    node.calls = [];
    open.length = node.depth;
    open.at(-1)?.calls.push(node);
    open.push(node);
  }
  const place = byId("icicle"), about = byId("icicle-about");
  const weights = WEIGHTS.map((_, n) => n).filter((n) => root.sums[n] > 0);
  if (!weights.length) return;
  byId("code").hidden = false;
  let weight = weights[0], focus = [root], wanted = "";
  // A module's functions have one colour.
  const kind = (name) => {
    const module = /\[([^\]+]*)[^\]]*\]$/.exec(name)?.[1] ?? /\(([^():]*)/.exec(name)?.[1] ?? name;
    return KINDS[[...module].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, 7) % KINDS.length];
  };
  const share = (node) => percent(100 * node.sums[weight] / root.sums[weight]);
  const tell = (node) => `${node.name}: ${WEIGHTS[weight][1](node.sums[weight])}, ${share(node)} of all`;
  const holds = (node) => wanted && node.name.toLowerCase().includes(wanted);
  const found = (node) => (holds(node) ? node.sums[weight] : node.calls.reduce((sum, call) => sum + found(call), 0));
  function show() {
    const rows = [];
    const box = (path, left, width, depth) => {
      const node = path[path.length - 1];
      (rows[depth] ??= []).push(make("button", {
        type: "button", class: [kind(node.name), holds(node) ? "found" : "", width > 2 ? "wide" : ""].join(" "), title: tell(node), style: `left:${left}%;width:${width}%`,
        onclick: () => { focus = path; show(); place.querySelector("button:last-of-type")?.focus({ preventScroll: true }); },
        onmouseenter: () => { about.textContent = tell(node); },
      }, width > 2 ? node.name : ""));
    };
    const below = (path, left, width, depth) => {
      const node = path[path.length - 1];
      box(path, left, width, depth);
      const calls = [...node.calls].sort((a, b) => b.sums[weight] - a.sums[weight]);
      for (const call of calls) {
        const part = width * call.sums[weight] / node.sums[weight];
        if (!(part > 0.1)) break;
        below([...path, call], left, part, depth + 1);
        left += part;
      }
    };
    const last = focus.length - 1;
    for (let depth = 0; depth < last; depth++) box(focus.slice(0, depth + 1), 0, 100, depth);
    below(focus, 0, 100, last);
    place.replaceChildren(...rows.map((row) => make("div", {}, row)));
    about.textContent = wanted ? `Found: ${percent(100 * found(root) / root.sums[weight])} of all` : tell(focus[last]);
  }
  const choose = make("select", { "aria-label": "Weight", onchange: () => { weight = weights[choose.selectedIndex]; show(); } },
    weights.map((n) => make("option", {}, WEIGHTS[n][0])));
  const search = make("input", { type: "search", placeholder: "Find a function", "aria-label": "Find a function",
    oninput: () => { wanted = search.value.toLowerCase(); show(); } });
  byId("icicle-tools").append(choose, search);
  show();
}
