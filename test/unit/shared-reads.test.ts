/** Finds that share statements: an expensive shape of them holds up nobody else. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { Database } from '../../common/clickhouse/database.ts';
import { createUuidV7 } from '../../common/metadata/uuid-v7.ts';
import { equals } from '../../query/input/parse-conditions.ts';
import type { StoredRow } from '../../query/sql/stored-row.ts';
import { SharedReads } from '../../query/store/shared-reads.ts';
import type { Field } from '../../query/structure/field.ts';
import type { RecordSpace } from '../../query/structure/record-space.ts';
import { openMigratedChdb } from '../services/migrated-chdb.ts';
import { spaceWith, storedStructure } from '../services/stored-structure.ts';
import { unmeasured } from '../services/unmeasured.ts';

const structure = storedStructure([
  { name: 'name', type: 'TEXT' },
  { name: 'age', type: 'NUMBER' },
]);
const [name, age] = structure.fields as [Field, Field];
const { signal } = new AbortController();
const newId = createUuidV7();
const newSpace = (): RecordSpace => spaceWith(structure, { id: randomUUID() });

t.test(
  'finds of one shape that take long hold up neither others of their space nor other spaces',
  async (t) => {
    const { db, database } = await openMigratedChdb(t);
    const [busy, other] = [newSpace(), newSpace()];
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const isSlow = (sql: string): boolean => sql.includes(busy.id) && sql.includes('t0 IN');
    let held = 0;
    let statements = 0;
    const slow: Database = {
      ...db,
      async stream(statement) {
        statements++;
        if (isSlow(statement.sql)) {
          held++;
          await released;
        }
        return db.stream(statement);
      },
    };
    const reads = new SharedReads({ db: slow, database, metrics: unmeasured });
    const rows = [busy, other].flatMap(({ id }) =>
      [0, 1, 2, 3].map(
        (i) => `('${id}', '${newId()}', now64(3), now64(3), 'n${i}', ${i}, map('t0', 'n${i}', 'n0', '${i}'))`,
      ),
    );
    const columns = 'space, _id, _created_at, _updated_at, t0, n0, _doc';
    await db.command({ sql: `INSERT INTO ${database}.records (${columns}) VALUES ${rows.join(', ')}` });

    const order: string[] = [];
    const find = async (
      space: RecordSpace,
      field: Field,
      value: string | number,
      alone = async () => 'alone',
    ) => {
      const conditions = {
        relationship: 'And' as const,
        plain: [equals(field, value)],
        others: [],
        hashed: [],
      };
      const shared = (found: readonly StoredRow[]): string => found.map(({ _doc }) => _doc.t0).join();
      const answers = { shared, alone, settings: '', timeout: undefined };
      const answer = await reads.find(space, { conditions, sort: null, page: null }, signal, answers);
      order.push(`${space === busy ? 'busy' : 'other'} ${field.name} ${answer}`);
    };
    // the first is alone with its statement, and the next ones share one: both are held
    let end = (): void => {};
    const first = find(busy, name, 'n0', async () => {
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      return 'alone';
    });
    const later = [1, 2, 3].map((i) => find(busy, name, `n${i}`));
    const others = (): Promise<unknown> =>
      Promise.all([
        ...[1, 2, 3].map((i) => find(busy, age, i)),
        ...[1, 2, 3].map((i) => find(other, name, `n${i}`)),
      ]);
    const answered = [
      'busy age alone',
      'busy age n2',
      'busy age n3',
      'other name alone',
      'other name n2',
      'other name n3',
    ];
    await others();
    t.strictSame(order.splice(0).sort(), answered);
    end();
    await first;
    t.strictSame(order.splice(0), ['busy name alone']);
    await others();
    t.strictSame(order.splice(0).sort(), answered, 'also while a statement of several is held');
    t.equal(held, 1);
    release();
    await Promise.all(later);
    t.strictSame(order.sort(), ['busy name n1', 'busy name n2', 'busy name n3']);
    t.equal(statements, 5, 'those of one shape shared theirs');
  },
);
