/** READ_TIMEOUT_MS: how long the engine may take for a find. */
import { join } from 'node:path';
import t from 'tap';
import { openChdb } from '../../common/clickhouse/chdb-database.ts';
import type { Database } from '../../common/clickhouse/database.ts';
import { openQueryHarness, spaceOf } from '../services/query-harness.ts';
import { structureOf } from '../services/record-client.ts';

/** A statement that would take minutes. */
const endless = 'SELECT toString(sum(cityHash64(number))) FROM numbers(60000000000)';
let isSlow = false;

const slow = await openQueryHarness({
  alone: true,
  open: async (folder) =>
    openChdb({ path: join(folder, 'chdb'), reads: { timeout: 300, minRate: 16_384, minRatePeriod: 200 } }),
  wrap: (db): Database => ({
    ...db,
    stream: (statement) => db.stream(isSlow ? { ...statement, sql: endless, settings: '' } : statement),
  }),
});
t.teardown(() => slow.close());

t.test('a find that takes the engine too long is a 503, and the next one is answered', async (t) => {
  const structure = structureOf('p', 'many', [{ name: 'number', type: 'NUMBER' }]);
  const space = spaceOf(slow, 'p', 'many', structure);
  await space.insert([{ number: 1 }]);
  isSlow = true;
  const late = { status: 503, code: 'deadline_exceeded' };
  t.match(await space.find('number[gt]=0'), late);
  t.match(await space.find('', { sort: { by: 'number', order: 'asc' } }), late);
  isSlow = false;
  t.match((await space.find('number[gt]=0')).body, [{ number: 1 }]);
});
