/** Rows of a file become records; bad ones are in the report, and the others are stored. */
import t from 'tap';
import { Problem } from '../../console/web/problem.ts';
import type { Field } from '../../console/web/projects/structure.ts';
import { type ImportReport, importRecords } from '../../console/web/records/import-records.ts';
import { type ImportRow, mapColumns, readRow } from '../../console/web/records/import-rows.ts';

const field = { required: false, unique: false, hashed: false };
const fields: readonly Field[] = [
  { ...field, name: 'fullName', slug: 'full-name', type: 'TEXT', required: true },
  { ...field, name: 'age', slug: 'age', type: 'NUMBER' },
  { ...field, name: 'tags', slug: 'tags', type: 'ARRAY' },
];

t.test('columns find their fields by name, slug, and name in any case', async (t) => {
  const columns = mapColumns(['id', 'full-name', 'AGE', 'fullName', ' tags ', 'other', 'createdAt'], fields);
  t.strictSame(
    columns.map(({ field }) => field),
    [null, 'fullName', 'age', null, 'tags', null, null],
  );
});

t.test('cells become values, or problems', async (t) => {
  const columns = mapColumns(['fullName', 'age', 'tags', 'other'], fields);
  const reader = { fields, columns, unguard: true };
  const read = (...cells: (string | null)[]) => readRow({ line: 2, cells }, reader);
  t.strictSame(read("'=Ada", '36', '["a"]', 'x'), {
    line: 2,
    text: '{"fullName":"=Ada","age":36,"tags":["a"]}',
  });
  t.strictSame(read('', '', null), { line: 2, text: '{"fullName":""}' });
  t.strictSame(read(null, '1'), { line: 2, problem: 'fullName: This field is required.' });
  t.match(read('a', 'old', '{}'), { problem: /^age: Write a number.* tags: Write a JSON array/ });
  t.match(read('a', null, null, null, 'more'), { problem: /5 cells, and the file 4 columns/ });
  t.strictSame(readRow({ line: 3, cells: ["'=Ada"] }, { ...reader, unguard: false }), {
    line: 3,
    text: '{"fullName":"\'=Ada"}',
  });
});

t.test('records become values, or problems', async (t) => {
  const reader = { fields, columns: mapColumns(['id', 'full-name', 'age'], fields), unguard: true };
  const read = (record: unknown) => readRow({ line: 1, record }, reader);
  t.strictSame(read({ id: 'x', 'full-name': "'=a", age: null, createdAt: 'c' }), {
    line: 1,
    text: `{"fullName":"'=a"}`,
  });
  t.match(read({ 'full-name': 'a', age: '36' }), { problem: 'age: TEXT where NUMBER is wanted.' });
  t.match(read({ 'full-name': 'a', new: 1 }), { problem: 'new: the preview had no such key.' });
  t.match(read([]), { problem: /no JSON object/ });
  t.match(read(null), { problem: /no JSON object/ });
});

async function* rowsOf(count: number): AsyncGenerator<ImportRow> {
  for (let line = 1; line <= count; line++) {
    yield line === 3 ? { line, problem: 'unreadable' } : { line, text: JSON.stringify({ n: line }) };
  }
}

interface Setting {
  readonly send: (numbers: readonly number[]) => void;
  readonly count?: number;
  readonly batchRecords?: number;
  readonly signal?: AbortSignal;
}

async function run({ send, count = 20, batchRecords = 8, signal = new AbortController().signal }: Setting) {
  const bodies: number[][] = [];
  const waits: number[] = [];
  const report = await importRecords({
    rows: rowsOf(count),
    batchRecords,
    signal,
    progress: () => undefined,
    wait: async (seconds) => void waits.push(seconds),
    send: async (body) => {
      const numbers = (JSON.parse(body) as { n: number }[]).map(({ n }) => n);
      bodies.push(numbers);
      send(numbers);
    },
  });
  return { report, bodies, waits };
}

function refuse(status: number, details: readonly string[], retryAfter?: number): never {
  throw new Problem('refused', { status, details, retryAfter });
}

t.test('rows go in batches', async (t) => {
  const { report, bodies } = await run({ send: () => {} });
  t.strictSame(
    bodies.map(({ length }) => length),
    [8, 8, 3],
  );
  const expected: ImportReport = {
    stored: 19,
    badCount: 1,
    bad: [{ line: 3, problem: 'unreadable' }],
    stopped: null,
  };
  t.strictSame(report, expected);
});

t.test('bad rows are found by their index', async (t) => {
  const send = (numbers: readonly number[]): void => {
    const problems = numbers.flatMap((n, index) =>
      n % 5 === 0 ? [`n is ${n} (record at index ${index})`] : [],
    );
    if (problems.length > 0) refuse(400, problems);
  };
  const { report, bodies } = await run({ send });
  t.equal(report.stored, 15);
  t.strictSame(
    report.bad.map(({ line }) => line),
    [3, 5, 10, 15, 20],
  );
  t.equal(report.bad[1]?.problem, 'n is 5');
  t.equal(bodies.length, 6);
});

t.test(
  'bad rows that the refusal does not name are found by halving, and the first of two equal ones stays',
  async (t) => {
    const stored = new Set<number>();
    const send = (numbers: readonly number[]): void => {
      const values = numbers.map((n) => n % 16);
      if (new Set(values).size < values.length || values.some((value) => stored.has(value)))
        refuse(400, ['not unique']);
      for (const value of values) stored.add(value);
    };
    const { report } = await run({ send, batchRecords: 100 });
    t.equal(report.stored, 16);
    t.strictSame(
      report.bad.map(({ line }) => line),
      [3, 17, 18, 20],
    );
  },
);

t.test(
  'a full service is waited for; any other failure ends the import and says what is not known',
  async (t) => {
    let busy = 2;
    const patient = await run({ send: () => void (busy-- > 0 && refuse(503, ['full'], 90)) });
    t.strictSame([patient.report.stored, patient.waits], [19, [60, 60]]);
    const cut = await run({
      send: (numbers) => void (numbers[0] === 10 && refuse(0, ['no answer'])),
    });
    t.strictSame([cut.report.stored, cut.report.stopped], [8, { problem: 'no answer', unsure: [10, 17] }]);
    const denied = await run({ send: () => refuse(403, ['quota']) });
    t.strictSame(denied.report.stopped, { problem: 'quota', unsure: null });
    const stopped = await run({ send: () => {}, signal: AbortSignal.abort() });
    t.match(stopped.report, { stored: 0, stopped: { problem: 'You stopped the import.', unsure: null } });
  },
);

t.test('a million bad rows are counted, and a thousand are listed', async (t) => {
  async function* rows(): AsyncGenerator<ImportRow> {
    for (let line = 1; line <= 5000; line++) yield { line, problem: 'bad' };
  }
  const report = await importRecords({
    rows: rows(),
    send: async () => {},
    batchRecords: 10,
    signal: new AbortController().signal,
    progress: () => undefined,
    wait: async () => undefined,
  });
  t.strictSame([report.badCount, report.bad.length], [5000, 1000]);
});
