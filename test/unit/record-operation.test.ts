import t from 'tap';
import { familyOf, operationNames, operationOf, recordOperations } from '../../query/record-operation.ts';

t.test('every operation is told by its method and path', async (t) => {
  for (const name of operationNames) {
    const { method, suffix } = recordOperations[name];
    t.equal(operationOf({ method, path: suffix === '' ? '/p/s' : `/p/s/${suffix}` }), name);
  }
  t.equal(operationOf({ method: 'HEAD', path: '/p/s/_single_' }), 'findOne');
});

t.test('what is no operation is none: nothing passes for something harmless', async (t) => {
  for (const [method, path] of [
    ['PUT', '/p/s'],
    ['POST', '/p/s/clear-records'],
    ['GET', '/p/s/update'],
    ['GET', '/p/s/nosuch'],
    ['GET', '/p/s/__proto__'],
    ['get', '/p/s'],
  ] as const) {
    t.throws(() => operationOf({ method, path }), { message: /no record operation/ });
  }
});

t.test('families', async (t) => {
  const byFamily: Record<string, string[]> = {};
  for (const name of operationNames) {
    const family = familyOf(name) ?? 'none';
    byFamily[family] = [...(byFamily[family] ?? []), name];
  }
  t.strictSame(byFamily, {
    find: ['find', 'findOne', 'search', 'getKeys'],
    insert: ['insert', 'insertOne'],
    update: ['updateOne', 'updateOneById', 'setKeys'],
    delete: ['deleteOneById', 'clear'],
    none: ['getTokenOwner', 'login', 'setStructure', 'setInferredStructure'],
  });
});
