import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { StreamBody } from '../../common/http/http-types.ts';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

const harness = await openQueryHarness();
t.teardown(() => harness.close());

const structure = structureOf('s', 'large', [{ name: 'text', type: 'TEXT' }]);
const parts = 10;
const recordsOfPart = 30;
const mebibyte = 1024 ** 2;

t.test('records of a megabyte stream without many of them being held at once', async (t) => {
  await spaceOf(harness, 's', 'large', structure).insertOne({ text: 'first' });
  // made by the engine, so that this process has not grown before its growth is measured
  for (let part = 0; part < parts; part++) {
    await harness.db.command({
      sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0, _doc)
        SELECT (SELECT toUUID(toString(id)) FROM sluice.record_spaces FINAL WHERE slug = 'large'),
          concat('1', leftPad(toString(number), 12, '0')), now64(3), now64(3),
          randomPrintableASCII(1000000) AS text, map('t0', text)
        FROM numbers(${part * recordsOfPart}, ${recordsOfPart})`,
    });
  }
  const { body } = await harness.respond({ path: '/s/large', structure });
  const before = process.memoryUsage.rss();
  let peak = before;
  let bytes = 0;
  for await (const chunk of (body as StreamBody).chunks) {
    bytes += chunk.byteLength;
    peak = Math.max(peak, process.memoryUsage.rss());
    // so that what is dropped can be collected
    if (bytes % (64 * 1024) < chunk.byteLength) await sleep(1);
  }
  t.ok(bytes > parts * recordsOfPart * 1e6, `${bytes} bytes`);
  t.ok(peak - before < 160 * mebibyte, `grew by ${Math.round((peak - before) / mebibyte)} MiB`);
});
