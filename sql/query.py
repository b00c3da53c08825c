# `x11prof sql` runs this if DuckDB is a Python package: arguments are the form of the result, the views, the query and the
# folder of the query's relative paths.
import csv
import json
import os
import site
import sys

try:
    import duckdb
except ImportError:
    # An isolated Python leaves out the packages that the user has installed for himself (pip install --user).
    site.addsitedir(site.getusersitepackages())
    try:
        import duckdb
    except ImportError:
        sys.exit(69)

form, views, query, folder = sys.argv[1:5]
os.chdir(folder)
connection = duckdb.connect()
try:
    connection.execute(views)
    if form == "text":
        result = connection.sql(query)
        if result is None:
            raise duckdb.Error("the query has no result")
        result.show(max_width=200, max_rows=1000)
        sys.exit(0)
    result = connection.execute(query)
    if result is None or not result.description:
        raise duckdb.Error("the query has no result")
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
