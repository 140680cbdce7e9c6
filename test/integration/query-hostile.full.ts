/** Hostile values in records of every type: each round-trips exactly or is a clear 400, and touches nothing else. */
import t, { type Test } from 'tap';
import { openCanary } from '../services/canary.ts';
import { brokenTexts, hostileTexts, oddJson } from '../services/hostile-texts.ts';
import { type QueryAnswer, queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, fieldsOf } from '../services/record-client.ts';

const harness = await queryHarnessFor(t, { config: { maxRecordBytes: 32 * 1024 ** 2 } });

const fields: FieldInput[] = fieldsOf(
  'text TEXT, key TEXT unique, number NUMBER, flag BOOLEAN, list ARRAY, map OBJECT',
);
const space = (slug: string, own: readonly FieldInput[] = fields) => spaceOf(harness, 'hostile', slug, own);

const canary = await openCanary(harness, 'hostile', 'values');
const before = await canary.look();

/** A refusal that a client can act on. */
function refused(t: Test, answer: QueryAnswer, name: string): void {
  t.ok(answer.status >= 400 && answer.status < 500, `${name}: ${answer.status}`);
  t.ok(answer.code !== null && answer.problems.length > 0 && answer.problems[0] !== '', `${name}: says why`);
}

const recordOf = (text: string) => ({ text, key: text, list: [text, [text]], map: { [text]: text } });

t.test('texts come back as they were sent, and are found by every condition', async (t) => {
  const values = space('values');
  const { status, body, problems } = await values.insert(hostileTexts.map(recordOf));
  t.equal(status, 200, problems.join());
  t.strictSame((await values.find()).body, body);
  for (const [index, text] of hostileTexts.entries()) {
    const wanted = [body[index]];
    const name = `text ${index}`;
    t.match(body[index], recordOf(text), name);
    t.strictSame((await values.find([['text', text]])).body, wanted, `${name} by TEXT`);
    t.strictSame((await values.find([['key', text]])).body, wanted, `${name} by a unique field`);
    t.strictSame(
      (await values.find([['list', JSON.stringify([text, [text]])]])).body,
      wanted,
      `${name} by ARRAY`,
    );
    t.strictSame(
      (await values.find([['map', JSON.stringify({ [text]: text })]])).body,
      wanted,
      `${name} by OBJECT`,
    );
    const query = new URLSearchParams({ text, key: text }).toString();
    t.strictSame((await values.findOne(query)).body, body[index], `${name} from a query string`);
  }
  const both = await values.find(
    hostileTexts.slice(0, 50).map((text) => ['text', text] as const),
    { paramRelationship: 'Or' },
  );
  t.strictSame(both.body, body.slice(0, 50), 'any of fifty');
});

t.test('texts sort by their bytes', async (t) => {
  const values = space('values');
  const order = [...hostileTexts].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const up = await values.find('', { sort: { by: 'text', order: 'asc' } });
  const texts = up.body.map(({ text }: { text: string }) => text);
  t.strictSame(texts, order);
  const down = await values.find('', { sort: { by: 'key', order: 'desc' } });
  t.strictSame(
    down.body.map(({ key }: { key: string }) => key),
    order.reverse(),
  );
});

t.test('a search takes every text literally', async (t) => {
  const values = space('values');
  for (const [index, text] of hostileTexts.entries()) {
    const literal = new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu');
    const expected = hostileTexts.filter((other) => literal.test(other));
    const { body } = await values.search(text, ['text', 'key']);
    t.strictSame(
      body.map((record: { text: string }) => record.text),
      expected,
      `text ${index}`,
    );
  }
});

t.test('a record takes every text by update and by key group, and can be deleted by it', async (t) => {
  const values = space('updated');
  const group = space('group');
  const { body: other } = await values.insertOne({ text: 'other', key: 'other' });
  const { body: first } = await values.insertOne(recordOf('first'));
  let current = 'first';
  for (const [index, text] of hostileTexts.entries()) {
    const name = `text ${index}`;
    const byId = await values.updateOneById(first.id, recordOf(text));
    t.equal(byId.status, 200, `${name}: ${byId.problems.join()}`);
    t.match(byId.body, { id: first.id, ...recordOf(text) }, `${name} by id`);
    const back = await values.updateOne([['key', text]], { number: index });
    t.match(back.body, { id: first.id, number: index, ...recordOf(text) }, `${name} by condition`);
    t.equal(
      (await values.updateOne([['key', current]], { number: -1 })).code,
      'no_match',
      `${name}: the last one is gone`,
    );
    t.equal((await values.insertOne({ key: text })).code, 'not_unique', name);
    t.match((await group.setKeys({ text, map: { [text]: text } })).body, { text, map: { [text]: text } });
    current = text;
  }
  t.equal((await group.find()).body.length, 1);
  t.strictSame((await values.find([['id', other.id]])).body, [other], 'the other record was left alone');
  t.match((await values.deleteOneById(first.id)).body, { text: current });
  t.strictSame((await values.find()).body, [other]);
});

t.test('ids that no record has match none', async (t) => {
  const values = space('ids');
  const { body } = await values.insert([{ text: 'a' }, { text: 'b' }]);
  for (const text of [...hostileTexts, `${body[0].id}' OR _id != '`, body[0].id.toUpperCase(), '']) {
    t.equal((await values.updateOneById(text, { text: 'changed' })).code, 'no_match');
    t.equal((await values.deleteOneById(text)).code, 'no_match');
    t.strictSame((await values.find([['id', text]])).body, []);
    t.equal((await values.updateOne([['id', text]], { text: 'changed' })).code, 'no_match');
  }
  for (const text of brokenTexts) {
    refused(t, await values.updateOneById(text, { text: 'changed' }), 'half a surrogate pair');
    refused(t, await values.deleteOneById(text), 'half a surrogate pair');
    refused(t, await values.find([['id', text]]), 'half a surrogate pair');
  }
  t.strictSame((await values.find()).body, body);
});

t.test('half a surrogate pair is no text, and is kept in ARRAY and OBJECT', async (t) => {
  const values = space('broken');
  for (const text of brokenTexts) {
    refused(t, await values.insertOne({ text }), 'TEXT');
    refused(t, await values.insert([{ text: 'fine' }, { key: text }]), 'TEXT');
    refused(t, await values.find([['text', text]]), 'condition');
    refused(t, await values.search(text, ['text']), 'search');
    refused(t, await values.setKeys({ text }), 'setKeys');
  }
  t.strictSame((await values.find()).body, [], 'nothing was stored');
  for (const text of brokenTexts) {
    const { body } = await values.insertOne({ list: [text], map: { [text]: text } });
    t.match(body, { list: [text], map: { [text]: text } });
    t.strictSame((await values.find([['list', JSON.stringify([text])]])).body, [body]);
    t.strictSame((await values.find([['map', JSON.stringify({ [text]: text })]])).body, [body]);
  }
});

t.test('every kind of value for every type: what fits comes back, the rest is a 400', async (t) => {
  const taken: Record<string, (value: unknown) => boolean> = {
    text: (value) => typeof value === 'string' && value !== '\uD800',
    number: (value) => typeof value === 'number' && Number.isFinite(value),
    flag: (value) => typeof value === 'boolean',
    list: (value) => Array.isArray(value),
    map: (value) => typeof value === 'object' && !Array.isArray(value),
  };
  const values = space('kinds');
  let stored = 0;
  for (const [kind, json] of Object.entries(oddJson)) {
    const value: unknown = JSON.parse(json);
    for (const [field, takes] of Object.entries(taken)) {
      const name = `${kind} for ${field}`;
      const one = await values.insertOne(`{"key":"${stored}","${field}":${json}}`);
      if (field === 'number' && value === '') {
        // no value, as forms send it
        t.match(one, { status: 200, body: { number: null } }, name);
        stored++;
        continue;
      }
      if (kind === 'beyond an integer') {
        // a double would round it, whatever it is for
        t.match(one, { status: 400, code: 'invalid_body', problems: [/more digits than a NUMBER/] }, name);
        continue;
      }
      const expected = value === null || (takes(value) && !kind.startsWith('nested'));
      if (!expected) {
        t.equal(one.status, 400, name);
        t.match(one.problems, [new RegExp(`'${field}' should be a valid`)], name);
        t.equal((await values.insert(`[{"key":"${stored}"},{"${field}":${json}}]`)).status, 400, name);
        t.equal((await values.updateOne([['key', '0']], `{"${field}":${json}}`)).status, 400, name);
        continue;
      }
      stored++;
      t.equal(one.status, 200, `${name}: ${one.problems.join()}`);
      // as text: there a `__proto__` is a key like any other, and -0 is 0
      t.equal(JSON.stringify(one.body[field]), JSON.stringify(value), name);
      const found = await values.findOne([['id', one.body.id]]);
      t.equal(JSON.stringify(found.body), JSON.stringify(one.body), name);
      const updated = await values.updateOneById(one.body.id, `{"${field}":${json}}`);
      t.equal(JSON.stringify(updated.body[field]), JSON.stringify(value), `${name} by update`);
    }
  }
  t.equal((await values.find()).body.length, stored, 'what was refused is not there');
});

t.test('of a key that a body repeats the last one counts, as JSON.parse has it', async (t) => {
  const values = space('repeated');
  t.match((await values.insertOne('{"text":"a","text":"b"}')).body, { text: 'b' });
  t.equal((await values.insertOne('{"text":1,"text":"b"}')).status, 200);
  t.equal((await values.insertOne('{"text":"b","text":1}')).status, 400);
});

t.test('a text of a megabyte is a text', async (t) => {
  const large = space('large');
  for (const piece of [`'\\\0é\u{1F600}"`, '\\']) {
    const text = piece.repeat(1024 ** 2 / Buffer.byteLength(piece));
    const { body, status } = await large.insertOne({ text, key: text, list: [text], map: { [text]: 1 } });
    t.equal(status, 200);
    t.ok(body.text === text && body.list[0] === text && body.map[text] === 1);
    t.equal((await large.find([['key', text]])).body[0]?.id, body.id);
    t.equal((await large.updateOneById(body.id, { text: `${text}!` })).status, 200);
    t.ok((await large.findOne([['id', body.id]])).body.text === `${text}!`);
    t.equal((await large.insertOne({ key: text })).code, 'not_unique');
    t.equal((await large.search(piece.repeat(1000 / piece.length), ['text'])).body.length, 1);
    t.equal((await large.search('x'.repeat(1001), ['text'])).status, 400);
    t.equal((await large.deleteOneById(body.id)).status, 200);
  }
  t.strictSame((await large.find()).body, []);
});

t.test('nothing else was touched', async (t) => {
  const after = await canary.look();
  t.strictSame(after, { ...before, owners: [{ owner_id: 'canary' }, { owner_id: 'owner' }] });
  t.strictSame(after.strays, []);
});
