import t from 'tap';
import { familyOf, operationNames } from '../../query/record-operation.ts';

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
