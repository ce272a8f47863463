"""What gunicorn serves: pages made from a query each."""

import os
from collections.abc import Callable, Iterable

import psycopg2

_QUERIES = {
    "/page": "select balance from accounts where id = 7",
    "/report": "select sum(a.balance + b.balance + n) from accounts a, accounts b, generate_series(1, 3000) n",
}
_base = psycopg2.connect(host=os.environ["BASE"], dbname="postgres", user="postgres")
_base.autocommit = True


def application(asked: dict[str, str], start: Callable[..., object]) -> Iterable[bytes]:
    with _base.cursor() as cursor:
        cursor.execute(_QUERIES[asked["PATH_INFO"]])
        (answer,) = cursor.fetchone()
    start("200 OK", [("Content-Type", "text/plain")])
    return [str(answer).encode()]
