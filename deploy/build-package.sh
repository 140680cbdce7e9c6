#!/usr/bin/env bash
# Builds what `npm pack` puts into the package: compiled JavaScript in dist/, the mixes of load tests, and the web app and the client if they are built.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
npx --no-install tsc -p tsconfig.build.json
node deploy/image/compiled-imports.mjs
# types of what the package exports
npx --no-install tsc -p load/tsconfig.json
chmod +x dist/cli/sluice.js
# what load/ reads, and editors
cp -R load/mixes dist/load/mixes
cp load/mix/mix.schema.json dist/load/mix
npm run --if-present build:console
if [ -d console/web/dist ]; then
  mkdir -p dist/console/web
  cp -R console/web/dist dist/console/web/dist
fi
if [ -d client/dist ]; then
  mkdir -p dist/client/dist
  cp client/dist/sluice-client.js client/dist/sluice-client.js.map dist/client/dist
fi
