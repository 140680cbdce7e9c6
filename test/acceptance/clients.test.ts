/** The published client, unmodified: every method against every operation; in CI in three versions. */
import * as v114 from 'nobox-client';
import * as v104 from 'nobox-client-1.0.4';
import * as v111 from 'nobox-client-1.11.13';
import t, { type Test } from 'tap';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { full } from '../services/test-size.ts';

const sluice = await sluiceFor(t);

// the clients write their failures to the console, which is where this test's results go
for (const method of ['log', 'debug', 'error'] as const) console[method] = () => {};

// biome-ignore lint/suspicious/noExplicitAny: the versions differ in types, not in what is asked of them
type Any = any;
type Method = (...args: unknown[]) => Promise<Any>;
type MethodName =
  | 'find'
  | 'findOne'
  | 'search'
  | 'insert'
  | 'insertOne'
  | 'updateOne'
  | 'updateOneById'
  | 'deleteOneById'
  | 'clear'
  | 'getTokenOwner'
  | 'setKeys'
  | 'getKeys';
/** A version may lack some of them, which is looked at before they are called. */
type Model = Readonly<Record<MethodName, Method>>;

interface Version {
  readonly name: string;
  readonly rowed: (space: object) => Model;
  /** Null: the version has none. */
  readonly keyGroup: ((space: object) => Model) | null;
  readonly functions: { readonly login: Method };
  /** A call that fails answers undefined instead of throwing. */
  readonly swallowsErrors: boolean;
  /** Operations that came with later versions. */
  readonly lacks: readonly string[];
}

function version(
  name: string,
  client: Any,
  more: { keyGroup: boolean; swallowsErrors: boolean; lacks: readonly string[] },
): Version {
  const config = { endpoint: sluice.baseUrl, project: `v${name.replaceAll('.', '-')}`, token: sluice.token };
  return {
    name,
    rowed: client.getSchemaCreator(config, { type: 'rowed' }),
    keyGroup: more.keyGroup ? client.getSchemaCreator(config, { type: 'key-group' }) : null,
    functions: client.getFunctions(config),
    swallowsErrors: more.swallowsErrors,
    lacks: more.lacks,
  };
}

const preStored = { 'use-pre-stored-structure': 'true' };
const noDelete = ['deleteOneById', 'clear', 'clear of a key group'];
const versions: readonly Version[] = [
  version('1.14.2', v114, { keyGroup: true, swallowsErrors: false, lacks: [] }),
  version('1.11.13', v111, { keyGroup: true, swallowsErrors: true, lacks: noDelete }),
  version('1.0.4', v104, {
    keyGroup: false,
    swallowsErrors: true,
    lacks: [...noDelete, 'setKeys of a key group', 'getKeys of a key group'],
  }),
];

const peopleSpace = (space: string): object => ({
  space,
  description: 'People and what is known of them',
  structure: {
    firstName: { type: String, required: true },
    email: { type: String, unique: true },
    age: { type: Number },
    active: { type: Boolean, defaultValue: true },
    tags: Array,
    password: { type: String, hashed: true },
  },
});
const ada = {
  firstName: 'Ada',
  email: 'ada@x',
  age: 36,
  active: true,
  tags: ['maths'],
  password: 'secret one',
};
const grace = {
  firstName: 'Grace',
  email: 'grace@x',
  age: 85,
  active: false,
  tags: [],
  password: 'secret two',
};
const shown = ({ password: _, ...record }: Record<string, unknown>): Record<string, unknown> => record;
const shownAda = shown(ada);
const shownGrace = shown(grace);

/** One operation as its users see it. Each run gets a space of its own with Ada and Grace in it. */
interface Operation {
  readonly name: MethodName;
  readonly kind?: 'key-group';
  readonly check: (
    t: Test,
    args: { model: Model; people: Any[]; version: Version; space: object },
  ) => Promise<void>;
}

const operations: readonly Operation[] = [
  {
    name: 'insertOne',
    async check(t, { model }) {
      const alan = { ...ada, firstName: 'Alan', email: 'alan@x' };
      const stored = await model.insertOne(alan);
      t.match(stored, { ...shown(alan), id: String });
      t.strictSame(await model.findOne({ id: stored.id }), stored);
      t.notOk('password' in stored);
      t.ok(Date.parse(stored.createdAt) >= Date.now() - 60_000);
      for (const name of ['createdAt', 'updatedAt'])
        t.equal(new Date(stored[name]).toISOString(), stored[name]);
      t.match(await model.insertOne({ firstName: 'Default' }), {
        firstName: 'Default',
        active: true,
        age: null,
      });
    },
  },
  {
    name: 'insert',
    async check(t, { model, people }) {
      const more = ['x', 'y', 'z'].map((firstName) => ({
        firstName,
        email: `${firstName}@x`,
        tags: [firstName],
      }));
      const stored = await model.insert(more, {});
      t.match(stored, more);
      t.strictSame(await model.find(), [...people, ...stored]);
    },
  },
  {
    name: 'find',
    async check(t, { model, people }) {
      t.strictSame(await model.find({}), people);
      t.match(await model.find({ age: 36 }), [shownAda]);
      t.match(await model.find({ active: false, firstName: 'Grace' }), [shownGrace]);
      t.strictSame(await model.find({ age: 36, firstName: 'Grace' }), []);
      t.match(await model.find({ age: 36, firstName: 'Grace' }, { paramRelationship: 'Or' }), [
        shownAda,
        shownGrace,
      ]);
      t.strictSame(await model.find({ firstName: 'nobody' }), []);
      const sorted = { sort: { by: 'age', order: 'desc' }, pagination: { limit: 1, page: 1 } };
      t.match(await model.find({}, sorted), [shownGrace]);
      const oldest = { sort: { by: 'createdAt', order: 'asc' }, pagination: { limit: 1, page: 1 } };
      t.match(await model.find({}, oldest), [shownAda]);
      t.match(await model.find({}, { pagination: { limit: 1, page: 2 } }), [shownGrace]);
      t.strictSame(await model.find({}, { pagination: { limit: 1, page: 3 } }), []);
    },
  },
  {
    name: 'findOne',
    async check(t, { model, people }) {
      t.strictSame(await model.findOne({ id: people[1].id }), people[1]);
      t.match(await model.findOne({ email: 'ada@x', password: 'secret one' }), shownAda);
      t.equal(await model.findOne({ email: 'ada@x', password: 'secret two' }), null);
      t.equal(await model.findOne({ firstName: 'nobody' }), null);
      const either = { paramRelationship: 'Or' };
      t.match(await model.findOne({ firstName: 'nobody', age: 36 }, either), shownAda);
    },
  },
  {
    name: 'search',
    async check(t, { model }) {
      const search = (searchText: string, searchableFields: string[], options = {}) =>
        model.search({ searchText, searchableFields }, options);
      t.match(await search('AD', ['firstName']), [shownAda]);
      t.match(await search('@X', ['firstName', 'email']), [shownAda, shownGrace]);
      t.strictSame(await search('nothing of it', ['firstName', 'email']), []);
      const page = { sort: { by: 'age', order: 'desc' }, pagination: { limit: 1, page: 1 } };
      t.match(await search('a', ['firstName'], page), [shownGrace]);
    },
  },
  {
    name: 'updateOne',
    async check(t, { model, people, version }) {
      const updated = await model.updateOne({ email: 'ada@x' }, { age: 37, tags: ['a', 'b'] });
      t.match(updated, {
        ...shownAda,
        id: people[0].id,
        createdAt: people[0].createdAt,
        age: 37,
        tags: ['a', 'b'],
      });
      t.strictSame(await model.findOne({ id: people[0].id }), updated);
      t.strictSame(await model.findOne({ id: people[1].id }), people[1]);
      t.match(await model.updateOne({ active: false }, { active: true }), {
        firstName: 'Grace',
        active: true,
      });
      const either = { paramRelationship: 'Or' };
      t.match(await model.updateOne({ firstName: 'nobody', age: 85 }, { age: 86 }, either), { age: 86 });
      await model.updateOne({ email: 'ada@x', password: 'secret one' }, { password: 'another' });
      t.equal(await model.findOne({ email: 'ada@x', password: 'secret one' }), null);
      t.match(await model.findOne({ email: 'ada@x', password: 'another' }), { age: 37 });
      await fails(t, version, () => model.updateOne({ firstName: 'nobody' }, { age: 1 }), 400);
      await fails(t, version, () => model.updateOne({ firstName: 'Ada' }, { age: 'old' }), 400);
    },
  },
  {
    name: 'updateOneById',
    async check(t, { model, people, version }) {
      const changes = { firstName: 'Admiral', active: true };
      const updated = await model.updateOneById(people[1].id, changes);
      t.match(updated, { ...shownGrace, id: people[1].id, ...changes });
      t.strictSame(await model.find({}), [people[0], updated]);
      await fails(t, version, () => model.updateOneById('nosuch', { age: 1 }), 400);
    },
  },
  {
    name: 'deleteOneById',
    async check(t, { model, people, version }) {
      t.strictSame(await model.deleteOneById(people[0].id), people[0]);
      t.strictSame(await model.find({}), [people[1]]);
      await fails(t, version, () => model.deleteOneById(people[0].id), 400);
    },
  },
  {
    name: 'clear',
    async check(t, { model }) {
      t.strictSame(await model.clear(), { deleted: 2 });
      t.strictSame(await model.find({}), []);
    },
  },
  {
    name: 'getTokenOwner',
    async check(t, { model, people, version, space }) {
      const { token } = await version.functions.login({
        body: { email: 'grace@x', password: 'secret two' },
        space,
      });
      t.strictSame(await model.getTokenOwner(token), people[1]);
      await fails(t, version, () => model.getTokenOwner(`${token}x`), 401);
      await fails(t, version, () => model.getTokenOwner(sluice.token), 401);
    },
  },
  {
    name: 'setKeys',
    kind: 'key-group',
    async check(t, { model }) {
      t.match(await model.setKeys({ theme: 'dark', size: 1 }), { theme: 'dark', size: 1, labels: null });
      const second = await model.setKeys({ size: 2, labels: ['a'] });
      t.match(second, { theme: 'dark', size: 2, labels: ['a'] });
      t.strictSame(await keysOf(model), second);
    },
  },
  {
    name: 'getKeys',
    kind: 'key-group',
    async check(t, { model }) {
      t.equal(await model.getKeys(), null);
      await model.setKeys({ theme: 'light' });
      t.match(await keysOf(model), { theme: 'light' });
    },
  },
  {
    name: 'clear',
    kind: 'key-group',
    async check(t, { model }) {
      await model.setKeys({ theme: 'light' });
      await model.clear();
      t.equal(await model.getKeys(), null);
    },
  },
];

const keysSpace = (space: string): object => ({
  space,
  description: 'Settings',
  structure: { theme: { type: String }, size: { type: Number }, labels: { type: Array } },
});

/** The client's type says array, its requests ask for one record. */
async function keysOf(model: Model): Promise<unknown> {
  const keys = await model.getKeys();
  return Array.isArray(keys) ? keys[0] : keys;
}

/** A call that fails throws in new versions, and answers nothing in old ones. */
async function fails(
  t: Test,
  { swallowsErrors }: Version,
  work: () => Promise<unknown>,
  statusCode: number,
): Promise<void> {
  if (swallowsErrors) t.equal(await work(), undefined);
  else await t.rejects(work(), { name: 'CallError', statusCode });
}

const operators: readonly (readonly [object, readonly string[]])[] = [
  [{ age: { gt: 36, lte: 85 } }, ['Grace', 'Alan']],
  [{ firstName: { in: ['Ada', 'Alan', 'b,c'] } }, ['Ada', 'Alan']],
  [{ $or: [{ firstName: 'Ada' }, { age: { gt: 80 } }] }, ['Ada', 'Grace']],
  [{ tags: { hasAll: ['maths'] } }, ['Ada']],
  [{ $not: [{ active: true }] }, ['Grace']],
];

let spaces = 0;
for (const version of full ? versions : versions.slice(0, 1)) {
  t.test(version.name, async (t) => {
    const absent: string[] = [];
    for (const operation of operations) {
      const keyGroup = operation.kind === 'key-group';
      const title = `${operation.name}${keyGroup ? ' of a key group' : ''}`;
      const create = keyGroup ? version.keyGroup : version.rowed;
      const name = `Space${++spaces}`;
      const space = keyGroup ? keysSpace(name) : peopleSpace(name);
      const model = create?.(space);
      if (typeof model?.[operation.name] !== 'function') {
        absent.push(title);
        continue;
      }
      t.test(title, async (t) => {
        const people = keyGroup ? [] : await model.insert([ada, grace], {});
        await operation.check(t, { model, people, version, space });
      });
    }

    t.strictSame(absent.sort(), [...version.lacks].sort());

    t.test('login', async (t) => {
      const space = peopleSpace('Login');
      const [user] = await version.rowed(space).insert([ada], {});
      const login = (body: object) => version.functions.login({ body, space });
      const answer = await login({ email: 'ada@x', password: 'secret one' });
      t.strictSame(answer.user, user);
      t.match(answer.token, /^[\w-]+\.[\w-]+\.[\w-]+$/);
      for (const wrong of [
        { email: 'ada@x', password: 'x' },
        { email: 'eve@x', password: 'x' },
        { email: 'ada@x' },
      ]) {
        t.equal(await login(wrong), null);
      }
    });

    t.test('a space for logged-in users', async (t) => {
      const usersSpace = peopleSpace('Member');
      await version.rowed(usersSpace).insert([ada], {});
      const { token } = await version.functions.login({
        body: { email: 'ada@x', password: 'secret one' },
        space: usersSpace,
      });
      const guarded = (more: object) =>
        version.rowed({
          space: 'Guarded',
          description: '',
          structure: { text: String },
          authOptions: {
            active: true,
            space: 'Member',
            scope: ['find', 'insert', 'update', 'delete'],
            ...more,
          },
        });
      const model = guarded({});
      await fails(t, version, () => model.insertOne({ text: 'x' }), 401);
      t.match(await model.insertOne({ text: 'mine' }, { token }), { text: 'mine' });
      await fails(t, version, () => model.find({}), 401);
      t.match(await model.find({}, { token }), [{ text: 'mine' }]);
      t.match(await guarded({ token }).find({}), [{ text: 'mine' }]);
      await fails(t, version, () => guarded({ token: 'x' }).find({}), 401);
    });

    t.test('a space with initial data', async (t) => {
      const model = version.rowed({ ...peopleSpace('Initial'), initialData: [ada, grace] });
      t.match(await model.find({}), [shownAda, shownGrace]);
      t.match(await model.find({}), { length: 2 });
    });

    // older versions know neither
    if (version === versions[0]) {
      t.test('operators and groups', async (t) => {
        const model = version.rowed(peopleSpace('Operators'));
        const alan = { ...ada, firstName: 'Alan', email: 'alan@x', age: 41, tags: [] };
        await model.insert([ada, grace, alan], {});
        for (const [conditions, expected] of operators) {
          const found: Any[] = await model.find(conditions);
          const names = found.map(({ firstName }) => firstName);
          t.strictSame(names, expected, JSON.stringify(conditions));
        }
      });

      t.test('objects', async (t) => {
        const model = version.rowed({ space: 'Homes', description: '', structure: { address: Object } });
        const address = { city: 'New York', zip: 10001 };
        const [{ id }] = await model.insert([{ address }, { address: { city: 'London' } }], {});
        t.strictSame((await model.findOne({ id })).address, address);
        const moved = await model.updateOneById(id, { address: { city: 'Paris' } });
        t.match(moved, { address: { city: 'Paris' } });
        t.match(await model.find({}), [{ address: { city: 'Paris' } }, { address: { city: 'London' } }]);
      });
    }

    t.test('a space with fields of types that the client does not have', async (t) => {
      const { baseUrl, token } = sluice;
      const project = `v${version.name.replaceAll('.', '-')}`;
      // as the client's peopleSpace, and more
      const known = [
        'firstName/first-name TEXT required',
        'email TEXT unique',
        'age NUMBER',
        'active BOOLEAN',
        'tags ARRAY',
      ];
      const fields = [
        ...fieldsOf(
          ...known,
          'password TEXT hashed',
          'at DATETIME',
          'day DATE',
          'whole INTEGER',
          'big BIGINT',
        ),
        { name: 'price', type: 'DECIMAL', precision: 18, scale: 2 },
      ];
      const exact = {
        at: '2026-01-31T12:00:00.000Z',
        day: '2026-01-31',
        whole: 3,
        big: '9223372036854775807',
      };
      const structure = structureOf(project, 'typed', fields);
      const made = await call({
        ...{ baseUrl, token, path: `/${project}/typed`, structure },
        body: [{ ...ada, ...exact, price: '12.3' }],
      });
      t.equal(made.status, 200, JSON.stringify(made.body));
      const stored = async (): Promise<Any[]> =>
        (await call({ baseUrl, token, path: `/${project}/typed`, headers: preStored })).body;
      const types = async (): Promise<Any> =>
        (await call({ baseUrl, token, path: `/_projects_/${project}/spaces/typed` })).body.fields.map(
          ({ name, type, precision, scale }: Any) => [name, type, precision, scale],
        );
      const before = await types();
      const model = version.rowed(peopleSpace('Typed'));
      t.match(await model.find({}), [shownAda]);
      t.match(await model.findOne({ email: 'ada@x' }), shownAda);
      t.match(await model.insertOne(grace), shownGrace);
      t.match(await model.updateOne({ email: 'ada@x' }, { age: 37 }), { age: 37 });
      t.match(await stored(), [
        { ...shownAda, age: 37, ...exact, price: '12.30' },
        { ...shownGrace, at: null, big: null, price: null },
      ]);
      t.strictSame(await types(), before, 'its structures change none of them');

      for (const name of ['at', 'day', 'big', 'price']) {
        const asNumber = version.rowed({ ...peopleSpace('Typed'), structure: { [name]: { type: Number } } });
        await fails(t, version, () => asNumber.insertOne({ [name]: 1 }), 400);
        await fails(t, version, () => asNumber.find({}), 400);
        if (!version.swallowsErrors)
          t.match(
            JSON.stringify(await asNumber.find({}).catch((thrown: unknown) => thrown)),
            new RegExp(
              `Field '${name}' is stored as [A-Z0-9, ()]+ and can not become NUMBER: 1 of 1 stored value`,
            ),
          );
      }
      t.strictSame(await types(), before);
    });

    t.test('failures reach the application as far as the version lets them', async (t) => {
      const model = version.rowed(peopleSpace('Failures'));
      await fails(t, version, () => model.insertOne({ firstName: 'x', age: 'old' }), 400);
      await fails(t, version, () => model.insertOne({ age: 1 }), 400);
      await fails(t, version, () => model.find({ age: 'x' }), 400);
      const error = await model.insertOne({ firstName: 'x', age: 'old' }).catch((thrown: unknown) => thrown);
      if (!version.swallowsErrors)
        t.match(JSON.stringify(error), /Value for Body field: 'age' should be a valid number/);
    });
  });
}
