// The profile's table, and the histograms of the message that is chosen in it; other servers side by side.

function requests() {
  const { report } = DATA;
  const rows = report.requests;
  const most = Math.max(...rows.map((row) => row.charged_ms), 0);
  const networked = rows.some((row) => row.network_ms > 0);
  table(byId("request-table"), {
    caption: "Server CPU of each request, including wakeups, reading and replies" + (networked ? "; and its time on the network" : ""),
    search: "Find a request ( / )",
    rows, sort: 1,
    pick: detail,
    columns: [
      { name: "Request", of: (row) => row.name, number: false },
      { name: "Time", of: (row) => row.charged_ms, show: (row) => time(row.charged_ms) },
      { name: "Share", of: (row) => row.percent_charged, show: (row) => percent(row.percent_charged), title: "Of the server CPU and network time of all clients" },
      { name: "Parts", of: (row) => row.charged_ms, number: false, title: "The request itself; wakeups, reading and replies; network",
        show: (row) => bar([["server", row.server_ms, "request"], ["waiting", row.transport_ms, "wakeups, reading and replies"], ["network", row.network_ms, "network"]], most) },
      { name: "Count", of: (row) => row.count, show: (row) => whole(row.count) },
      { name: "Mean", of: (row) => row.charged_ms / row.count, show: (row) => time(row.charged_ms / row.count), title: "Time of one request" },
      { name: "Bytes sent", of: (row) => row.bytes, show: (row) => bytes(row.bytes) },
      { name: "Round trips", of: (row) => row.round_trips, show: (row) => whole(row.round_trips), title: "The client waited for the reply" },
      ...(networked ? [{ name: "Network", of: (row) => row.network_ms, show: (row) => time(row.network_ms) }] : []),
      ...(rows.some((row) => row.no_cost_data) ? [{ name: "No cost data", of: (row) => row.no_cost_data, title: "Requests for which the cost table has no entry" }] : []),
    ],
  });
}

/** The histograms of one message. */
function detail({ name }) {
  const message = DATA.stats.messages.find((message) => message.name === name && message.category === "Requests");
  const doubts = DATA.report.warnings.filter((warning) => warning.request === name);
  byId("request-detail").replaceChildren(make("div", { class: "detail" },
    make("h3", {}, name),
    make("div", { class: "histograms" },
      message ? [histogram("Size (bytes)", message.bytes, String),
        histogram("Time since the one before (ms)", message.inter_arrival_ms, String),
        message.op_size && message.op_size.max > 0 ? histogram("Op-size", message.op_size, String) : null] : []),
    doubts.length ? make("ul", {}, doubts.slice(0, 20).map((doubt) => make("li", { class: "quiet" }, doubtText(doubt)))) : null));
}

function doubtText(doubt) {
  const parts = [doubt.kind, doubt.request, doubt.attribute].filter(Boolean).join(" ");
  const change = doubt.from !== undefined && doubt.from !== null ? `: ${doubt.from} with the cost of ${doubt.to}` : "";
  return `${parts}${change}${doubt.count ? ` (${whole(doubt.count)} times)` : ""}`;
}

/** A histogram as SVG; the axis holds the cells that have something in them. */
function histogram(caption, { histogram: cells, count: number, median, mean }) {
  if (!cells || !cells.length) return null;
  const shown = cells.slice(0, 60);
  const [width, height, foot] = [460, 130, 18];
  const most = Math.max(...shown.map((cell) => cell.count));
  const step = width / shown.length;
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `${caption}: ${number} values, median ${median}`);
  const put = (name, attributes, text) => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...(text === undefined ? [] : [text]));
    svg.append(element);
    return element;
  };
  // The root of the share: few beside many can still be seen.
  shown.forEach((cell, index) => {
    const tall = Math.sqrt(cell.count / most) * (height - foot - 12);
    const rect = put("rect", { x: index * step + 0.5, y: height - foot - tall, width: Math.max(1, step - 1), height: tall });
    const title = document.createElementNS(space, "title");
    title.append(`${cell.from} to ${cell.to}: ${whole(cell.count)}`);
    rect.append(title);
  });
  const every = Math.ceil(shown.length / 8);
  shown.forEach((cell, index) => {
    if (index % every === 0) put("text", { x: index * step + 1, y: height - 4 }, String(+Number(cell.from).toPrecision(3)));
  });
  return make("figure", {},
    make("figcaption", {}, `${caption}: ${whole(number)}, median ${+median.toPrecision(4)}, mean ${+mean.toPrecision(4)}; height is the root of the number`), svg);
}

/** A bar for each server: its total beside the slowest, divided by request (Figure 10 of the Xprof paper). */
function comparisonBars({ servers, requests }, most) {
  const largest = (row) => Math.max(...row.servers.map((cell, index) => cell.charged_ms / (servers[index].total_ms || 1)));
  const shown = [...requests].sort((a, b) => largest(b) - largest(a)).slice(0, 5);
  const kinds = ["client", "server", "network", "waiting", "others"];
  const parts = (server, index) => {
    const own = shown.map((row, at) => [kinds[at], row.servers[index].charged_ms, row.name]);
    return [...own, ["off", Math.max(0, server.total_ms - own.reduce((sum, [, ms]) => sum + ms, 0)), "other requests and events"]];
  };
  byId("compare-bars").append(
    ...servers.map((server, index) => make("figure", {},
      make("figcaption", {}, `${server.name}: ${time(server.total_ms)}`), bar(parts(server, index), most, true))),
    make("div", { class: "key" }, [...shown.map((row) => row.name), "other requests and events"].map((name, at) =>
      make("span", {}, make("i", { class: kinds[at] || "off" }), name))));
}

/** Columns for each server of `--params`. */
function comparison() {
  const { compare } = DATA;
  if (!compare) return;
  byId("compare").hidden = false;
  const most = Math.max(...compare.servers.map((server) => server.total_ms));
  comparisonBars(compare, most);
  table(byId("compare-table"), {
    caption: "Time of each request on each server, including wakeups, reading and replies; – where it has no cost there",
    search: "Find a request", rows: compare.requests, sort: 2,
    columns: [
      { name: "Request", of: (row) => row.name, number: false },
      { name: "Count", of: (row) => row.count, show: (row) => whole(row.count) },
      ...compare.servers.map((server, index) => ({
        name: `${server.name} (${time(server.total_ms)})`,
        title: `${percent((100 * server.total_ms) / most)} of the time of the slowest server`,
        of: (row) => row.servers[index].charged_ms,
        show: ({ servers: { [index]: cell }, count }) => (cell.no_cost_data === count && cell.charged_ms === 0 ? "–" : time(cell.charged_ms)),
      })),
    ],
  });
}
