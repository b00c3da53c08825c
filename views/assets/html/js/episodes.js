// LagAlyzer's panels: the cumulative distribution that sets the threshold, landmarks, episodes, one episode. What is chosen
// in one narrows down the others.

const chosen = { threshold: 100, landmark: null, pattern: null, episode: null, listeners: [] };

function choose(change) {
  Object.assign(chosen, change);
  chosen.listeners.forEach((listener) => listener(change));
}

/** Whether an episode is over the threshold, of the chosen landmark and of the chosen pattern. */
const passes = (episode) => episode.latency_ms >= chosen.threshold
  && (chosen.landmark === null || episode.landmark === chosen.landmark)
  && (chosen.pattern === null || episode.pattern === chosen.pattern);

const PARTS = [["waiting", "waiting_ms", "waiting to start"], ["client", "client_ms", "client CPU"], ["off", "off_cpu_ms", "off-CPU"],
  ["server", "server_ms", "server wait"], ["network", "network_ms", "network"],
  ["others", "other_clients_ms", "other clients"]];

function episodes() {
  const { summary } = DATA.episodes;
  // The time of a caused episode is part of the episode that caused it.
  const all = DATA.episodes.episodes.filter((episode) => !episode.caused_by);
  const longest = all.reduce((most, episode) => Math.max(most, episode.latency_ms), 0);
  chosen.threshold = longest >= 100 ? 100 : 0;
  byId("episodes-about").textContent = `${whole(summary.count)} episodes, ${whole(summary.perceptible)} of them over their threshold; `
    + `the user waited ${percent(DATA.episodes.think_and_wait.wait_percent)} of the time.`
    + (summary.count > all.length ? ` The ${whole(all.length)} longest are here; ${whole(summary.count - all.length)} more are counted only.` : "");
  marks();
  if (!all.length) return;
  cumulative();
  scatter(all);
  timeline(DATA.episodes.episodes);
  landmarks();
  list(all);
  patterns();
}

/** How many episodes took at least x; a click or drag sets the threshold. */
function cumulative() {
  const steps = DATA.episodes.distribution.filter((step) => step.at_least_ms > 0);
  const mark = (plot) => {
    if (!(chosen.threshold > 0)) return;
    const x = plot.valToPos(chosen.threshold, "x", true);
    plot.ctx.save();
    plot.ctx.strokeStyle = colour("server");
    plot.ctx.lineWidth = 2;
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, plot.bbox.top);
    plot.ctx.lineTo(x, plot.bbox.top + plot.bbox.height);
    plot.ctx.stroke();
    plot.ctx.restore();
  };
  /** The last step that is not beyond. */
  const at = (ms) => steps.reduce((found, step, index) => (step.at_least_ms <= ms ? index + 1 : found), 0);
  const pick = (index) => choose({ threshold: index > 0 ? steps[index - 1].at_least_ms : 0 });
  const set = (plot, event) => {
    const box = plot.over.getBoundingClientRect();
    pick(at(plot.posToVal(event.clientX - box.left, "x") * 1.2));
  };
  const ready = (plot) => {
    plot.over.addEventListener("pointerdown", (event) => { plot.over.setPointerCapture(event.pointerId); set(plot, event); });
    plot.over.addEventListener("pointermove", (event) => { if (event.buttons & 1) set(plot, event); });
  };
  const some = steps.filter((step) => step.count > 0);
  const plot = chart(byId("cumulative"), "", [some.map((step) => step.at_least_ms), some.map((step) => step.count)],
    [{ label: "At least", value: (_, value) => time(value) },
      { label: "Episodes", stroke: "client", value: (_, value) => whole(value), axis: whole }],
    { x: "log", y: "log", height: 200, hooks: { draw: [mark], ready: [ready] }, cursor: { drag: { x: false, y: false } } });
  const slider = byId("threshold");
  slider.max = steps.length;
  slider.addEventListener("input", () => pick(+slider.value));
  const show = () => {
    const index = at(chosen.threshold);
    slider.value = index;
    slider.setAttribute("aria-valuetext", time(chosen.threshold));
    byId("threshold-ms").textContent = `${time(chosen.threshold)}, episodes: ${whole(index > 0 ? steps[index - 1].count : DATA.episodes.summary.count)}`;
    // Before the first drawing, redraw() would set unknown scales and leave the chart empty.
    plot()?.redraw(false);
  };
  chosen.listeners.push(show);
  show();
}

function landmarks() {
  table(byId("landmark-table"), {
    caption: "Landmarks (choose one to see only its episodes, again for all)",
    search: "Find a landmark", rows: DATA.episodes.landmarks, sort: 5, limit: 100,
    pick: (row) => choose({ landmark: chosen.landmark === row.landmark ? null : row.landmark }),
    columns: [
      { name: "Landmark", of: (row) => row.landmark, number: false },
      { name: "Count", of: (row) => row.count, show: (row) => whole(row.count) },
      { name: "Too long", of: (row) => row.perceptible, show: (row) => whole(row.perceptible), title: "Over their threshold" },
      { name: "p50", of: (row) => row.p50_ms, show: (row) => time(row.p50_ms) },
      { name: "Longest", of: (row) => row.max_ms, show: (row) => time(row.max_ms) },
      { name: "Total", of: (row) => row.total_ms, show: (row) => time(row.total_ms) },
    ],
  });
}

function list(all) {
  const view = table(byId("episode-table"), {
    caption: "Episodes of at least the latency that the slider selects", rows: all.filter(passes), sort: 2, limit: 200,
    search: "Find an episode",
    pick: (episode) => choose({ episode }),
    columns: [
      { name: "At", of: (row) => row.start_ms, show: (row) => (row.start_ms / 1000).toFixed(3) + " s" },
      { name: "Landmark", of: (row) => row.landmark, number: false },
      { name: "Latency", of: (row) => row.latency_ms, show: (row) => time(row.latency_ms) },
      { name: "Parts", of: (row) => row.main_cause, number: false, title: "Waiting to start, client CPU, off-CPU, server wait, network, other clients",
        show: (row) => bar(PARTS.map(([kind, key, name]) => [kind, row.parts[key], name]), row.latency_ms) },
      { name: "Main cause", of: (row) => row.main_cause, number: false },
    ],
  });
  chosen.listeners.push((change) => {
    if ("threshold" in change || "landmark" in change || "pattern" in change) view.show(all.filter(passes));
    if ("episode" in change) one(change.episode);
  });
}

/** The user's marks, with what went on around each; one that is chosen is shown in the timeline. */
function marks() {
  const rows = DATA.episodes.marks;
  if (!rows.length) return;
  const near = (row) => [...row.episodes.map((one) => [one.start_ms, `${time(one.latency_ms)} ${one.landmark} (${one.client_name})`]),
    ...row.stalls.map((one) => [one.start_ms, `${time(one.held_ms)} stall by ${one.by}`])]
    .sort((a, b) => a[0] - b[0]).map(([, text]) => text).join("; ");
  const omitted = DATA.episodes.marks_omitted;
  const which = omitted ? `The first ${whole(rows.length)} of ${whole(rows.length + omitted)} marks` : "Marks";
  table(byId("marks"), {
    caption: which + " of the user, with what went on from 5 s before to 1 s after (choose one to see it in the timeline)", rows, sort: 0,
    pick: (row) => byId("timeline").show?.(row.from_ms, row.to_ms),
    columns: [
      { name: "At", of: (row) => row.at_ms, show: (row) => (row.at_ms / 1000).toFixed(3) + " s" },
      { name: "Mark", of: (row) => row.text, number: false },
      { name: "Server", of: (row) => row.server_ms, show: (row) => time(row.server_ms), title: "How long the server ran in that time" },
      { name: "Requests", of: (row) => row.requests, show: (row) => whole(row.requests) },
      { name: "Around it", of: near, number: false },
    ],
  });
}

/** Episodes of one shape (LagAlyzer's patterns): how often each is slow, and what takes its time. */
function patterns() {
  const rows = DATA.episodes.patterns;
  if (!rows.length) return;
  table(byId("pattern-table"), {
    caption: "Patterns: episodes that do the same work (choose one to see only its episodes, again for all)",
    search: "Find a pattern", rows, sort: 6, limit: 20,
    pick: (row) => choose({ pattern: chosen.pattern === row.pattern ? null : row.pattern }),
    columns: [
      { name: "Pattern", of: (row) => row.pattern, show: (row) => row.pattern ?? "others" },
      { name: "What", of: (row) => row.group, number: false },
      { name: "Count", of: (row) => row.count, show: (row) => whole(row.count) },
      { name: "Too long", of: (row) => row.slow, number: false, title: "How often they take longer than their threshold: always, sometimes, once, never" },
      { name: "p50", of: (row) => row.p50_ms, show: (row) => time(row.p50_ms) },
      { name: "Max", of: (row) => row.max_ms, show: (row) => time(row.max_ms) },
      { name: "Total", of: (row) => row.total_ms, show: (row) => time(row.total_ms) },
      { name: "Parts", of: (row) => row.main_cause, number: false, title: "Waiting to start, client CPU, off-CPU, server wait, network, other clients",
        show: (row) => bar(PARTS.map(([kind, key, name]) => [kind, row.parts[key], name]), row.total_ms) },
      { name: "Main cause", of: (row) => row.main_cause, number: false },
      { name: "Shape", of: (row) => row.shape, number: false, show: (row) => make("div", { class: "clamp", title: row.shape }, row.shape),
        title: "The stimulus, the work, and in brackets the caused episodes" },
    ],
  });
}

/** The chosen episode: its parts, what it waited for, what lies in it, its messages where the file has them. */
function one(episode) {
  const parts = PARTS.map(([kind, key, name]) => [kind, episode.parts[key], name]);
  const facts = [`${whole(episode.requests)} requests`, bytes(episode.bytes), `${whole(episode.round_trips)} round trips (${time(episode.blocked_ms)} waited)`,
    `main cause: ${episode.main_cause}`];
  const nested = (children) => make("ul", {}, children.map((child) =>
    make("li", {}, `${time(child.latency_ms)} ${child.client_name ? `${child.client_name}: ` : ""}${child.landmark}, after ${time(child.start_ms - episode.start_ms)}`,
      child.children ? nested(child.children) : null)));
  byId("episode-detail").replaceChildren(make("div", { class: "detail", tabindex: "-1" },
    make("h3", {}, `${episode.landmark}: ${time(episode.latency_ms)} at ${(episode.start_ms / 1000).toFixed(3)} s (${episode.client_name})`),
    bar(parts, episode.latency_ms, true), legend(parts.filter(([, amount]) => amount > 0)),
    episode.blame ? make("p", {}, episode.blame) : null,
    make("p", {}, facts.join(", ") + "."),
    episode.uncertain ? make("p", { class: "quiet" }, `Unsure: ${episode.uncertain}.`) : null,
    episode.children ? nested(episode.children) : null,
    episode.messages ? make("pre", { tabindex: "0", "aria-label": "Messages of the episode" }, episode.messages.join("\n"))
      : make("p", { class: "quiet" }, "Its messages are not in this file: only those of the longest episodes are. "
        + `x11prof dump --from ${(episode.start_ms / 1000).toFixed(3)} --to ${((episode.start_ms + episode.latency_ms) / 1000).toFixed(3)} prints them.`)));
}
