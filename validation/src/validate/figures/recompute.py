"""Figures of a recording worked out again: from the lines of `x11prof dump --format json` and the definitions in
docs/REFERENCE.md alone. Prints what differs from the pages; exit status 1 where something does.

recompute.py X11PROF TRACE..."""

import collections
import json
import subprocess
import sys


def run(program, *words):
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def page(program, *words):
    return json.loads(run(program, *words, "--format", "json"))


def by_hand(lines):
    """Counts, bytes, times and an upper bound of the round trips, by the messages in their order."""
    count, size = collections.Counter(), collections.Counter()
    of_connection, received = collections.Counter(), collections.Counter()
    last, gaps = {}, collections.defaultdict(list)
    asked = collections.defaultdict(list)  # of each connection: questions that have no answer
    sent = {}  # when its last request was sent: what is written with a question is sent before the wait
    may_wait = collections.Counter()
    first_seconds = last_seconds = None
    for line in map(json.loads, lines):
        seconds, kind, name = line["seconds"], line["kind"], line.get("name")
        first_seconds = seconds if first_seconds is None else first_seconds
        last_seconds = seconds
        if kind not in ("request", "reply", "event", "error", "setup"):
            continue
        connection, length = line["connection"], line["bytes"]
        if line["direction"] == "to-client":
            received[connection] += length
        if kind == "setup":
            size["setup", None] += length
            continue
        count[kind, name] += 1
        size[kind, name] += length
        gaps[kind].append(seconds - last.get(kind, seconds))
        last[kind] = seconds
        if kind == "request":
            of_connection[connection] += 1
            sent[connection] = seconds
            if line.get("has_reply"):
                asked[connection].append((line["sequence"], name, seconds))
        elif kind in ("reply", "error"):
            number = line["sequence"]
            mine = [one for one in asked[connection] if one[0] == number]
            others = [one for one in asked[connection] if one[0] != number]
            # Nothing was written after the question, and no other one is owed.
            if mine and sent.get(connection) == mine[0][2] and not others:
                may_wait[mine[0][1]] += 1
            # An answer answers what came before it as well: those had none.
            if mine:
                asked[connection] = [one for one in others if one[0] > number]
    duration = 0.0 if first_seconds is None else (last_seconds - first_seconds) * 1e3
    return count, size, of_connection, received, gaps, may_wait, duration


def begun(lines):
    """Of each connection: when its program started (or it connected), since when the trace has it, and its
    requests in their order."""
    starts, requests = {}, collections.defaultdict(list)
    for line in map(json.loads, lines):
        control = line.get("control", {})
        if control.get("kind") == "opened":
            starts[control["connection"]] = (line["seconds"], control.get("started_ns"))
        elif line["kind"] == "request":
            requests[line["connection"]].append(line)
    return starts, requests


def ran(lines):
    """Milliseconds that the clients' threads and the server's first thread ran, by the context switches, and how
    many of those there are; clients until their last connection closed."""
    server, clients, gone = None, collections.Counter(), {}
    of_connection, since, runs = {}, {}, []
    last = 0.0
    for line in map(json.loads, lines):
        last = line["seconds"]
        control = line.get("control", {})
        kind = control.get("kind")
        if kind == "server":
            server = control.get("pid")
        elif kind == "opened" and control.get("pid") is not None:
            of_connection[control["connection"]] = control["pid"]
            clients[control["pid"]] += 1
            gone.pop(control["pid"], None)
        elif kind == "closed" and control["connection"] in of_connection:
            pid = of_connection.pop(control["connection"])
            clients[pid] -= 1
            if clients[pid] == 0:
                gone[pid] = line["seconds"]
        elif line["kind"] == "switch":
            thread = (line["pid"], line["tid"])
            if line["runs"]:
                since[thread] = line["seconds"]
            elif thread in since:
                runs.append((thread[0], since.pop(thread), line["seconds"]))
    runs += [(pid, begun, last) for (pid, _), begun in since.items()]
    of = lambda wanted: sum(max(0.0, min(end, gone.get(pid, last)) - begin) for pid, begin, end in runs if wanted(pid))
    many = sum(1 for pid, *_ in runs if pid in clients)
    return of(lambda pid: pid in clients and pid != server) * 1e3, of(lambda pid: pid == server) * 1e3, many


def differences(program, trace):
    lines = run(program, "dump", trace, "--format", "json", "--switches").split("\n")[:-1]
    clients_ms, server_ms, many = ran(lines)
    lines = [line for line in lines if '"kind":"switch"' not in line]
    count, size, of_connection, received, gaps, may_wait, duration = by_hand(lines)
    starts, sent = begun(lines)
    report = page(program, "report", trace)
    stats = page(program, "stats", trace)
    trips = page(program, "network", trace)
    compared = 0
    found = []

    def same(figure, ours, theirs, within=0.0):
        nonlocal compared
        compared += 1
        if abs(ours - theirs) > within:
            found.append(f"{trace}: {figure}: {ours} by hand, {theirs} on the page")

    def most(figure, less, more):
        nonlocal compared
        compared += 1
        if less > more:
            found.append(f"{trace}: {figure}: {less} is more than {more}")

    of = lambda counter, kind: {name: n for (of_kind, name), n in counter.items() if of_kind == kind}
    total = lambda counter, kind: sum(of(counter, kind).values())
    transport = report["transport"]
    requests = {line["name"]: line for line in report["requests"]}
    for name in sorted(set(requests) | set(of(count, "request"))):
        line = requests.get(name, {"count": 0, "bytes": 0})
        same(f"requests of {name}", count["request", name], line["count"])
        same(f"bytes of {name}", size["request", name], line["bytes"])
    same("requests", total(count, "request"), report["total"]["count"])
    same("bytes of requests", total(size, "request"), report["total"]["bytes"])
    events = {line["name"]: line for line in report["events"]}
    for name in sorted(set(events) | set(of(count, "event"))):
        line = events.get(name, {"count": 0, "bytes": 0})
        same(f"events of {name}", count["event", name], line["count"])
        same(f"bytes of {name}", size["event", name], line["bytes"])
    same("replies", total(count, "reply"), transport["replies"])
    same("errors", total(count, "error"), transport["errors"])
    same("bytes of replies and errors", total(size, "reply") + total(size, "error"), transport["reply_bytes"])
    setups = total(size, "setup")
    same("bytes of setups", setups, transport["setup_bytes"])
    same("bytes of transport", sum(total(size, kind) for kind in ("reply", "error", "event")) + setups, transport["bytes"])
    # Of the clock of a process some microseconds of each context switch are no run; or a doubt is told.
    doubts = [warning["kind"] for warning in report["warnings"]]
    if many and "clocks-differ" not in doubts:
        series = page(program, "episodes", trace)["series"]
        for who, ours in (("client", clients_ms), ("server", server_ms)):
            theirs = sum(series[f"{who}_percent"]) * series["step_ms"] / 100
            same(f"{who}'s time by its switches", ours, theirs, 1.0 + 0.01 * ours)
        clock = report["total"]["client_cpu_ms"]
        if clock is not None:
            same("clients' time by their clocks", clients_ms, clock, 10 + 0.1 * clock + 0.02 * many)
    # Context switches may be the first and the last record.
    most("duration", duration, report["trace"]["duration_ms"] + 0.001)
    for line in report["trace"]["connections"]:
        same(f"requests of connection {line['id']}", of_connection[line["id"]], line["requests"])
    kinds = {"Requests": "request", "Replies": "reply", "Events": "event", "Errors": "error"}
    for category in stats["categories"]:
        kind, times = kinds[category["name"]], category["inter_arrival_ms"]
        same(f"number of {category['name']}", len(gaps[kind]), times["count"])
        if gaps[kind]:
            mean = sum(gaps[kind]) / len(gaps[kind]) * 1e3
            same(f"mean time between {category['name']}", mean, times["mean"], 1e-3 + 1e-4 * mean)
            same(f"longest time between {category['name']}", max(gaps[kind]) * 1e3, times["max"], 1e-3)
    waited = collections.Counter({line["request"]: line["count"] for line in trips["round_trips"]})
    for name in waited:
        most(f"round trips of {name}", waited[name], may_wait[name])
    same("round trips", sum(waited.values()), trips["total"]["round_trips"])
    for line in report.get("start_up", []):
        if line["latency_ms"] is not None:
            most(f"requests of start-up {line['connection']}", line["requests"], of_connection[line["connection"]])
            since, started = starts[line["connection"]]
            begin = line["start_ms"]
            if line["since"] == "connection":
                same(f"beginning of start-up {line['connection']}", since * 1e3, begin, 1e-3)
            else:
                before = line["parts"]["before_connection_ms"]
                same(f"connection of start-up {line['connection']}", since * 1e3, begin + before, 1e-3)
            # A frame is drawn in a window that was mapped: by this client's requests, or another's after them.
            mine = sent[line["connection"]]
            mapped = [one["seconds"] * 1e3 for one in mine if one["name"] == "MapWindow"]
            end = begin + line["latency_ms"]
            if mapped:
                most(f"mapping before the first frame {line['connection']}", mapped[0], end + 1e-3)
            # All that was sent until the last request of the frame is of the start-up, and nothing later.
            last = end - (line["parts"]["server_ms"] or 0.0)
            until = [one for one in mine if one["seconds"] * 1e3 <= last + 1e-3]
            same(f"requests of start-up {line['connection']}", len(until), line["requests"])
            same(f"bytes of start-up {line['connection']}", sum(one["bytes"] for one in until), line["bytes"])
            parts = sum(part or 0.0 for part in line["parts"].values())
            same(f"parts of start-up {line['connection']}", parts, line["latency_ms"], 1e-6)
            most(f"bytes received at start-up {line['connection']}", line["received_bytes"], received[line["connection"]])
    return compared, found


def main():
    program, *traces = sys.argv[1:]
    all_found = []
    compared = 0
    for trace in traces:
        number, found = differences(program, trace)
        compared += number
        all_found += found
    print("\n".join(all_found + [f"{compared} figures of {len(traces)} recordings, {len(all_found)} differ"]))
    return 1 if all_found else 0


if __name__ == "__main__":
    sys.exit(main())
