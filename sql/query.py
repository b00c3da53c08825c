# What `x11prof sql` runs where DuckDB is Python's package: the form of the result, the views, the query.
import csv
import json
import sys

import duckdb

form, views, query = sys.argv[1:4]
connection = duckdb.connect()
try:
    connection.execute(views)
    if form == "text":
        connection.sql(query).show(max_width=200, max_rows=1000)
        sys.exit(0)
    result = connection.execute(query)
    names = [column[0] for column in result.description]
    rows = result.fetchall()
except duckdb.Error as error:
    sys.exit(f"x11prof: {error}")
if form == "csv":
    out = csv.writer(sys.stdout)
    out.writerow(names)
    out.writerows(rows)
else:
    json.dump([dict(zip(names, row)) for row in rows], sys.stdout, default=str)
    print()
