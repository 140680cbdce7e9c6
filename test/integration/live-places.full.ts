/** Where a stream goes on: clients that come back, and records that are to be read again. */
import { setTimeout as sleep } from 'node:timers/promises';
import t, { type Test } from 'tap';
import type { LiveClient, LiveRecord } from '../services/live-client.ts';
import { equalsFind, liveProject, liveSpace } from '../services/live-spaces.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';

let sluice = await sluiceFor(t);
const fields = fieldsOf('name TEXT, n NUMBER');
const spaceOf = (test: Pick<Test, 'teardown'>, slug: string, given = fields) =>
  liveSpace(test, () => sluice, slug, given);
const whole = ['reset', 'snapshot', 'ready'];

/** What a client hears up to the first `ready` that comes with an id. */
async function typesWith(client: LiveClient, id: string): Promise<readonly string[]> {
  await client.open(sluice.baseUrl, id);
  await client.ready();
  const types = client.types();
  client.cut();
  return types;
}

t.test('a client that comes back hears what it missed, and nothing else', async (t) => {
  const space = spaceOf(t, 'back');
  const [one, two, three] = (await space.insert([{ n: 1 }, { n: 2 }, { n: 3 }])) as LiveRecord[];
  const client = await space.watch('?n[gte]=2');
  client.cut();
  await space.update(String(one?.id), { n: 5 });
  await space.update(String(one?.id), { name: 'five' });
  await space.remove(String(two?.id));
  await space.update(String(three?.id), { n: 0 });
  await space.update(String(three?.id), { name: 'nobody hears' });
  await space.insert([{ n: 1 }]);
  const at = client.events.length;
  await client.comeBack(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types(at), ['change', 'leave', 'leave', 'ready'], 'each record once');
  await equalsFind(t, client, await space.find('?n[gte]=2'));
  client.cut();
  await client.comeBack(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types(at + 4), ['ready'], 'nothing was missed');
  await space.insert([{ n: 9 }]);
  await equalsFind(t, client, await space.find('?n[gte]=2'));
  client.cut();
  await client.open(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types().slice(-2), ['snapshot', 'ready'], 'without an id it is a new client');
});

t.test('a place that is none, or of another question', async (t) => {
  const space = spaceOf(t, 'places');
  const other = spaceOf(t, 'others');
  await space.insert([{ n: 1 }, { n: 2 }]);
  await other.insert([{ n: 1 }]);
  const [first, elsewhere, shown] = await Promise.all([
    space.watch('?n=1'),
    other.watch('?n=1'),
    space.watch('?n=1&$select=n'),
  ]);
  const { lastEventId } = first;
  const [sealed = '', question = ''] = lastEventId.split('.');
  const changed = `${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`;
  t.strictSame(await typesWith(space.client('?n=1'), lastEventId), ['ready'], 'another client may have it');
  const wrong = {
    'of another question': [space.client('?n=2'), lastEventId],
    'of other fields': [space.client('?n=1'), shown.lastEventId],
    'of another space': [space.client('?n=1'), elsewhere.lastEventId],
    'that was changed': [space.client('?n=1'), `${changed}.${question}`],
    'of no number': [space.client('?n=1'), `.${question}`],
    'of a number': [space.client('?n=1'), `1.${question}`],
    'of a part of one': [space.client('?n=1'), `${sealed.slice(1)}.${question}`],
    'of a snapshot': [space.client('?n=1'), '0'],
    'made up': [space.client('?n=1'), `${'x.'.repeat(500)}`],
  } as const;
  for (const [what, [client, id]] of Object.entries(wrong))
    t.strictSame(await typesWith(client, id), whole, what);
  // a structure that shows something else
  const structure = structureOf(liveProject, 'places', fieldsOf('n NUMBER'));
  t.strictSame(await typesWith(space.client('?n=1', { headers: { structure } }), lastEventId), whole);
});

t.test('a client that is too late', { timeout: 120_000 }, async (t) => {
  const space = spaceOf(t, 'late');
  await space.insert([{ n: 0 }]);
  const client = await space.watch('?n=0');
  const stays = await space.watch('?n=-1');
  client.cut();
  for (let at = 0; at < 5; at++) await space.insert(Array.from({ length: 5000 }, () => ({ n: 1 })));
  await space.insert([{ n: -1 }, { n: 0 }]);
  await equalsFind(t, stays, await space.find('?n=-1'));
  const at = client.events.length;
  await client.comeBack(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types(at), whole, 'what it missed is kept no more');
  await equalsFind(t, client, await space.find('?n=0'));
});

t.test('a type that changes, a field that goes, and a space that is dropped', async (t) => {
  const space = spaceOf(t, 'typed');
  await space.insert([
    { name: '1', n: 1 },
    { name: '2', n: 2 },
  ]);
  const stored = { headers: { 'use-pre-stored-structure': 'true', structure: '' } };
  const client = await space.watch('?n[gte]=1', stored);
  const some = await space.watch('?$select=n', stored);
  const change = (given: ReturnType<typeof fieldsOf>) =>
    call({
      ...sluice,
      path: `${space.path}/set-structure`,
      body: JSON.parse(structureOf(liveProject, 'typed', given)),
    });
  const find = (query: string) => space.send(query, undefined, stored);
  t.match(await change(fieldsOf('name NUMBER, n NUMBER')), { status: 200 });
  await equalsFind(t, client, await find('?n[gte]=1'), 'numbers that were texts');
  const shown = client.events.flatMap(({ data }) => (Array.isArray(data) ? data : [])) as LiveRecord[];
  t.strictSame(new Set(shown.map(({ name }) => name)), new Set(['1', '2', 1, 2]), 'and nothing in between');
  await space.send('', [{ name: 3, n: 3 }], stored);
  await equalsFind(t, client, await find('?n[gte]=1'));
  await equalsFind(t, some, await find('?$select=n'));
  const gone = await fetch(`${sluice.baseUrl}/_projects_/${liveProject}/spaces/typed/fields/name`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${sluice.token}` },
  });
  t.equal(gone.status, 204);
  await equalsFind(t, client, await find('?n[gte]=1'), 'without the field');
  const drop = await fetch(`${sluice.baseUrl}/_projects_/${liveProject}/spaces/typed`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${sluice.token}` },
  });
  t.equal(drop.status, 204);
  await client.until(() => client.records.size === 0 || !client.isOpen);
  t.comment(`after the drop: ${client.isOpen ? client.types().slice(-3) : client.text.slice(-80)}`);
  await space.insert([{ name: 'anew', n: 7 }]);
  const given = await space.watch('?n[gte]=1');
  await equalsFind(t, given, await space.find('?n[gte]=1'), 'made anew');
});

t.test('a space that is made while it is watched', async (t) => {
  const space = spaceOf(t, 'unmade');
  const client = await space.watch();
  t.strictSame(client.types(), ['snapshot', 'ready']);
  // over some checks of whether the stream may go on
  await sleep(1500);
  t.strictSame(client.types(), ['snapshot', 'ready']);
  await space.insert([{ n: 1 }]);
  await equalsFind(t, client, await space.find());
  await space.insert([{ n: 2 }]);
  await equalsFind(t, client, await space.find());
});

t.test('a server that is killed: its places mean nothing to the next one', async (t) => {
  const space = spaceOf(t, 'killed');
  await space.insert([{ n: 1 }, { n: 2 }]);
  const client = await space.watch();
  await space.insert([{ n: 3 }]);
  await sluice.kill();
  await client.ended();
  sluice = await sluice.restart();
  const at = client.events.length;
  await client.comeBack(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types(at), whole);
  await equalsFind(t, client, await space.find());
});
