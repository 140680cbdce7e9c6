#!/usr/bin/env bash
# autocannon 9.0.0 (npm), with --overallRate: its correction for coordinated omission.
#
# Expected: where ten requests a second are sent and one waits for a second, the ten that it kept from being sent count as
# waits of 1 s, 0.9 s, 0.8 s ...: some 160 latencies, with a median of a millisecond.
# Seen: the interval between the values that are filled in is ceil(1 / rate), in the unit of the latencies: a millisecond
# for every rate from one a second on. A thousand values are filled in for 150 requests, and the median is 0.4 s. With
# --ignoreCoordinatedOmission it is below a millisecond, of 150.
#
# Output seen:
#   corrected: about 150 requests, more than 1000 latencies, a median above 300 ms
#   ignored: about 150 requests, about 150 latencies, a median below 50 ms
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund autocannon@9.0.0 >/dev/null
cat >wait.mjs <<'JS'
import { createServer } from 'node:http';
import autocannon from 'autocannon';

let count = 0;
const server = createServer((_, response) => {
  if (++count === 50) setTimeout(() => response.end('x'), 1000);
  else response.end('x');
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const url = `http://127.0.0.1:${server.address().port}`;
const about = (number) => (Math.abs(number - 150) <= 15 ? 'about 150' : number > 1000 ? 'more than 1000' : `${number}`);
for (const ignoreCoordinatedOmission of [false, true]) {
  count = 0;
  const options = { url, connections: 1, overallRate: 10, duration: 15, ignoreCoordinatedOmission };
  const { requests, latency } = await autocannon(options);
  const { p50 } = latency;
  const median = p50 > 300 ? 'above 300' : p50 < 50 ? 'below 50' : `of ${p50}`;
  console.log(
    `${ignoreCoordinatedOmission ? 'ignored' : 'corrected'}: ${about(requests.total)} requests, ` +
      `${about(latency.totalCount)} latencies, a median ${median} ms`,
  );
}
process.exit();
JS
node wait.mjs | tee output
diff output - <<'TEXT'
corrected: about 150 requests, more than 1000 latencies, a median above 300 ms
ignored: about 150 requests, about 150 latencies, a median below 50 ms
TEXT
