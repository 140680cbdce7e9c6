import t from 'tap';
import type { Database } from '#engine/database.ts';
import { MemoryTables } from '#records/memory/memory-tables.ts';
import { RecordsTable } from '#records/sql/records-table.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import { KnownRecords } from '#records/store-embedded/known-records.ts';
import { PendingRecords } from '#records/store-embedded/pending-records.ts';
import { heldWrites } from '../services/file-handles.ts';
import { silentLog } from '../services/silent-log.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

t.test('a write is not seen before it is durable', async (t) => {
  const directory = await temporaryFolder(t);
  // nothing is read from the table, and what it takes does not matter
  const db = { replicated: false, servers: 1, insert: async () => {} } as unknown as Database;
  const known = new KnownRecords(new MemoryTables(1e6));
  const pending = await PendingRecords.open({
    db,
    table: new RecordsTable(db, 'sluice'),
    known,
    directory,
    log: silentLog(),
    times: { flushAfter: 3_600_000, retryAfter: 3_600_000 },
  });
  const [spaceId, id, time] = ['space', 'record', '2026-01-01T00:00:00.000Z'];
  const row: StoredRow = { _id: id, _created_at: time, _updated_at: time, _doc: { t0: 'x' } };
  const write = { spaceId, id, row, hashes: {}, changed: null, unique: [] };
  let seen = false;
  const finish = await heldWrites(t);
  const written = pending.write([{ write, before: null }], {
    account: 'account',
    signal: new AbortController().signal,
    seen: () => {
      seen = true;
    },
  });
  // far longer than it takes to come to the write, which is held
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  t.equal(known.find(spaceId, { id }), null);
  t.notOk(seen);
  finish();
  await written;
  t.strictSame(known.find(spaceId, { id })?.rows, [row]);
  t.ok(seen);
});
