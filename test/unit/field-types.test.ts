/** What a field type is stands in query/records/types: a type that others name is one more place to change for a new one. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { typeNames } from '#records/types/field-types.ts';

const root = join(import.meta.dirname, '../..');
/** Names of types in code outside the table: those of Parquet's own types, the engine's types of columns, and samples. They only get fewer. */
const named: Readonly<Record<string, number>> = {
  'events/webhook-routes.ts': 1,
  'query/imports/formats/parquet-cells.ts': 5,
  'query/openapi/operation-sample.ts': 2,
  'query/records/structure/example-structure.ts': 2,
};

t.test('nothing but the table names a field type', async (t) => {
  const pattern = new RegExp(`'(?:${typeNames.join('|')})'`, 'g');
  const found: Record<string, number> = {};
  for (const folder of ['cli', 'common', 'events', 'gateway', 'query']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, name);
      if (!path.endsWith('.ts') || path.startsWith('query/records/types/')) continue;
      const count = readFileSync(join(root, path), 'utf8').match(pattern)?.length ?? 0;
      if (count > 0) found[path] = count;
    }
  }
  t.strictSame(found, named);
});
