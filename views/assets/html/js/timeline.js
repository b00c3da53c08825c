// Two pictures of the session: a lane of episodes for each client with what is nested in them, and Reiss's time against latency.

function scatter(all) {
  const element = byId("scatter");
  const end = Math.max(...all.map((episode) => episode.start_ms + episode.latency_ms));
  const [low, high] = [0.1, Math.max(1, ...all.map((episode) => episode.latency_ms))];
  const requests = Math.log1p(Math.max(...all.map((episode) => episode.requests)));
  let placed = [];
  const draw = () => {
    const [context, width, height] = canvas(element);
    const [left, foot] = [48, 18];
    const x = (ms) => left + (ms / end) * (width - left - 8);
    const y = (ms) => 8 + (1 - Math.log(Math.max(ms, low) / low) / Math.log(high / low)) * (height - foot - 14);
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    for (let ms = 0.1; ms <= high; ms *= 10) {
      context.fillText(time(ms), 2, y(ms) + 4);
      context.beginPath(); context.moveTo(left, y(ms)); context.lineTo(width, y(ms)); context.stroke();
    }
    for (let part = 0; part <= 4; part += 1)
      context.fillText(((end * part) / 4000).toFixed(1) + " s", Math.min(x((end * part) / 4), width - 34), height - 4);
    placed = all.map((episode) => {
      const at = [x(episode.start_ms), y(episode.latency_ms)];
      const share = requests > 0 ? Math.log1p(episode.requests) / requests : 0;
      context.globalAlpha = passes(episode) ? 0.85 : 0.18;
      context.fillStyle = `hsl(${220 - 205 * share} 75% 52%)`;
      context.beginPath(); context.arc(at[0], at[1], episode === chosen.episode ? 6 : 3, 0, 7); context.fill();
      return [at, episode];
    });
    context.globalAlpha = 1;
    if (chosen.threshold > low && chosen.threshold < high) {
      context.strokeStyle = colour("server");
      context.beginPath(); context.moveTo(left, y(chosen.threshold)); context.lineTo(width, y(chosen.threshold)); context.stroke();
    }
  };
  element.addEventListener("click", (event) => {
    let [nearest, best] = [null, 15 ** 2];
    for (const [[x, y], episode] of placed) {
      const far = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (far < best) [nearest, best] = [episode, far];
    }
    if (nearest) choose({ episode: nearest });
  });
  redraws.push(draw);
  chosen.listeners.push(redraw);
  draw();
}

function timeline(all) {
  const element = byId("timeline");
  const busy = new Map();
  for (const episode of all) busy.set(episode.client_name, (busy.get(episode.client_name) ?? 0) + episode.latency_ms);
  const clients = [...busy].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([name]) => name);
  const end = DATA.report.trace.duration_ms || Math.max(...all.map((episode) => episode.start_ms + episode.latency_ms));
  const view = { from: 0, to: end };
  element.style.height = `${24 + clients.length * 34}px`;
  let placed = [];
  const draw = () => {
    const [context, width, height] = canvas(element);
    const scale = width / (view.to - view.from);
    const x = (ms) => (ms - view.from) * scale;
    placed = [];
    context.fillStyle = colour("quiet");
    const step = 10 ** Math.ceil(Math.log10((view.to - view.from) / 8));
    for (let ms = Math.ceil(view.from / step) * step; ms <= view.to; ms += step) {
      context.fillText(+(ms / 1000).toFixed(4) + " s", x(ms) + 2, height - 4);
      context.fillRect(x(ms), 0, 1, height);
    }
    context.fillStyle = context.strokeStyle = colour("server");
    for (const mark of DATA.episodes.marks) {
      context.fillRect(x(mark.at_ms), 0, 1.5, height - 14);
      context.fillText("▼ " + (mark.text || "mark"), x(mark.at_ms) - 4, height - 16);
    }
    clients.forEach((client, lane) => {
      const top = lane * 34;
      // One lane's episodes that fall on one pixel are drawn once: the longest.
      let covered = -1;
      for (const episode of all) {
        if (episode.client_name !== client) continue;
        const [left, right] = [x(episode.start_ms), x(episode.start_ms + episode.latency_ms)];
        if (right < 0 || left > width || (right - left < 1 && right < covered && episode !== chosen.episode)) continue;
        covered = Math.max(covered, right);
        const wide = Math.max(1.5, right - left);
        context.globalAlpha = passes(episode) ? 1 : 0.25;
        let at = left;
        const sum = PARTS.reduce((sum, [, key]) => sum + episode.parts[key], 0) || 1;
        for (const [kind, key] of PARTS) {
          const part = (wide * episode.parts[key]) / sum;
          context.fillStyle = colour(kind);
          context.fillRect(at, top + 14, part, 9);
          at += part;
        }
        if (wide > 3 && episode.children) nested(context, episode.children, x, top + 24, 0);
        if (episode === chosen.episode) { context.strokeStyle = colour("front"); context.strokeRect(left - 1, top + 12.5, wide + 2, 12); }
        placed.push([left - 2, Math.max(right, left + 1.5) + 2, top, episode]);
      }
      context.globalAlpha = 1;
      context.fillStyle = colour("quiet");
      context.fillText(client, 4, top + 11);
    });
  };
  const nested = (context, children, x, top, depth) => {
    for (const child of children) {
      context.fillStyle = colour(depth % 2 ? "off" : "network");
      context.fillRect(x(child.start_ms), top, Math.max(1, x(child.start_ms + child.latency_ms) - x(child.start_ms)), 3);
      if (child.children && depth < 2) nested(context, child.children, x, top + 3, depth + 1);
    }
  };
  const move = (from, to) => {
    const length = Math.min(Math.max(to - from, 0.05), end);
    view.from = Math.min(Math.max(0, from), end - length);
    view.to = view.from + length;
    redraw();
  };
  const zoom = (factor, at) => {
    const middle = view.from + at * (view.to - view.from);
    move(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
  };
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, event.offsetX / element.clientWidth);
  }, { passive: false });
  let drag = null;
  element.addEventListener("pointerdown", (event) => { drag = { x: event.offsetX, ...view, far: 0 }; element.setPointerCapture(event.pointerId); });
  element.addEventListener("pointermove", (event) => {
    if (!drag || !(event.buttons & 1)) return;
    const by = ((event.offsetX - drag.x) / element.clientWidth) * (drag.to - drag.from);
    drag.far = Math.max(drag.far, Math.abs(event.offsetX - drag.x));
    move(drag.from - by, drag.to - by);
  });
  element.addEventListener("pointerup", (event) => {
    const still = drag && drag.far < 4;
    drag = null;
    if (!still) return;
    const hit = placed.filter(([left, right, top]) => event.offsetX >= left && event.offsetX <= right
      && event.offsetY >= top && event.offsetY < top + 34).map(([, , , episode]) => episode)
      .sort((a, b) => b.latency_ms - a.latency_ms)[0];
    if (hit) choose({ episode: hit });
  });
  element.addEventListener("keydown", (event) => {
    const by = (view.to - view.from) / 5;
    const act = { "+": () => zoom(0.7, 0.5), "=": () => zoom(0.7, 0.5), "-": () => zoom(1.4, 0.5), 0: () => move(0, end),
      ArrowLeft: () => move(view.from - by, view.to - by), ArrowRight: () => move(view.from + by, view.to + by) }[event.key];
    if (act) { act(); event.preventDefault(); event.stopPropagation(); }
  });
  element.show = move;
  element.shown = () => ({ ...view });
  redraws.push(draw);
  chosen.listeners.push((change) => {
    if (change.episode && (change.episode.start_ms > view.to || change.episode.start_ms + change.episode.latency_ms < view.from))
      move(change.episode.start_ms - (view.to - view.from) / 2, change.episode.start_ms + (view.to - view.from) / 2);
    redraw();
  });
  draw();
}
