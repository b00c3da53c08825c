-- The ranked list of issues, over the tables of docs/REFERENCE.md: the same as `x11prof issues`, to the digit, on
-- DuckDB and on Spark. All times are integers of nanoseconds.
--
-- An issue is all episodes over their threshold of one program, landmark and blame, but for those that another
-- client's episode led to: their time is in that one's latency. Its median is one of its latencies: of an even number
-- the lower of the two in the middle. Its pattern is the one with the most time over the threshold.
WITH perceptible AS (
  SELECT
    e.*,
    e.latency_ns - e.threshold_ns AS over_ns,
    concat(coalesce(e.date, ''), ' ', coalesce(e.version, '')) AS seen,
    e.user AS person
  FROM episodes e
  WHERE e.latency_ns >= e.threshold_ns AND e.caused_by IS NULL
),
placed AS (
  SELECT
    p.*,
    row_number() OVER (PARTITION BY program, landmark, blame ORDER BY latency_ns) AS place,
    count(*) OVER (PARTITION BY program, landmark, blame) AS number,
    row_number() OVER (PARTITION BY program, landmark, blame ORDER BY latency_ns DESC, trace, start_ns) AS worst,
    sum(over_ns) OVER (PARTITION BY program, landmark, blame, pattern) AS of_pattern
  FROM perceptible p
),
named AS (
  SELECT
    p.*,
    row_number() OVER (PARTITION BY program, landmark, blame ORDER BY of_pattern DESC, pattern) AS pattern_place
  FROM placed p
)
SELECT
  program,
  landmark,
  blame,
  max(CASE WHEN pattern_place = 1 THEN pattern END) AS pattern,
  count(DISTINCT pattern) AS patterns,
  count(DISTINCT session) AS sessions,
  count(DISTINCT person) AS users,
  count(*) AS occurrences,
  max(CASE WHEN 2 * place IN (number, number + 1) THEN latency_ns END) AS median_ns,
  max(latency_ns) AS worst_ns,
  CAST(sum(over_ns) AS BIGINT) AS total_over_threshold_ns,
  CAST(sum(waiting_ns) AS BIGINT) AS waiting_ns,
  CAST(sum(client_ns) AS BIGINT) AS client_ns,
  CAST(sum(processor_ns + sleeping_ns + lock_ns + file_ns + poll_ns + elsewhere_ns) AS BIGINT) AS off_cpu_ns,
  CAST(sum(reply_ns + grabbed_ns + drawing_ns + coalesce(server_processor_ns, 0)) AS BIGINT) AS server_ns,
  CAST(sum(network_ns) AS BIGINT) AS network_ns,
  CAST(sum(other_clients_ns + coalesce(awaited_ns, 0)) AS BIGINT) AS other_clients_ns,
  CAST(sum(round_trips) AS BIGINT) AS round_trips,
  CAST(sum(requests) AS BIGINT) AS requests,
  substr(min(seen), instr(min(seen), ' ') + 1) AS first_version,
  substr(max(seen), instr(max(seen), ' ') + 1) AS last_version,
  max(CASE WHEN worst = 1 THEN trace END) AS example_trace,
  max(CASE WHEN worst = 1 THEN start_ns END) AS example_at_ns
FROM named
GROUP BY program, landmark, blame
ORDER BY total_over_threshold_ns DESC, coalesce(program, ''), landmark, blame
