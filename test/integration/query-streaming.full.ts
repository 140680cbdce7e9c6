import t from 'tap';
import { textLiteral } from '#engine/literal.ts';
import type { StreamBody } from '#server/http/http-types.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf, structureOf } from '../services/record-client.ts';
import { storedSpace } from '../services/stored-space.ts';

const harness = await queryHarnessFor(t);

const rows = 200_000;
const structure = structureOf('s', 'big', fieldsOf('name TEXT, age NUMBER, tags ARRAY'));
const big = spaceOf(harness, 's', 'big', structure);
const tags = Array.from({ length: 80 }, (_, i) => `tag number ${i}`);

t.test('records are inserted in arrays', async (t) => {
  const structure = structureOf('s', 'arrays', fieldsOf('age NUMBER'));
  const arrays = spaceOf(harness, 's', 'arrays', structure);
  const stored = await arrays.insert(Array.from({ length: 30_000 }, (_, age) => ({ age })));
  t.equal(stored.status, 200);
  const { body } = await arrays.find();
  t.equal(body.length, 30_000);
  t.strictSame(body, stored.body);
});

t.test('200,000 records are there', async (t) => {
  t.equal((await big.make()).status, 200);
  const space = await storedSpace(harness.db, { project: 's', slug: 'big' });
  const [name, age, list] = ['name', 'age', 'tags'].map(space.column);
  // made by the engine, so that this process has not grown before its growth is measured
  await harness.db.command({
    sql: `INSERT INTO sluice.records (space, _id, _created_at, _updated_at, ${name}, ${age}, ${list}, _doc)
     SELECT '${space.id}', leftPad(toString(number), 12, '0'), now64(3), now64(3),
       concat('name "', toString(number)) AS name, number, ${textLiteral(JSON.stringify(tags))} AS tags,
       map('${name}', name, '${age}', toString(number), '${list}', tags) FROM numbers(${rows})`,
  });
  t.equal((await big.find([['age', '199999']])).body.length, 1);
});

t.test('they stream whole, and without being held in memory', async (t) => {
  const { body } = await harness.respond({ path: '/s/big', structure });
  const { chunks } = body as StreamBody;
  const before = process.memoryUsage.rss();
  let peak = 0;
  let bytes = 0;
  let lines = 0;
  let begin = '';
  let end = '';
  // bytes are looked at where they are: texts of them would be memory of the test's own
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (bytes === 0) begin = buffer.toString('utf8', 0, 30);
    end = buffer.toString('utf8', Math.max(0, buffer.length - 5));
    for (let at = buffer.indexOf(10); at !== -1; at = buffer.indexOf(10, at + 1)) lines++;
    bytes += buffer.length;
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  t.equal(begin, '[{"id":"000000000000","name":"');
  t.equal(end, ']');
  t.equal(lines, rows);
  t.ok(bytes > 250_000_000, `${bytes} bytes`);
  const growth = peak - before;
  t.ok(
    growth < 128 * 1024 * 1024,
    `${Math.round(growth / 1024 ** 2)} MiB grown for ${Math.round(bytes / 1024 ** 2)} MiB`,
  );
});

t.test('the whole answer is one JSON array, sorted and paged too', async (t) => {
  const page = await big.find('', {
    sort: { by: 'age', order: 'desc' },
    pagination: { limit: 70_000, page: 2 },
  });
  t.equal(page.body.length, 70_000);
  t.equal(page.body[0].age, rows - 70_000 - 1);
  t.equal(page.body.at(-1).age, rows - 140_000);
  t.strictSame(page.body[0].tags, tags);
});

t.test('a reader that stops early gives its place back', async (t) => {
  for (let i = 0; i < 40; i++) {
    const { body } = await harness.respond({ path: '/s/big', structure });
    for await (const chunk of (body as StreamBody).chunks) {
      t.ok(chunk.byteLength > 0);
      break;
    }
  }
  t.equal((await big.find([['age', '5']])).body.length, 1);
});

t.test('readers that are aborted give their place back', async (t) => {
  for (let i = 0; i < 40; i++) {
    const gone = new AbortController();
    const response = await harness.respond({ path: '/s/big', structure, signal: gone.signal });
    const reading = (async () => {
      for await (const chunk of (response.body as StreamBody).chunks) {
        t.ok(chunk.byteLength > 0);
        gone.abort(new Error('client gone'));
      }
    })();
    await t.rejects(reading, { message: 'client gone' });
  }
  t.equal((await big.find([['age', '5']])).body.length, 1);
});
