#!/bin/bash
# PostgreSQL: a client updates rows; stalled: another one keeps a row locked, idle in its transaction.
set -e
mode=$1
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
folder=$(mktemp -d /tmp/whyperf-postgres-XXXXXX)
chown postgres "$folder"
as() { setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; }
as "$bin/initdb" -D "$folder/data" -A trust -N >/dev/null
as "$bin/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c logging_collector=off \
    >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 100); do
    as psql -h "$folder" -c 'select 1' postgres >/dev/null 2>&1 && break
    sleep 0.1
done
as psql -q -h "$folder" postgres -c 'create table accounts (id int primary key, balance int);
    insert into accounts select i, 0 from generate_series(1, 100) i'
{
    echo 'begin; update accounts set balance = balance + 1 where id = 20;'
    [ "$mode" = stalled ] && sleep 2.5
    echo 'commit;'
} | as psql -q -h "$folder" postgres >/dev/null &
holder=$!
sleep 0.3
for i in $(seq 1 60); do
    echo "update accounts set balance = balance + 1 where id = $((i % 40 + 1));"
done | as psql -q -h "$folder" postgres >/dev/null
wait $holder
kill -INT "$(head -1 "$folder/data/postmaster.pid")"
wait $server || true
rm -rf "$folder"
