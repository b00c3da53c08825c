"""Holds the list of issues of x11prof against those of DuckDB and Spark, for the sessions of a folder and for ten
thousand made of them; prints time and memory.

    python check.py X11PROF ISSUES.SQL SESSIONS PLACE
"""

import hashlib
import json
import multiprocessing
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as parquet
from pyarrow import Table

x11prof, query_file, sessions, place = sys.argv[1:5]
query = Path(query_file).read_text()
place = Path(place)
SIZES = [2500, 5000, 10000]
LIMIT_S, LIMIT_MB = 60, 500
PARTS = ["waiting_ns", "client_ns", "processor_ns", "sleeping_ns", "lock_ns", "file_ns", "poll_ns", "elsewhere_ns",
         "reply_ns", "grabbed_ns", "drawing_ns", "server_processor_ns", "network_ns",
         "other_clients_ns"]


# Runs a program and prints its seconds, its seconds on a processor and its megabytes. A process of its own: what this one holds would count as the
# program's until it is executed.
MEASURE = """
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.call(sys.argv[1:])
took = time.monotonic() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
sys.exit(status)
"""


def issues(folder):
    """x11prof's list, with seconds, seconds on a processor and megabytes."""
    file = place / "issues.json"
    command = [x11prof, "issues", str(folder), "--format", "json", "-o", str(file)]
    measured = subprocess.run([sys.executable, "-c", MEASURE] + command, check=True, capture_output=True, text=True)
    return json.loads(file.read_text()), *map(float, measured.stdout.split())


def nanoseconds(ms):
    return round(ms * 1e6)


def ours(report):
    """The rows of issues.sql, out of the JSON."""
    rows = []
    for of in report["issues"]:
        parts = of["parts"]
        rows.append((of["program"], of["landmark"], of["blame"], of["pattern"], of["pattern_count"], of["sessions"],
                     of["users"], of["occurrences"], nanoseconds(of["p50_ms"]), nanoseconds(of["max_ms"]),
                     nanoseconds(of["total_over_threshold_ms"]), nanoseconds(parts["waiting_ms"]),
                     nanoseconds(parts["client_ms"]), nanoseconds(parts["off_cpu_ms"]),
                     nanoseconds(parts["server_ms"]), nanoseconds(parts["network_ms"]),
                     nanoseconds(parts["other_clients_ms"]), of["round_trips"],
                     of["requests"], of["first_version"] or "", of["last_version"] or "", of["example"]["trace"],
                     round(of["example"]["at_s"] * 1e9)))
    return rows


def by_duckdb(folder):
    connection = duckdb.connect()
    connection.execute("CREATE VIEW episodes AS SELECT * FROM read_parquet("
                       f"'{folder}/episodes/**/*.parquet', hive_partitioning = true, hive_types_autocast = false)")
    return [tuple(row) for row in connection.execute(query).fetchall()]


def by_spark(folder):
    from pyspark.sql import SparkSession

    spark = (SparkSession.builder.master("local[2]").appName("issues")
             .config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
             .config("spark.driver.memory", "2g")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
             .config("spark.sql.shuffle.partitions", "8")
             # Versions stay text: 1.10 is not 1.1.
             .config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    spark.read.parquet(f"{folder}/episodes").createOrReplaceTempView("episodes")
    return [tuple(row) for row in spark.sql(query).collect()]


def compare(name, expected, found):
    if expected != found:
        for number, (one, other) in enumerate(zip(expected, found)):
            if one != other:
                sys.exit(f"{name} differs in row {number + 1}:\n  {one}\n  {other}")
        sys.exit(f"{name} has {len(found)} rows, x11prof {len(expected)}")
    print(f"  {name}: the same {len(found)} issues, to the nanosecond")


def read_all(source):
    """The tables of each session, with its place."""
    source = Path(source)
    loaded = []
    for file in sorted((source / "sessions").rglob("*.parquet")):
        within = file.relative_to(source / "sessions")
        loaded.append((within, {table: parquet.read_table(source / table / within, partitioning=None).to_pydict()
                                for table in SCHEMAS if (source / table / within).exists()}))
    return loaded


def copy_of(number):
    """A copy of a session for another user and day, slower or faster by up to a quarter."""
    within, of = LOADED[number % len(LOADED)]
    copy = number // len(LOADED)
    new_id = hashlib.sha256(f"{within.stem} {copy}".encode()).hexdigest()[:16]
    percent = 75 + (number * 37) % 51
    version = within.parts[0]
    partition = Path(version) / f"user=user{(number * 7919) % 400}" / f"date=2026-10-{copy % 28 + 1:02d}"
    for table, rows in of.items():
        columns = dict(rows)
        columns["session"] = [new_id] * len(columns["session"])
        if "trace" in columns:
            columns["trace"] = [f"{copy}/{name}" for name in columns["trace"]]
        if table == "episodes":
            for part in PARTS:
                columns[part] = [value * percent // 100 for value in columns[part]]
            columns["latency_ns"] = [sum(parts) for parts in zip(*(columns[part] for part in PARTS))]
            columns["start_ns"] = [value + copy * 1000003 for value in columns["start_ns"]]
        file = MANY / table / partition / f"{new_id}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        parquet.write_table(Table.from_pydict(columns, schema=SCHEMAS[table]), file, compression=COMPRESSIONS[table])


tables = place / "tables"
shutil.rmtree(tables, ignore_errors=True)
subprocess.run([x11prof, "export", sessions, "--to", "parquet", "-o", str(tables)], check=True)
from_traces, took, used, peak = issues(sessions)
print(f"{from_traces['sessions']} recordings: {took:.1f} s, {used:.1f} s of a processor, {peak:.0f} MB")
from_tables, took, used, peak = issues(tables)
print(f"their tables: {took:.2f} s, {used:.2f} s of a processor, {peak:.0f} MB")
for report in (from_traces, from_tables):
    report.pop("skipped")
if from_traces != from_tables:
    sys.exit("the tables give another list than the recordings")
expected = ours(from_tables)
compare("DuckDB", expected, by_duckdb(tables))
compare("Spark", expected, by_spark(tables))
MANY = place / "many"
shutil.rmtree(MANY, ignore_errors=True)
SCHEMAS = {table: parquet.read_schema(next((tables / table).rglob("*.parquet")))
           for table in ["sessions", "episodes", "latencies"]}
# As x11prof writes them.
COMPRESSIONS = {table: parquet.read_metadata(next((tables / table).rglob("*.parquet"))).row_group(0).column(0).compression
                for table in SCHEMAS}
LOADED = read_all(tables)
figures = []
done = 0
for size in SIZES:
    with multiprocessing.get_context("fork").Pool() as pool:
        pool.map(copy_of, range(done, size), chunksize=50)
    done = size
    report, took, used, peak = issues(MANY)
    if report["sessions"] != size:
        sys.exit(f"{report['sessions']} sessions of {size}")
    print(f"{size} sessions, {report['episodes']} episodes: {took:.1f} s, {used:.1f} s of a processor, {peak:.0f} MB")
    figures.append((size, used, peak))
expected = ours(report)
compare("DuckDB", expected, by_duckdb(MANY))
compare("Spark", expected, by_spark(MANY))
(first, first_used, _), (last, used, peak) = figures[0], figures[-1]
print(f"growth: {last / first:.0f} times the sessions, {used / first_used:.1f} times the processor's time")
# Processors that others use as well do not count.
if used > LIMIT_S or peak > LIMIT_MB:
    sys.exit(f"over {LIMIT_S} s or {LIMIT_MB} MB")
