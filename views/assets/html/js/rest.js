// Round trips with what to do about them, resources over time, doubts.

function roundtrips() {
  const { roundtrips } = DATA;
  if (!roundtrips) return;
  byId("roundtrips").hidden = false;
  const advice = byId("advice");
  advice.append(make("ul", {}, roundtrips.verdict.map((line) => make("li", {}, line))));
  if (roundtrips.suggestions.length)
    advice.append(make("p", {}, roundtrips.heading), make("ol", {}, roundtrips.suggestions.map(([what, why]) =>
      make("li", {}, what, make("p", { class: "quiet" }, why)))));
  table(byId("roundtrip-table"), {
    caption: "Requests whose reply the client waited for", rows: roundtrips.round_trips, sort: 1, search: "Find a request",
    columns: [
      { name: "Request", of: (row) => row.request, number: false },
      { name: "Count", of: (row) => row.count, show: (row) => whole(row.count) },
      { name: "Waited", of: (row) => row.waited_ms, show: (row) => time(row.waited_ms) },
    ],
  });
}

function resources() {
  const clients = DATA.report.resources;
  if (!clients.length) return;
  byId("resources").hidden = false;
  const rows = clients.flatMap((client) => client.kinds.map((kind) => ({ client, kind })));
  const draw = ({ client, kind }) => {
    const points = kind.over_time ?? [];
    chart(byId("resource-chart"), `${client.name}: ${kind.kind}s held over time`,
      [points.map((point) => point.from_ms / 1000), points.map((point) => point.max)],
      [{ label: "At (s)" }, { label: "Held", stroke: "client", points: { show: points.length < 50 }, axis: whole }]);
  };
  table(byId("resource-table"), {
    caption: "What each client holds in the server (choose a row to see it over time)", rows, sort: 3, search: "Find a client", limit: 100,
    pick: draw,
    columns: [
      { name: "Client", of: (row) => row.client.name, number: false },
      { name: "Kind", of: (row) => row.kind.kind, number: false },
      { name: "Held at the end", of: (row) => row.kind.held, show: (row) => whole(row.kind.held) },
      { name: "Peak", of: (row) => row.kind.peak, show: (row) => whole(row.kind.peak) },
      { name: "Peak bytes", of: (row) => row.kind.peak_bytes, show: (row) => bytes(row.kind.peak_bytes) },
      { name: "Created", of: (row) => row.kind.created, show: (row) => whole(row.kind.created) },
    ],
  });
  draw(rows.reduce((best, row) => (row.kind.peak > best.kind.peak ? row : best)));
}

function doubts() {
  const list = byId("doubt-list");
  list.append(...(DATA.doubts.length ? DATA.doubts : ["None."]).map((line) => make("li", {}, line)));
  byId("thinned").append(...DATA.thinned.map((line) => make("li", {}, line)));
}
