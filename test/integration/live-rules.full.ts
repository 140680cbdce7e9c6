/** Live queries under rules: users hear of the records that they may find, and of nothing else. */
import t, { type Test } from 'tap';
import { LiveClient, type LiveRecord } from '../services/live-client.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { full, sized } from '../services/test-size.ts';

const sluice = await sluiceFor(t);
const userFields = fieldsOf('name TEXT required unique, password TEXT hashed, team TEXT');
const noteFields = fieldsOf('text TEXT, owner TEXT, team TEXT, public BOOLEAN, secret TEXT');
const structures = {
  users: structureOf('app', 'users', userFields),
  notes: structureOf('app', 'notes', noteFields),
};
const origin = 'https://app.example.com';
const changesOfRights = full ? sized(1000, 200) : 30;

/** A call of the account, which no rules bind. */
async function send(path: string, body?: unknown, method?: string) {
  const structure = structures[path.includes('users') ? 'users' : 'notes'];
  const more = { ...(body !== undefined && { body }), ...(method !== undefined && { method }) };
  const answer = await call({ ...sluice, path: `/app/${path}`, structure, ...more });
  if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function setRules(space: string, rules: unknown): Promise<void> {
  const path = `/_projects_/app/spaces/${space}/rules`;
  const { status, body } = await call({ ...sluice, method: 'PUT', path, body: rules });
  if (status !== 200) throw new Error(JSON.stringify(body));
}

async function publishable(): Promise<string> {
  const args = ['--publishable', '--origin', origin];
  const { stdout } = await runToEnd('cli/token.ts', args, { DATA_DIR: sluice.dataDir });
  return stdout.trim();
}

interface User {
  readonly id: string;
  readonly token: string;
}

async function user(name: string, team: string): Promise<User> {
  const [{ id }] = await send('users', [{ name, password: name, team }]);
  const resources = { mustExistSpaceStructures: [JSON.parse(structures.users)] };
  const { body } = await call({
    ...sluice,
    path: '/app/function/login',
    body: { name, password: name },
    headers: { 'function-resources': JSON.stringify(resources) },
  });
  return { id, token: body.token };
}

await send('users', [{ name: 'nobody', password: 'x' }]);
await send('notes', [{ text: 'first', public: false, owner: 'nobody' }]);
const page = await publishable();
const rules = {
  find: { $or: [{ public: true }, { owner: '$user.id' }, { team: '$user.team' }] },
  hidden: ['secret'],
};
await setRules('users', { find: { id: '$user.id' } });
await setRules('notes', rules);
const [ann, ben] = [await user('ann', 'red'), await user('ben', 'blue')];

/** As a page of an app, for a user; null: for somebody who has not logged in. */
function inPage(t: Pick<Test, 'teardown'>, who: User | null, query = ''): LiveClient {
  const headers = { authorization: `Bearer ${page}`, origin, ...(who && { token: who.token }) };
  return watching(t, { path: `/app/notes${query}`, headers });
}

/** As a server that acts for a user. */
function acting(t: Pick<Test, 'teardown'>, who: User, query = ''): LiveClient {
  const { notes: structure } = structures;
  const authorization = `Bearer ${sluice.token}`;
  const headers = { authorization, structure, token: who.token, 'sluice-act-as-user': 'true' };
  return watching(t, { path: `/app/notes${query}`, headers });
}

function watching(t: Pick<Test, 'teardown'>, ask: ConstructorParameters<typeof LiveClient>[0]): LiveClient {
  const client = new LiveClient(ask);
  t.teardown(() => client.cut());
  return client;
}

async function opened(client: LiveClient): Promise<LiveClient> {
  if ((await client.open(sluice.baseUrl)) !== 200) throw new Error(client.text);
  await client.ready();
  return client;
}

const insert = async (note: object): Promise<LiveRecord> => (await send('notes', [note]))[0];
const update = (id: string, values: object): Promise<LiveRecord> =>
  send(`notes/update-by-id?id=${id}`, values);
const texts = (client: LiveClient) => [...client.records.values()].map(({ text }) => text).sort();

t.test('users hear of their own records', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  const mine = await insert({ text: 'mine', owner: ann.id, secret: 'hush' });
  const his = await insert({ text: 'his', owner: ben.id });
  const clients = await Promise.all([inPage(t, ann), acting(t, ann), inPage(t, null)].map(opened));
  const [anns, server, stranger] = clients as [LiveClient, LiveClient, LiveClient];
  const bens = await opened(inPage(t, ben));
  t.strictSame([anns, server, stranger, bens].map(texts), [['mine'], ['mine'], [], ['his']]);
  await update(his.id, { text: 'his own' });
  const more = await insert({ text: 'his, too', owner: ben.id });
  await send(`notes?id=${more.id}`, undefined, 'DELETE');
  const last = await insert({ text: 'his last', owner: ben.id });
  await update(mine.id, { text: 'mine still' });
  await anns.until(() => texts(anns).includes('mine still'));
  for (const { id } of [his, more, last]) {
    t.notMatch(anns.text, id, 'ids of others are never seen');
    t.notMatch(server.text, id);
    t.notMatch(stranger.text, id);
  }
  t.notMatch(anns.text, /hush|secret/, 'nor what is hidden');
  // handed over
  await update(mine.id, { owner: ben.id });
  await anns.until(() => anns.records.size === 0);
  t.strictSame([anns.types().at(-1), anns.events.at(-1)?.data], ['leave', { id: mine.id }]);
  await bens.until(() => texts(bens).includes('mine still'));
  t.strictSame(bens.types().at(-1), 'enter');
  await update(mine.id, { text: 'not hers' });
  await update(his.id, { public: true });
  for (const client of [anns, server, stranger]) {
    await client.until(() => texts(client).includes('his own'));
    t.strictSame(texts(client), ['his own']);
    t.notMatch(client.text, /not hers/);
  }
});

t.test('a user who changes, and comes back as another one', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  await insert({ text: 'red', team: 'red' });
  await insert({ text: 'blue', team: 'blue' });
  const client = await opened(inPage(t, ann));
  const away = await opened(inPage(t, ann));
  away.cut();
  t.strictSame(texts(client), ['red']);
  const at = client.events.length;
  await send(`users/update-by-id?id=${ann.id}`, { team: 'blue' });
  await client.until(() => client.isReady && texts(client).includes('blue'));
  t.strictSame(client.types(at), ['reset', 'snapshot', 'ready']);
  t.strictSame(texts(client), ['blue']);
  await away.comeBack(sluice.baseUrl);
  await away.ready();
  t.strictSame(texts(away), ['blue'], 'what she had then is nothing now');
  const bens = inPage(t, ben);
  await bens.open(sluice.baseUrl, client.lastEventId);
  await bens.ready();
  t.strictSame(bens.types(), ['reset', 'snapshot', 'ready'], 'nobody goes on with the place of another');
  client.cut();
  await client.comeBack(sluice.baseUrl);
  await client.ready();
  t.strictSame(client.types().slice(-1), ['ready'], 'she does with hers');
  await insert({ text: 'blue again', team: 'blue' });
  await client.until(() => texts(client).includes('blue again'));
  await send(`users/update-by-id?id=${ann.id}`, { team: 'red' });
  await client.until(() => client.isReady && texts(client).join() === 'red');
});

t.test('a user who lost a right hears of nothing that was written later', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  await send(`users/update-by-id?id=${ann.id}`, { team: 'red' });
  const client = await opened(inPage(t, ann));
  const late: string[] = [];
  for (let at = 0; at < changesOfRights; at++) {
    const [before, now] = at % 2 === 0 ? ['red', 'blue'] : ['blue', 'red'];
    await send(`users/update-by-id?id=${ann.id}`, { team: now });
    const { id } = await insert({ text: `late ${at}`, team: before });
    await insert({ text: `hers ${at}`, team: now });
    await client.until(() => texts(client).includes(`hers ${at}`));
    const isTold = client.text.includes(`late ${at}`);
    if (isTold) late.push(`late ${at}`);
    await send(`notes?id=${id}`, undefined, 'DELETE');
  }
  t.strictSame(late, []);
});

t.test('a deleted user, and a field that is hidden', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  for (let at = 0; at < 10; at++) {
    const dan = await user(`dan ${at}`, 'green');
    const client = await opened(inPage(t, dan));
    await send(`users?id=${dan.id}`, undefined, 'DELETE');
    await insert({ text: `late ${at}`, team: 'green' });
    await client.ended();
    t.notMatch(client.text, `late ${at}`);
  }
  const strangers = await opened(inPage(t, null));
  const bens = await opened(inPage(t, ben));
  for (let at = 0; at < 10; at++) {
    await setRules('notes', { ...rules, hidden: at % 2 === 0 ? ['secret', 'owner'] : ['secret'] });
    await insert({ text: `note ${at}`, public: true, owner: `owner ${at}` });
    for (const client of [strangers, bens]) {
      await client.until(() => texts(client).includes(`note ${at}`));
      if (at % 2 === 0) t.notMatch(client.text, `owner ${at}`);
    }
  }
  await setRules('notes', rules);
});

t.test('what one may not see is not counted, and leaves no trace', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  const note = await insert({ text: 'seen', public: true });
  const [whole, some] = await Promise.all([inPage(t, null), inPage(t, null, '?$select=text')].map(opened));
  const ids: string[] = [];
  for (let at = 0; at < 3; at++) {
    for (let invisible = 0; invisible < 10 * at; invisible++) await insert({ text: 'his', owner: ben.id });
    await update(note.id, { text: `seen ${at}` });
    for (const client of [whole, some]) {
      await client?.until(() => texts(client).includes(`seen ${at}`));
      ids.push(String(client?.lastEventId));
    }
    const again = await opened(inPage(t, null));
    ids.push(again.lastEventId);
    await again.comeBack(sluice.baseUrl);
    await again.ready();
    t.strictSame(again.types(), ['snapshot', 'ready', 'ready'], 'it resumes');
    ids.push(again.lastEventId);
    again.cut();
  }
  for (const id of ids) t.match(id, /^[\w-]{22}\.[\w-]{11}$/, 'no number');
  t.equal(new Set(ids).size, ids.length, 'nor whether there was a change');
  // of what one sees nothing changes
  const events = some?.events.length;
  await update(note.id, { secret: 'hush' });
  await update(note.id, { owner: 'somebody' });
  await update(note.id, { text: 'seen 2' });
  await update(note.id, { text: 'end' });
  await some?.until(() => texts(some).includes('end'));
  t.strictSame(some?.types(events), ['change'], 'of what is not shown no change is told');
});

t.test('rules that change, and a user who goes', async (t) => {
  await send('notes/clear-records', undefined, 'DELETE');
  await insert({ text: 'open', public: true });
  await insert({ text: 'mine', owner: ann.id });
  const carl = await user('carl', 'red');
  const [anns, stranger] = await Promise.all([inPage(t, ann), inPage(t, null)].map(opened));
  const carls = await opened(inPage(t, carl));
  const away = await opened(inPage(t, ann));
  away.cut();
  await setRules('notes', { find: { owner: '$user.id' } });
  await anns?.until(() => anns.isReady && texts(anns).join() === 'mine');
  await stranger?.until(() => stranger.records.size === 0);
  await away.comeBack(sluice.baseUrl);
  await away.ready();
  t.strictSame(texts(away), ['mine']);
  await insert({ text: 'open, too', public: true });
  await setRules('notes', { find: { $not: [{ text: 'open' }] }, hidden: ['owner'] });
  await anns?.until(() => anns.isReady && anns.records.size === 2);
  t.notOk('owner' in ([...(anns?.records.values() ?? [])][0] as LiveRecord));
  await send(`users?id=${carl.id}`, undefined, 'DELETE');
  await carls.ended();
  t.equal(await carls.comeBack(sluice.baseUrl), 401);
  await setRules('notes', { find: { createdAt: { lt: '$now' } } });
  await anns?.ended();
  t.equal(await anns?.comeBack(sluice.baseUrl), 422, 'what changes with the time has no events');
  await anns?.ended();
  t.match(anns?.text, /\$now/);
  await setRules('notes', rules);
  await anns?.open(sluice.baseUrl);
  await anns?.ready();
  await setRules('notes', null);
  await anns?.ended();
  t.equal(await anns?.comeBack(sluice.baseUrl), 403, 'nobody may do anything');
  await setRules('notes', rules);
});
