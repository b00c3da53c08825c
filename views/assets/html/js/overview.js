// The first screen: the verdict, whose time it was, and the time over other networks.

function overview() {
  const { report } = DATA;
  const connections = report.trace.connection_count;
  byId("about").textContent = [
    `${report.trace.path}: ${time(report.trace.duration_ms)}`,
    `${whole(report.total.count)} requests on ${whole(connections)} connection${connections === 1 ? "" : "s"}`,
    DATA.made ? `x11prof ${DATA.made}` : null,
  ].filter(Boolean).join(" · ");
  byId("verdict").append(...DATA.verdict.map((line) => make("li", {}, line)));
  split(report);
  if (DATA.sweep) sweep(DATA.sweep);
}

/** Client, server and network; the rest of the time is when none of them worked. */
function split({ total, client_and_server: both, network, server }) {
  const client = total.client_cpu_ms ?? 0;
  const source = server.time_source;
  const parts = [
    ["client", client, total.client_cpu_ms === null ? "client CPU (unknown)" : "client CPU"],
    ["server", total.server_ms, `server CPU (${source})`],
    ...(network.bytes_per_second || network.rtt_ms ? [["network", total.network_ms, "network (modelled)"]] : []),
  ];
  const wall = total.wall_ms ?? 0;
  const sum = parts.reduce((sum, [, amount]) => sum + amount, 0);
  if (wall > sum) parts.push(["off", wall - sum, "idle: waiting for the user, timers, disks or a free CPU"]);
  byId("split").append(make("figure", {},
    make("figcaption", {}, wall ? `While clients were connected: ${time(wall)}` : "Time"),
    bar(parts, Math.max(sum, wall), true), legend(parts),
    both?.measured_overlap_ms > 0
      ? make("p", { class: "quiet" }, `Client and server worked at the same time for ${time(both.measured_overlap_ms)}.`) : null));
}

/** Total time against the latency, a line for each speed (the Xprof paper's Figure 10). */
function sweep({ rtt_ms: latencies, lines }) {
  const names = ["client", "server", "network", "waiting", "good"];
  const place = byId("sweep");
  chart(place, "Forecast length of the session over other networks, by round trip (ms) and speed",
    [latencies, ...lines.map((line) => line.time_ms)],
    [{ label: "Round trip (ms)", value: (_, value) => (value === null ? "–" : value + " ms") },
      ...lines.map((line, index) => ({ label: line.name, stroke: names[index % names.length], value: (_, value) => time(value) }))],
    { x: "log", y: "log" });
}

/** A line chart by uPlot that follows theme and width. Colours are names of the theme's. */
function chart(place, caption, data, series, { x = "linear", y = "linear", height = 220, hooks = {}, cursor = {} } = {}) {
  const holder = make("div");
  place.replaceChildren(make("figure", {}, make("figcaption", {}, caption), holder));
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const [grid, text] = [colour("line"), colour("quiet")];
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
    const log = (kind) => (kind === "log" ? { distr: 3, log: 10 } : {});
    plot = new uPlot({
      width: Math.max(240, holder.clientWidth), height,
      scales: { x: { time: false, ...log(x) }, y: log(y) },
      axes: [{ ...axis, values: (_, at) => at.map((value) => (value === null ? "" : String(+value.toPrecision(3)))) },
        { ...axis, size: 76, values: (_, at) => at.map((value) => (value === null ? "" : series[1].axis ? series[1].axis(value) : time(value))) }],
      series: series.map((line, index) => (index === 0 ? line
        : { width: 2, points: { size: 5 }, ...line, stroke: colour(line.stroke) })),
      cursor, hooks,
    }, data, holder);
    plot.ctx.canvas.setAttribute("role", "img");
    plot.ctx.canvas.setAttribute("aria-label", caption || place.closest("figure")?.querySelector("figcaption")?.textContent || "Chart");
  };
  redraws.push(draw);
  draw();
  return () => plot;
}
