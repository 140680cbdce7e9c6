import t from 'tap';
import { operations, scopes } from '#query/operations.ts';

t.test('families', async (t) => {
  const byFamily: Record<string, string[]> = {};
  for (const { name, family } of operations) {
    const key = family ?? 'none';
    byFamily[key] = [...(byFamily[key] ?? []), name];
  }
  t.strictSame(byFamily, {
    find: [
      ...['find', 'findOne', 'search', 'count', 'aggregate', 'liveAddress', 'getKeys'],
      ...['exportCsv', 'exportNdjson', 'exportJson', 'exportParquet', 'exportArrow', 'getOpenApi'],
    ],
    insert: ['insert', 'insertOne', 'import'],
    update: ['updateOne', 'updateOneById', 'updateMany', 'setKeys'],
    delete: ['deleteOneById', 'deleteMany', 'clear'],
    none: [
      'getTokenOwner',
      'login',
      'signUp',
      'verifyEmail',
      'resetPassword',
      'refreshLogin',
      'logout',
      'oidcStart',
      'oidcLogin',
      'sendOtp',
      'sendPushNotifications',
      'setStructure',
      'setInferredStructure',
      'getInferredStructure',
    ],
  });
});

t.test('each is there once, under an address of its own', async (t) => {
  const names = operations.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
  const routes = operations.map(({ method, path }) => `${method} ${path}`);
  t.equal(new Set(routes).size, routes.length);
});

t.test('a scope is a family, or an operation of one', async (t) => {
  t.strictSame(scopes.slice(0, 4), ['find', 'insert', 'update', 'delete']);
  for (const name of ['find', 'findOne', 'setKeys', 'clear']) t.ok(scopes.includes(name), name);
  for (const name of ['login', 'getTokenOwner', 'setStructure', 'null']) t.notOk(scopes.includes(name), name);
});
