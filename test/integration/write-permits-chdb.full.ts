import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openChdb } from '#engine/open-chdb.ts';
import { writePermitsSuite } from './write-permits.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-permits-'));
const db = openChdb({ path: join(folder, 'chdb') });
t.teardown(async () => {
  await db.close();
  await rm(folder, { recursive: true, force: true });
});

await writePermitsSuite(t, db);
