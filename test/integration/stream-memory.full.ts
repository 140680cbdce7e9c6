import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { migrate } from '#catalogue/migrate.ts';
import { migrations } from '#catalogue/migrations.ts';
import { openChdb } from '#engine/open-chdb.ts';
import { scriptArgs } from '../services/built.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const parts = 10;
const recordsOfPart = 30;
const mebibyte = 1024 ** 2;

t.test('records of a megabyte stream without many of them being held at once', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'chdb');
  const db = openChdb({ path });
  await migrate(db, 'sluice', migrations);
  await db.command({ sql: 'SYSTEM STOP MERGES' });
  for (let part = 0; part < parts; part++) {
    await db.command({
      sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, t0)
        SELECT '00000000-0000-4000-8000-000000000001', leftPad(toString(number), 12, '0'), now64(3), now64(3),
          randomPrintableASCII(1000000) FROM numbers(${part * recordsOfPart}, ${recordsOfPart})`,
    });
  }
  await db.close();
  // another process, which the writing has not made grow
  const args = [...scriptArgs('test/services/stream-growth.ts'), path];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const growth = Math.round(Number(stdout) / mebibyte);
  t.ok(growth > 0 && growth < 320, `grew by ${growth} MiB`);
});
