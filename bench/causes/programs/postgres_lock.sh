#!/bin/bash
# PostgreSQL: a client updates rows; stalled: another one keeps a row locked, idle in its transaction.
#     postgres_lock.sh prepare|normal|stalled FOLDER
set -e
mode=$1
folder=$2
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
if [ "$mode" = prepare ]; then
    mkdir -p "$folder"
    chown postgres "$folder"
    as "$bin/initdb" -D "$folder/data" -A trust -N >/dev/null
fi
sockets=$(mktemp -d /tmp/whyperf-postgres-XXXXXX)
chown postgres "$sockets"
as "$bin/postgres" -D "$folder/data" -k "$sockets" -c listen_addresses= -c fsync=off >"$folder/log" 2>&1 &
until [ -S "$sockets/.s.PGSQL.5432" ] && as psql -h "$sockets" -c 'select 1' postgres >/dev/null 2>&1; do
    sleep 0.2
done
if [ "$mode" = prepare ]; then
    as psql -q -h "$sockets" postgres -c 'create table accounts (id int primary key, balance int);
        insert into accounts select i, 0 from generate_series(1, 100) i'
else
    {
        echo 'begin; update accounts set balance = balance + 1 where id = 20;'
        sleep 0.5
        [ "$mode" = stalled ] && sleep 3
        echo 'commit;'
    } | as psql -q -h "$sockets" postgres >/dev/null &
    holder=$!
    if [ "$mode" = normal ]; then wait $holder; else sleep 1; fi
    for i in $(seq 1 60); do
        echo "update accounts set balance = balance + 1 where id = $((i % 40 + 1));"
    done | as psql -q -h "$sockets" postgres >/dev/null
    wait $holder || true
fi
kill -INT "$(head -1 "$folder/data/postmaster.pid")"
while [ -e "$folder/data/postmaster.pid" ]; do sleep 0.1; done
rm -rf "$sockets"
