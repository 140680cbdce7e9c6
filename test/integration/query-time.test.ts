/** READ_TIMEOUT_MS: how long the engine may take for a find. */
import { join } from 'node:path';
import t from 'tap';
import type { Database } from '#engine/database.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';

/** A statement that would take minutes. */
const endless = 'SELECT toString(sum(cityHash64(number))) AS _records FROM numbers(60000000000)';
let isSlow = false;

const reads = { timeout: 300, minRate: 16_384, minRatePeriod: 200 };
const slow = await queryHarnessFor(t, {
  singleWriter: true,
  config: { readLimits: reads },
  open: async (folder) => openChdb({ path: join(folder, 'chdb'), reads }),
  wrap: (db): Database => ({
    ...db,
    // what the service itself reads has no limit of time
    rows: (statement) =>
      db.rows(isSlow && statement.account !== undefined ? { ...statement, sql: endless } : statement),
    stream: (statement) =>
      db.stream(
        isSlow && statement.account !== undefined ? { ...statement, sql: endless, settings: '' } : statement,
      ),
  }),
});

t.test('a find that takes the engine too long is a 422, and the next one is answered', async (t) => {
  const structure = structureOf('p', 'many', fieldsOf('number NUMBER'));
  const space = spaceOf(slow, 'p', 'many', structure);
  await space.insert([{ number: 1 }]);
  isSlow = true;
  const late = {
    status: 422,
    code: 'query_too_expensive',
    problems: [
      /takes the engine longer than the 300 ms that READ_TIMEOUT_MS allows: with eq or in on 'id' the/,
    ],
  };
  t.match(await space.find('number[gt]=0'), late);
  t.match(await space.find('', { sort: { by: 'number', order: 'asc' } }), late);
  t.match(await slow.call({ path: '/p/many/_count_', structure, query: 'number[gt]=0' }), late);
  isSlow = false;
  t.match((await space.find('number[gt]=0')).body, [{ number: 1 }]);
});
