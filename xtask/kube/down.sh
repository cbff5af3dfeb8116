#!/bin/bash
# down.sh DIR: ends what up.sh has started, by its number.
for name in apiserver etcd; do
  [ -f "$1/$name.pid" ] || continue
  pid=$(cat "$1/$name.pid")
  kill "$pid" 2>/dev/null
  for _ in $(seq 50); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
done
exit 0
