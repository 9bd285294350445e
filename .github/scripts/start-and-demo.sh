#!/usr/bin/env bash
# The README's first commands: npm start, and npm run demo in a second terminal.
set -euo pipefail

url=http://localhost:7071
npm start > start.log 2>&1 &
service=$!
trap 'kill "$service" 2> /dev/null || true; cat start.log' EXIT

for ((second = 0; second < 180; second++)); do
  if curl --silent --fail --output /dev/null "$url/api/health"; then
    npm run demo
    exit
  fi
  if ! kill -0 "$service" 2> /dev/null; then break; fi
  sleep 1
done
echo "npm start did not get ready."
exit 1
