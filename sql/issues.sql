-- The ranked list of issues, over the tables of docs/TABLES.md: the same as `x11prof issues`, to the digit, on
-- DuckDB and on Spark. All times are integers of nanoseconds.
--
-- An issue is all episodes over their threshold of one program, landmark, pattern and blame. Its median is one of its
-- latencies: of an even number the lower of the two in the middle.
WITH perceptible AS (
  SELECT
    e.*,
    e.latency_ns - e.threshold_ns AS over_ns,
    concat(coalesce(e.date, ''), ' ', coalesce(e.version, '')) AS seen,
    e.user AS person
  FROM episodes e
  WHERE e.latency_ns >= e.threshold_ns
),
placed AS (
  SELECT
    p.*,
    row_number() OVER (PARTITION BY program, landmark, pattern, blame ORDER BY latency_ns) AS place,
    count(*) OVER (PARTITION BY program, landmark, pattern, blame) AS number,
    row_number() OVER (
      PARTITION BY program, landmark, pattern, blame ORDER BY latency_ns DESC, trace, start_ns
    ) AS worst
  FROM perceptible p
)
SELECT
  program,
  landmark,
  pattern,
  blame,
  count(DISTINCT session) AS sessions,
  count(DISTINCT person) AS users,
  count(*) AS occurrences,
  max(CASE WHEN 2 * place IN (number, number + 1) THEN latency_ns END) AS median_ns,
  max(latency_ns) AS worst_ns,
  CAST(sum(over_ns) AS BIGINT) AS total_over_threshold_ns,
  CAST(sum(waiting_ns) AS BIGINT) AS waiting_ns,
  CAST(sum(client_ns) AS BIGINT) AS client_ns,
  CAST(sum(processor_ns + sleeping_ns + lock_ns + file_ns + poll_ns + elsewhere_ns) AS BIGINT) AS off_cpu_ns,
  CAST(sum(reply_ns + grabbed_ns + drawing_ns) AS BIGINT) AS server_ns,
  CAST(sum(network_ns) AS BIGINT) AS network_ns,
  CAST(sum(other_clients_ns) AS BIGINT) AS other_clients_ns,
  CAST(sum(round_trips) AS BIGINT) AS round_trips,
  CAST(sum(requests) AS BIGINT) AS requests,
  substr(min(seen), instr(min(seen), ' ') + 1) AS first_version,
  substr(max(seen), instr(max(seen), ' ') + 1) AS last_version,
  max(CASE WHEN worst = 1 THEN trace END) AS example_trace,
  max(CASE WHEN worst = 1 THEN start_ns END) AS example_at_ns
FROM placed
GROUP BY program, landmark, pattern, blame
ORDER BY total_over_threshold_ns DESC, coalesce(program, ''), landmark, pattern, blame
