/** The samples of docs/import-export.md, as a reader would copy them: curl, pandas, pyarrow and DuckDB. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { eventuallyEqual } from '../services/eventually-equal.ts';
import { installPython } from '../services/python-packages.ts';
import { call, fieldsOf, structureOf } from '../services/record-client.ts';
import { runToEnd, sluiceFor } from '../services/start-sluice.ts';
import { temporaryFolder } from '../services/temporary-folder.ts';

const run = promisify(execFile);
const page = join(import.meta.dirname, '../../docs/import-export.md');
const packages = await installPython(['pandas==3.1.1', 'pyarrow==26.0.1', 'duckdb==2.0.1']);
if (packages === null)
  t.comment('NOT TESTED with pandas and DuckDB: it takes Python 3 with pip to install them.');

const fields = 'customer TEXT, status TEXT, amount NUMBER, paid BOOLEAN, tags ARRAY, home OBJECT, note TEXT';
const structure = structureOf('shop', 'orders', fieldsOf(fields));
const doubles = [0.1, 1e23, 5e-324, -1.7976931348623157e308, 9007199254740991, 123.456, 100, 1 / 3];
const orders = Array.from({ length: 500 }, (_, at) => ({
  customer: ['Ada', 'Grüße, 😀', 'a "quoted" one', '\ufeffmarked'][at % 4],
  status: at % 3 === 0 ? 'paid' : 'open',
  amount: doubles[at % doubles.length],
  ...(at % 5 === 0 ? {} : { paid: at % 2 === 0 }),
  tags: at % 2 === 0 ? ['x', at] : [],
  home: { city: 'Rome', at },
  note: ['=1+1', '', "'quoted", 'two\nlines'][at % 4],
}));

t.test('what the page shows works', { skip: packages === null }, async (t) => {
  const { baseUrl, token, dataDir } = await sluiceFor(t);
  const may = 'find,insert,structure,files:read,files:write,backup';
  const made = await runToEnd('cli/token.ts', ['--may', may], { DATA_DIR: dataDir });
  const backup = made.stdout.trim();
  const folder = await temporaryFolder(t);
  const ask = (path: string, more: object = {}) => call({ baseUrl, token, path, structure, ...more });
  t.equal((await ask('/shop/orders', { body: orders })).status, 200);
  const lines = async (space: string): Promise<string> => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${baseUrl}/${space}/_export_.ndjson`, { headers })).text();
  };
  const before = await lines('shop/orders');
  const env = { PATH: process.env.PATH ?? '', HOME: folder, PYTHONPATH: packages ?? '', TOKEN: backup };
  const python = async (program: string): Promise<string> => {
    await writeFile(join(folder, 'sample.py'), program);
    return (await run('python3', ['sample.py'], { cwd: folder, env })).stdout;
  };

  let imports = 0;
  let programs = '';
  for (const [, language = '', text = ''] of (await readFile(page, 'utf8')).matchAll(
    /^```(\w+)\n([\s\S]*?)^```$/gm,
  )) {
    if (language === 'sh') {
      const { stdout } = await run('bash', ['-euc', text.replaceAll('http://127.0.0.1:8080', baseUrl)], {
        cwd: folder,
        env,
      });
      // rows, and then groups
      if (text.includes('QUERY')) t.match(stdout, /^\[\{.*\}\s*\]\[\{"status":"open","orders":333,.*\}\]$/s);
      if (!text.includes('_import_')) continue;
      imports++;
      const { id } = JSON.parse(stdout) as { id: string };
      const state = async () => ((await ask(`/_jobs_/${id}`)).body as { state: string }).state;
      await eventuallyEqual(t, state, 'done', text);
    }
    // later programs go on with what those before made, and need a file that a later sample makes
    if (language === 'py') programs += text;
    if (language === 'sql')
      programs += `import duckdb\nprint(duckdb.sql("""${text.replace(';', '')}""").fetchall())\n`;
  }
  t.equal(imports, 2);
  t.match(await python(programs), /\('paid', \d+, /);

  const paid = (await readFile(join(folder, 'paid.csv'), 'utf8')).split('\r\n');
  t.match(paid[0], '"id","customer","amount","home.city"');
  t.equal(await lines('moved/orders'), await lines('shop/orders'), 'moved with ids and times');

  // all formats say the same, bit by bit
  const url = `${baseUrl}/moved/orders/_export_`;
  for (const format of ['parquet', 'arrow', 'csv'])
    await run('curl', ['-sfo', `all.${format}`, '-H', `Authorization: Bearer ${token}`, `${url}.${format}`], {
      cwd: folder,
    });
  await writeFile(join(folder, 'all.ndjson'), await lines('moved/orders'));
  const checked = await python(`
import json, struct, pandas as pd, pyarrow.parquet as pq, pyarrow.feather as feather
bits = lambda values: [struct.pack('<d', value) for value in values]
rows = [json.loads(line) for line in open('all.ndjson', encoding='utf-8')]
table = pq.read_table('all.parquet')
assert table.equals(feather.read_table('all.arrow').cast(table.schema))
assert str(table.schema.field('createdAt').type) == 'timestamp[ms, tz=UTC]', table.schema
columns = table.to_pydict()
assert columns['id'] == [row['id'] for row in rows]
assert bits(columns['amount']) == bits(row['amount'] for row in rows)
for name in ('customer', 'status', 'paid', 'note'): assert columns[name] == [row[name] for row in rows], name
for name in ('tags', 'home'): assert [json.loads(text) for text in columns[name]] == [row[name] for row in rows]
frame = pd.read_csv('all.csv', float_precision='round_trip', keep_default_na=False, dtype={'note': str})
assert bits(frame.amount) == bits(row['amount'] for row in rows)
assert list(frame.note) == [row['note'] for row in rows]
feather.write_feather(table, 'again.arrow', compression='lz4')
pq.write_table(table, 'again.parquet', compression='zstd', row_group_size=100)
table.to_pandas().to_csv('again.csv', index=False)
print('same')
`);
  t.match(checked, 'same');
  // and what they write comes back as it was
  for (const format of ['arrow', 'parquet']) {
    const path = `again-${format}/orders`;
    t.equal(
      (
        await ask(`/${path}/set-structure`, {
          body: structureOf(`again-${format}`, 'orders', fieldsOf(fields)),
        })
      ).status,
      200,
    );
    const sent = await fetch(`${baseUrl}/${path}/_import_?format=${format}&keep=id,createdAt,updatedAt`, {
      method: 'POST',
      headers: { authorization: `Bearer ${backup}` },
      body: await readFile(join(folder, `again.${format}`)),
    });
    const { id } = (await sent.json()) as { id: string };
    await eventuallyEqual(
      t,
      async () => ((await ask(`/_jobs_/${id}`)).body as { state: string }).state,
      'done',
      format,
    );
    t.equal(await lines(path), await lines('moved/orders'), format);
  }
  t.not(before, '');
});
