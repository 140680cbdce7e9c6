/** Which calls of webhooks an operation makes, for every operation that may write, in both stores. */
import t, { type Test } from 'tap';
import type { Database } from '#engine/database.ts';
import { overloaded } from '#kernel/errors/catalogue.ts';
import type { MakeMail, PromisedMail } from '#kernel/record-events/mail.ts';
import type { RecordEvent } from '#kernel/record-events/record-event.ts';
import { operations } from '#query/operations.ts';
import { importSpaces } from '../services/import-spaces.ts';
import { plainStore } from '../services/plain-store.ts';
import {
  openQueryHarness,
  type QueryAnswer,
  type QueryHarness,
  spaceOf,
  testWebhooks,
} from '../services/query-harness.ts';
import { type FieldInput, fieldsOf, structureOf } from '../services/record-client.ts';
import { full } from '../services/test-size.ts';

type Shown = Readonly<Record<string, unknown>>;
/** Where a call goes, and its records. */
type Call = readonly ['insert' | 'update', ...records: Shown[]];

const hooks = { onInsertUrl: 'http://10.0.0.1/insert', onUpdateUrl: 'http://10.0.0.1/update' };
const fields: FieldInput[] = fieldsOf(
  'email TEXT unique, code TEXT unique, age NUMBER, password TEXT hashed',
);

/** Makes the mails of the newest harness. */
let makeMail: MakeMail = () => Promise.reject(new Error('there is no harness'));
let promised: PromisedMail | undefined;

/** What the addresses of a space heard, once it was stored. */
class Heard {
  readonly calls: Call[] = [];
  /** Calls can't be stored. */
  isFull = false;

  webhooks(db: Database): ReturnType<typeof testWebhooks> {
    const publish = (event: RecordEvent) => this.#publish(event);
    const makeMails = (make: MakeMail): void => {
      makeMail = make;
    };
    const promise = async (mail: PromisedMail): Promise<void> => {
      promised = mail;
    };
    const mails = { hasSmtp: true, promise, makeMails };
    return Object.assign(testWebhooks({ db, singleWriter: true }), { publish, ...mails });
  }

  async #publish({ type, url, records }: RecordEvent): Promise<void> {
    if (this.isFull) throw overloaded('the calls can not be stored');
    const action = type === 'record.inserted' ? 'insert' : 'update';
    if (url !== `http://10.0.0.1/${action}`) throw new Error(`${type} goes to ${url}`);
    this.calls.push([action, ...Array.from(records, ({ json }) => JSON.parse(json) as Shown)]);
  }
}

/** A space with both addresses and two records, Ada and Bob, which has heard of nothing. */
class Place {
  readonly t: Test;
  readonly harness: QueryHarness;
  readonly slug: string;
  readonly structure = (more: object = {}) =>
    structureOf('p', this.slug, fields, { webhooks: hooks, ...more });
  readonly space: ReturnType<typeof spaceOf>;
  ada: Shown = {};
  bob: Shown = {};

  static async open(t: Test, harness: QueryHarness, slug: string): Promise<Place> {
    const place = new Place(t, harness, slug);
    await place.space.make();
    const made = await place.space.insert([
      { email: 'ada', code: 'a', age: 1, password: 'secret' },
      { email: 'bob', code: 'b', age: 2 },
    ]);
    [place.ada, place.bob] = made.body;
    return place;
  }

  constructor(t: Test, harness: QueryHarness, slug: string) {
    this.t = t;
    this.harness = harness;
    this.slug = slug;
    this.space = spaceOf(harness, 'p', slug, this.structure());
  }

  /** The records by their ages. */
  async all(): Promise<readonly Shown[]> {
    return (await this.space.find('', { sort: { field: 'age' } })).body;
  }

  call(path: string, body: unknown): Promise<QueryAnswer> {
    return this.harness.call({ path: `/p/${this.slug}/${path}`, structure: this.structure(), body });
  }
}

/** A user who signed up where addresses are verified, and a function of that space. */
async function signedUp({ harness, slug }: Place) {
  const usersFields = fieldsOf('email TEXT unique, password TEXT hashed, verified BOOLEAN');
  const users = spaceOf(harness, 'p', `${slug}-users`, usersFields, { webhooks: hooks });
  await users.make();
  const rules = { insert: true, signUp: { verified: 'verified' } };
  await harness.call({ method: 'PUT', path: `/_projects_/p/spaces/${slug}-users/rules`, body: rules });
  const resources = JSON.stringify({ mustExistSpaceStructures: [{ slug: `${slug}-users` }] });
  const call = (name: string, body: unknown) =>
    harness.call({ path: `/p/function/${name}`, headers: { 'function-resources': resources }, body });
  const email = 'ada@example.com';
  const answer = await call('sign-up', { email, password: 'secret' });
  /** Of the mail that was promised last. */
  const code = async (): Promise<string> => {
    const mail = await makeMail(promised as PromisedMail, new AbortController().signal);
    return typeof mail === 'string' ? mail : mail.code;
  };
  const user = async () => (await users.findOne()).body as Shown;
  return { call, answer, email, code, user };
}

const onConflict = (action: 'update' | 'skip') => ({
  options: JSON.stringify({ onConflict: { field: 'email', do: action } }),
});

/** Does it, and says which calls there are. */
type Case = (place: Place) => Promise<readonly Call[]>;

/** docs/api.md#webhooks, for each operation that may write. */
const cases: Readonly<Record<string, Readonly<Record<string, Case>>>> = {
  insert: {
    'new records': async ({ space }) => {
      const { body } = await space.insert([{ email: 'c', password: 'x' }, { email: 'd' }]);
      return [['insert', ...body]];
    },
    'an upsert of stored records and new ones': async ({ space }) => {
      const given = ['ada', 'new', 'bob', 'newer'].map((email, age) => ({ email, age: age + 10 }));
      const { body } = await space.insert(given, onConflict('update'));
      return [
        ['insert', body[1], body[3]],
        ['update', body[0], body[2]],
      ];
    },
    'stored records that are skipped': async ({ space }) => {
      const { body } = await space.insert([{ email: 'ada' }, { email: 'new' }], onConflict('skip'));
      return [['insert', body[1]]];
    },
    'an upsert that fails behind its first records': async ({ t, space }) => {
      const given = [{ email: 'new' }, { email: 'ada', code: 'b' }];
      t.match(await space.insert(given, onConflict('update')), { status: 400, code: 'not_unique' });
      return [['insert', (await space.findOne('email=new')).body]];
    },
    'an insert that is refused': async ({ t, space }) => {
      const given = [{ email: 'new' }, { email: 'ada' }];
      t.match(await space.insert(given), { status: 400, code: 'not_unique' });
      return [];
    },
    'a request that comes again under its key': async ({ t, space }) => {
      const again = { 'idempotency-key': 'one' };
      const { body } = await space.insert([{ email: 'c' }], again);
      t.strictSame((await space.insert([{ email: 'c' }], again)).body, body);
      return [['insert', ...body]];
    },
  },
  insertOne: {
    'a new record': async ({ space }) => [
      ['insert', (await space.insertOne({ email: 'c', password: 'x' })).body],
    ],
    'an upsert of a stored record': async ({ space }) => [
      ['update', (await space.insertOne({ email: 'ada', age: 9 }, onConflict('update'))).body],
    ],
    'a stored record that is skipped': async ({ space }) => {
      await space.insertOne({ email: 'ada', age: 9 }, onConflict('skip'));
      return [];
    },
    'a record by rules, with a value that they set, and as its writer sees it': async ({
      t,
      harness,
      slug,
      space,
    }) => {
      const rules = {
        find: true,
        insert: true,
        update: true,
        delete: true,
        set: { code: 'by rules' },
        hidden: ['email'],
      };
      const path = `/_projects_/p/spaces/${slug}/rules`;
      t.match(await harness.call({ method: 'PUT', path, body: rules }), { status: 200 });
      const page = { 'test-grants': JSON.stringify({ publishable: true, origins: ['*'] }) };
      const body = { email: 'hers', age: 3 };
      const answer = await harness.call({ path: `${space.path}/_single_`, headers: page, body });
      t.match(answer, { status: 200 });
      t.match(answer.body, { age: 3, code: 'by rules', email: undefined });
      return [['insert', answer.body]];
    },
  },
  import: {
    'a file of stored records and new ones': async ({ t, harness, slug, space }) => {
      const place = await importSpaces(t, harness)(slug, fields);
      const job = await place.run(
        'email,age\nada,7\nnew,8\n',
        `onError=skip&onConflict=${JSON.stringify({ field: 'email', do: 'update' })}`,
      );
      t.match(job, { state: 'done', inserted: 1, updated: 1, problemCount: 0 });
      t.match((await space.findOne('email=ada')).body, { age: 7 });
      return [];
    },
  },
  updateOne: {
    'a record that matches': async ({ space }) => [
      ['update', (await space.updateOne('email=ada', { age: 5 })).body],
    ],
    'none that matches': async ({ t, space }) => {
      t.match(await space.updateOne('email=nobody', { age: 5 }), { code: 'no_match' });
      return [];
    },
  },
  updateOneById: {
    'a record': async ({ space, ada }) => [
      ['update', (await space.updateOneById(String(ada.id), { age: 5 })).body],
    ],
    'a record, by a request that knows one field of it': async ({ harness, slug, ada }) => {
      const structure = structureOf('p', slug, fieldsOf('age NUMBER'));
      const { body } = await harness.call({
        path: `/p/${slug}/update-by-id`,
        structure,
        query: `id=${ada.id}`,
        body: { age: 6 },
      });
      return [['update', body]];
    },
    'increments at once': async ({ space, ada }) => {
      const increments = [1, 2, 3].map(() => space.updateOneById(String(ada.id), { age: { $inc: 1 } }));
      return (await Promise.all(increments)).map(({ body }): Call => ['update', body]);
    },
  },
  updateMany: {
    'all that match': async (place) => {
      const answer = await place.call('_update_', { all: true, inc: { age: 1 } });
      place.t.match(answer.body, { updated: 2 });
      return [['update', ...(await place.all())]];
    },
    'none that matches': async (place) => {
      await place.call('_update_', { where: { email: 'nobody' }, set: { age: 1 } });
      return [];
    },
  },
  setKeys: {
    'the keys of a group': async ({ space }) => [['update', (await space.setKeys({ age: 8 })).body]],
    'a group that is made': async ({ space }) => {
      await space.clear();
      return [['insert', (await space.setKeys({ email: 'first' })).body]];
    },
  },
  deleteOneById: {
    'a record': async ({ t, space, ada }) => {
      t.match(await space.deleteOneById(String(ada.id)), { status: 200 });
      return [];
    },
  },
  deleteMany: {
    'all that match': async (place) => {
      place.t.match(await place.call('_delete_', { all: true }), { body: { deleted: 2 } });
      return [];
    },
  },
  clear: {
    'all records': async ({ t, space }) => {
      t.match(await space.clear(), { body: { deleted: 2 } });
      return [];
    },
  },
  setStructure: {
    'initial data, and a field of another type': async ({ t, harness, slug, structure }) => {
      const initial = { initialData: [{ email: 'first' }] };
      const made = JSON.parse(structureOf('p', `${slug}-made`, fields, { webhooks: hooks, ...initial }));
      const answer = await harness.call({ path: `/p/${slug}-made/set-structure`, body: made });
      t.match(answer, { status: 200 });
      t.match(
        await harness.call({ path: `/p/${slug}-made`, structure: structureOf('p', `${slug}-made`, fields) }),
        { body: [{ email: 'first' }] },
      );
      const changed = JSON.parse(structure());
      for (const field of changed.recordStructure) if (field.name === 'age') field.type = 'TEXT';
      t.match(await harness.call({ path: `/p/${slug}/set-structure`, body: changed }), { status: 200 });
      return [];
    },
  },
  setInferredStructure: {
    'a new field': async (place) => {
      place.t.match(await place.call('set-inferred-structure', { more: 1 }), { status: 200 });
      return [];
    },
  },
  getInferredStructure: {
    'a sample': async (place) => {
      place.t.match(await place.call('get-inferred-structure', { more: 1 }), { status: 200 });
      return [];
    },
  },
  login: {
    'a user': async ({ t, harness, structure }) => {
      const resources = `{"mustExistSpaceStructures":[${structure()}]}`;
      const answer = await harness.call({
        path: '/p/function/login',
        headers: { 'function-resources': resources },
        body: { email: 'ada', password: 'secret' },
      });
      t.match(answer, { status: 200 });
      return [];
    },
  },
  signUp: {
    'a user': async (place) => {
      const { answer, user } = await signedUp(place);
      place.t.match(answer, { status: 202 });
      return [['insert', await user()]];
    },
  },
  verifyEmail: {
    'by a code': async (place) => {
      const { call, email, code, user } = await signedUp(place);
      const before = await user();
      place.t.match(await call('verify-email', { email, code: await code() }), { status: 200 });
      place.t.match(await call('verify-email', { email }), { status: 202 });
      return [
        ['insert', before],
        ['update', await user()],
      ];
    },
  },
  resetPassword: {
    'by a code': async (place) => {
      const { call, email, code, user } = await signedUp(place);
      const before = await user();
      place.t.match(await call('reset-password', { email }), { status: 202 });
      const proof = { email, code: await code() };
      place.t.match(await call('reset-password', { ...proof, password: 'other' }), { status: 200 });
      return [
        ['insert', before],
        ['update', await user()],
      ];
    },
  },
  // it needs a provider, and inserts like insertOne (oidc-login.test.ts)
  oidcLogin: {},
  sendOtp: {},
  sendPushNotifications: {},
};

/** Each way to write that has calls. */
const writes: Readonly<Record<string, (place: Place) => Promise<QueryAnswer>>> = {
  'an insert': ({ space }) => space.insert([{ email: 'c' }]),
  'an upsert': ({ space }) => space.insertOne({ email: 'ada', age: 9 }, onConflict('update')),
  'a first record': async ({ space }) => {
    await space.clear();
    return space.setKeys({ email: 'first' });
  },
  'an update': ({ space }) => space.updateOne('email=ada', { age: 5 }),
  'an increment': ({ space, ada }) => space.updateOneById(String(ada.id), { age: { $inc: 1 } }),
  'an update of many': (place) => place.call('_update_', { all: true, inc: { age: 1 } }),
};

const stores = {
  'the embedded store': {},
  'a shared store': { singleWriter: false, store: ({ db }) => plainStore(db) },
} satisfies Record<string, NonNullable<Parameters<typeof openQueryHarness>[0]>>;

t.test('every operation that may write is documented here', async (t) => {
  const writing = operations.filter(({ readsOnly }) => readsOnly !== true).map(({ name }) => name);
  t.strictSame(Object.keys(cases).sort(), writing.sort());
});

for (const [store, options] of Object.entries(stores).slice(0, full ? undefined : 1))
  t.test(store, async (t) => {
    const heard = new Heard();
    const harness = await openQueryHarness({
      freshness: { heardAfter: 0 },
      ...options,
      webhooks: (db) => heard.webhooks(db),
    });
    t.teardown(() => harness.close());
    let spaces = 0;
    for (const [name, those] of Object.entries(cases))
      for (const [what, run] of Object.entries(those))
        await t.test(`${name}: ${what}`, async (t) => {
          const place = await Place.open(t, harness, `s${spaces++}`);
          heard.calls.length = 0;
          const documented = await run(place);
          t.same(byText(heard.calls), byText(documented));
          t.notMatch(JSON.stringify(heard.calls), /password|argon2/);
        });
    for (const [what, write] of Object.entries(writes))
      await t.test(`${what} is not acknowledged when its calls can not be stored`, async (t) => {
        const place = await Place.open(t, harness, `s${spaces++}`);
        heard.isFull = true;
        const answer = await write(place).finally(() => {
          heard.isFull = false;
        });
        t.match(answer, { status: 503, code: 'overloaded' });
      });
  });

t.test(
  'an insert whose client goes away while it is stored calls its address, and no repeat does',
  async (t) => {
    const heard = new Heard();
    const leaving = new AbortController();
    const harness = await openQueryHarness({
      singleWriter: false,
      store({ db }) {
        const store = plainStore(db);
        const { insert } = store;
        return Object.assign(store, {
          insert: async (added: Parameters<typeof insert>[0]) => {
            const stored = await insert(added);
            leaving.abort(new Error('the client went away'));
            return stored;
          },
        });
      },
      webhooks: (db) => heard.webhooks(db),
    });
    t.teardown(() => harness.close());
    const structure = structureOf('p', 'left', fields, { webhooks: hooks });
    const call = {
      path: '/p/left/_single_',
      structure,
      body: { email: 'ada' },
      headers: { 'idempotency-key': 'one' },
    };
    await t.rejects(harness.call({ ...call, signal: leaving.signal }), { message: 'the client went away' });
    const { body } = await harness.call(call);
    t.match(body, { email: 'ada' });
    t.same(heard.calls, [['insert', body]]);
  },
);

/** Calls at once have no order, and records of one write are in that of their ids. */
function byText(calls: readonly Call[]): readonly string[] {
  return calls.map(([action, ...records]) => JSON.stringify([action, ...sorted(records)])).sort();
}

function sorted(records: readonly Shown[]): readonly Shown[] {
  return [...records].sort((a, b) => (String(a.id) < String(b.id) ? -1 : 1));
}
