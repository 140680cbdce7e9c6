import { setTimeout as sleep } from 'node:timers/promises';
import type { Test } from 'tap';
import type { QueryAnswer, QueryCall } from './query-harness.ts';
import { structureOf } from './record-client.ts';

type Call = (call: QueryCall) => Promise<Pick<QueryAnswer, 'status' | 'code' | 'body' | 'problems'>>;

const preStored = { 'use-pre-stored-structure': 'true' };

/** A type of the field, and how its values are answered. */
interface TypeForm {
  readonly type: string;
  readonly precision?: number;
  readonly scale?: number;
  readonly answer: (value: number) => unknown;
}

const text: TypeForm = { type: 'TEXT', answer: String };
const number: TypeForm = { type: 'NUMBER', answer: (value) => value };

export function decimalForm(scale: number): TypeForm {
  return { type: 'DECIMAL', precision: 12, scale, answer: (value) => value.toFixed(scale) };
}

interface TypeLoad {
  readonly slug: string;
  readonly changes: number;
  readonly unique: boolean;
  /** The first type, and the one that it becomes. */
  readonly forms?: readonly [TypeForm, TypeForm];
}

/**
 * Changes the type of a field to and fro while records are written and read through all processes. Nothing that was
 * acknowledged is lost, whichever process is asked and whatever the type is by then.
 */
export async function changeTypesUnderLoad(
  t: Test,
  processes: readonly Call[],
  { slug, changes, unique, forms = [text, number] }: TypeLoad,
): Promise<void> {
  const path = `/p/${slug}`;
  const structure = ({ answer: _, ...type }: TypeForm): string =>
    structureOf('p', slug, [
      { name: 'a', ...type, unique },
      { name: 'b', type: 'TEXT' },
    ]);
  const change = (by: Call, form: TypeForm) =>
    by({ path: `${path}/set-structure`, body: JSON.parse(structure(form)) });
  await change(processes[0] as Call, forms[0]);
  /** What each record may have: one value, or several after a write of which nobody knows. */
  const expected = new Map<string, Set<number>>();
  const counts = { inserts: 0, updates: 0, unavailable: 0, reads: 0 };
  const wrong: string[] = [];
  const read = async (by: Call, id: string): Promise<void> => {
    const before = new Set(expected.get(id));
    const { status, body, problems } = await by({ path, headers: preStored, query: [['id', id]] });
    counts.reads++;
    const value = status === 200 ? body[0]?.a : `${status} ${problems}`;
    if (!before.has(Number(value))) wrong.push(`${id} is ${JSON.stringify(value)}, not ${[...before]}`);
  };
  let stop = false;
  const write = async (index: number): Promise<void> => {
    const by = processes[index % processes.length] as Call;
    const other = processes[(index + 1) % processes.length] as Call;
    let last: string | null = null;
    for (let i = 1; !stop; i++) {
      const value = index * 1_000_000 + i + (forms[0] === text ? 0 : 0.25);
      const updated: string | null = i % 2 === 0 ? last : null;
      if (updated !== null) expected.get(updated)?.add(value);
      const request: Omit<QueryCall, 'body'> =
        updated === null
          ? { path: `${path}/_single_`, headers: preStored }
          : { path: `${path}/update-by-id`, headers: preStored, query: [['id', updated]] };
      let unknown = false;
      // which type it has at the moment nobody knows
      for (const a of [value, String(value)]) {
        const { status, code, body, problems } = await by({ ...request, body: { a } });
        if (status === 200) {
          if (updated === null) counts.inserts++;
          else counts.updates++;
          last = body.id as string;
          expected.set(last, new Set([value]));
          await read(other, last);
          break;
        }
        if (status === 503) {
          counts.unavailable++;
          unknown = true;
        } else if (code !== 'invalid_value' && !(unknown && code === 'not_unique'))
          wrong.push(`a write was answered ${status} ${problems}`);
      }
      await sleep(1);
    }
  };
  const writing = [0, 1, 2, 3].map(write);
  const types: string[] = [];
  for (let i = 0; i < changes; i++) {
    const form = i % 2 === 0 ? forms[1] : forms[0];
    const { status, problems } = await change(processes[i % processes.length] as Call, form);
    types.push(status === 200 ? 'changed' : `${status} ${problems}`);
    const written = counts.inserts;
    while (counts.inserts < written + 8) await sleep(5);
  }
  stop = true;
  await Promise.all(writing);
  t.strictSame(
    types,
    types.map(() => 'changed'),
    'all changes were made',
  );
  const { answer } = forms[changes % 2] as TypeForm;
  for (const by of processes) {
    const { body } = await by({ path, headers: preStored, query: '' });
    const found = new Map((body as { id: string; a: unknown }[]).map(({ id, a }) => [id, a]));
    for (const [id, values] of expected) {
      const value = found.get(id);
      if (![...values].some((one) => answer(one) === value))
        wrong.push(`${id} ended as ${JSON.stringify(value)}`);
    }
    // answers are made of texts, and sums of the engine's numbers
    const sums = { path: `${path}/_aggregate_`, headers: preStored, body: { values: { sum: { sum: 'a' } } } };
    if (answer !== text.answer) {
      const sum = [...found.values()].reduce<number>((sum, a) => sum + hundredths(a), 0);
      t.equal(
        hundredths((await by(sums)).body[0]?.sum),
        sum,
        'the numbers of the engine are those of the texts',
      );
    }
  }
  t.strictSame(wrong.slice(0, 5), [], `${wrong.length} wrong`);
  if (unique) {
    const [values] = [...expected.values()].filter(({ size }) => size === 1) as [Set<number>];
    const a = answer([...values][0] as number);
    for (const by of processes) {
      const again = await by({ path: `${path}/_single_`, headers: preStored, body: { a } });
      t.match(again, { status: 400, code: 'not_unique' });
      t.equal((await by({ path, headers: preStored, query: [['a', String(a)]] })).body.length, 1);
    }
  }
  t.comment(`${slug}: ${JSON.stringify(counts)}`);
}

function hundredths(value: unknown): number {
  return Math.round(Number(value) * 100);
}
