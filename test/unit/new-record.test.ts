/** What is written and answered of new records, against what is made of their rows. */
import t from 'tap';
import { validateRecords } from '#records/input/validate-record.ts';
import { newRecordJson, newRecordLines, newRecordsJson, rowOf } from '#records/sql/new-record.ts';
import { readRow } from '#records/sql/packed-row.ts';
import { keyOf } from '#records/sql/record-keys.ts';
import { recordLines, storedJson } from '#records/sql/record-row.ts';
import { newBlock } from '#records/sql/row-block.ts';
import { parseStructure } from '#records/structure/parse-structure.ts';
import { assignSlots, uniqueSlots } from '#records/structure/slots.ts';
import { createStructure, type Structure } from '#records/structure/structure.ts';
import { collectUniqueValues } from '#records/unique-values.ts';
import { hostileTexts } from '../services/hostile-texts.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

const idle = new AbortController().signal;
const id = '018f3f0c-1111-5222-8333-444455556666';

const fields: FieldInput[] = [
  { name: 'email', type: 'TEXT', unique: true },
  { name: 'number "one"', slug: 'number-one', type: 'NUMBER', unique: true },
  { name: '__proto__', slug: 'proto', type: 'BOOLEAN' },
  { name: 'list', type: 'ARRAY' },
  { name: 'object', type: 'OBJECT' },
  { name: 'secret', type: 'TEXT', hashed: true },
  // the last ones have no column
  ...Array.from({ length: 24 }, (_, i) => ({ name: `text ${i}`, slug: `text-${i}`, type: 'TEXT' })),
  ...Array.from({ length: 16 }, (_, i) => ({ name: `n${i}`, type: 'NUMBER', unique: i === 15 })),
];

function declared(): Structure {
  const { structure, problems } = parseStructure(structureOf('p', 's', fields));
  if (structure === null) throw new Error(problems.join());
  return createStructure({ ...structure, fields: assignSlots(structure.fields, []) });
}

const structure = declared();
const space = { id, catalogueId: id, ownerId: 'o', projectId: 'p', structure, stored: structure };
const bodies: Record<string, unknown>[] = [
  { email: 'only one value' },
  { email: 'a', 'number "one"': 1e21, proto: true, list: [1, 'é'], object: { b: 1, a: [] }, secret: 's' },
  { email: 'b', 'number-one': -0, list: [], object: {}, n15: 0.1, n0: 5e-324, 'text 23': 'no column' },
  ...hostileTexts.map((text, i) => ({
    email: `${i} ${text}`,
    'text 0': text,
    'text 23': text,
    secret: text,
    list: [text],
    object: { [text]: text },
    n1: i / 7,
    n15: i,
  })),
];

async function made() {
  const records = await validateRecords(JSON.parse(JSON.stringify(bodies)), structure, idle);
  const unique = [...(await collectUniqueValues(space, records, idle)).values()];
  const createdAt = '2026-11-22T10:20:30.456Z';
  return { unique, records: records.map((values, i) => ({ id: `id-${i}`, createdAt, values })) };
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

t.test('lines and answers are those of the rows', async (t) => {
  const { records, unique } = await made();
  const rows = records.map((record) => {
    const { row, hashes } = rowOf(space, record);
    const slots = uniqueSlots(structure).filter((slot) => row._doc[slot] !== undefined);
    return { row, hashes, spaceId: id, keys: slots.map((slot) => keyOf(slot, row._doc[slot] as string)) };
  });
  const parsed = (lines: Uint8Array): unknown[] => textOf(lines).trimEnd().split('\n').map(asJson);
  const block = await newBlock(space, records, unique, idle);
  t.strictSame(
    Array.from(block.begins, (begin) => readRow(block.rows, begin)),
    rows.map(({ row }) => row),
    'the rows of a block',
  );
  t.strictSame(
    parsed(await newRecordLines(space, records, unique, idle)),
    parsed(await recordLines(rows, idle)),
    'with keys',
  );
  for (const [i, record] of records.entries()) {
    t.equal(newRecordJson(structure, record), storedJson(structure, (rows[i] as (typeof rows)[0]).row));
  }
  const array = `[${records.map((record) => newRecordJson(structure, record)).join(',')}]`;
  t.equal(textOf(await newRecordsJson(structure, records, idle)), array);
});

t.test('a record without any value has a row', async (t) => {
  const empty = { id: 'x', createdAt: '2026-11-22T10:20:30.456Z', values: structure.fields.map(() => null) };
  t.match(textOf(await newRecordLines(space, [empty], [], idle)), /,"_doc":\{\},"_hashes":\{\}\}\n$/);
});

function asJson(line: string): unknown {
  return JSON.parse(line) as unknown;
}
