import t from 'tap';
import { createCloudFiles } from '#gateway/catalogue/cloud-files.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { newFile } from '../services/new-file.ts';

const signal = new AbortController().signal;

t.test('cloud files', async (t) => {
  const { db } = await openMigratedChdb(t);
  let queries = 0;
  const counted = {
    ...db,
    rows: <Row>(...args: Parameters<typeof db.rows>) => {
      queries++;
      return db.rows<Row>(...args);
    },
  };

  await t.test('every field comes back as it was, also in another process', async (t) => {
    for (const file of [
      newFile(),
      newFile({ size: 0, crc32: 0 }),
      newFile({ size: Number.MAX_SAFE_INTEGER, crc32: 0xffffffff }),
      newFile({ size: 2 ** 32 + 1 }),
      newFile({ originalName: `'"\\ \`; DROP TABLE x -- \u{1F600} é % {a:String}` }),
      newFile({ createdAt: new Date('2038-12-31T23:59:59.999Z') }),
    ]) {
      await createCloudFiles({ db, database: 'sluice' }).insert(file, signal);
      t.strictSame(await createCloudFiles({ db, database: 'sluice' }).findByName(file.name, signal), file);
    }
  });

  await t.test('what is not there is null, and not asked for again for a second', async (t) => {
    const files = createCloudFiles({ db: counted, database: 'sluice' });
    const file = newFile();
    t.equal(await files.findByName(file.name, signal), null);
    t.equal(await files.findByName(`' OR '1'='1`, signal), null);
    queries = 0;
    for (let i = 0; i < 10; i++) await files.findByName(file.name, signal);
    t.equal(queries, 0);
    await createCloudFiles({ db, database: 'sluice' }).insert(file, signal);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    t.match(await files.findByName(file.name, signal), { id: file.id });
    const own = newFile();
    t.equal(await files.findByName(own.name, signal), null);
    await files.insert(own, signal);
    t.match(await files.findByName(own.name, signal), { id: own.id });
  });

  await t.test('names that are asked for at once share a statement', async (t) => {
    const stored = Array.from({ length: 20 }, () => newFile());
    const other = createCloudFiles({ db, database: 'sluice' });
    await Promise.all(stored.map((file) => other.insert(file, signal)));
    const files = createCloudFiles({ db: counted, database: 'sluice' });
    queries = 0;
    const made = Array.from({ length: 300 }, () => newFile());
    const found = await Promise.all([...stored, ...made].map(({ name }) => files.findByName(name, signal)));
    t.strictSame(found, [...stored, ...made.map(() => null)]);
    t.ok(queries <= 2, `${queries} statements`);
  });

  await t.test('a file that is known is not asked for again', async (t) => {
    const file = newFile();
    await createCloudFiles({ db, database: 'sluice' }).insert(file, signal);
    const files = createCloudFiles({ db: counted, database: 'sluice' });
    queries = 0;
    await files.findByName(file.name, signal);
    await files.findByName(file.name, signal);
    t.equal(queries, 1);
    const own = newFile();
    await files.insert(own, signal);
    t.match(await files.findByName(own.name, signal), { id: own.id });
    t.equal(queries, 1, 'a file that this process stored is known');
  });
});
