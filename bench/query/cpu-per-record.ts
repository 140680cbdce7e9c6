/**
 * Question: what CPU time does a record of an insert of 5,000 cost, as an array and as NDJSON, with a copy of the records in
 * the answer and without? Findings: docs/decisions/090-inserts-without-a-copy.md.
 * `node --import tsx bench/query/cpu-per-record.ts [--rounds N] [--inserts N] [--unique true]`
 *
 * Records of eight fields, one insert after the other. Only CPU time of the service counts, from /proc, by thread. All forms
 * take turns in every round, each in a record space of its own. Medians.
 */
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { threadUsage } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { authorization, startService } from './direct-store.ts';
import { recordsFrom, structureOf } from './requests.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    inserts: { type: 'string', default: '10' },
    unique: { type: 'string', default: 'false' },
  },
});
const [rounds, inserts] = [Number(values.rounds), Number(values.inserts)];
const size = 5000;

const bodies = {
  array: (records: readonly object[]): string => JSON.stringify(records),
  NDJSON: (records: readonly object[]): string => records.map((record) => JSON.stringify(record)).join('\n'),
};
const forms = Object.keys(bodies).flatMap((body) =>
  ['', 'gzip'].flatMap((coding) =>
    ['', 'return=minimal'].map((prefer) => ({ body: body as keyof typeof bodies, coding, prefer })),
  ),
);

const folder = makeTemporaryDirectory();
const service = await startService(folder, {}, { script: 'query/main.ts' });
let first = 0;

async function insertAll({ body, coding, prefer }: (typeof forms)[number], index: number) {
  const slug = `${values.unique === 'true' ? 'people' : 'plain'}-${index}`;
  const headers = {
    authorization,
    structure: structureOf(slug),
    'content-type': body === 'array' ? 'application/json' : 'application/x-ndjson',
    ...(coding && { 'content-encoding': coding }),
    ...(prefer && { prefer }),
  };
  let [sent, answered] = [0, 0];
  for (let insert = 0; insert < inserts; insert++, first += size) {
    const text = bodies[body](recordsFrom(first, size));
    const bytes = coding === 'gzip' ? gzipSync(text) : Buffer.from(text);
    const answer = await fetch(`${service.ready}/bench/${slug}`, { method: 'POST', headers, body: bytes });
    const { byteLength } = await answer.arrayBuffer();
    if (answer.status !== (prefer ? 201 : 200)) throw new Error(`the answer was ${answer.status}`);
    [sent, answered] = [bytes.byteLength, byteLength];
  }
  return { sent, answered };
}

const samples = forms.map(() => ({ main: [] as number[], others: [] as number[], sent: 0, answered: 0 }));
for (let round = 0; round <= rounds; round++) {
  for (const [index, form] of forms.entries()) {
    const before = threadUsage(service.pid);
    const bytes = await insertAll(form, index);
    const after = threadUsage(service.pid);
    // round 0 warms up
    if (round === 0) continue;
    const sample = samples[index] as (typeof samples)[number];
    const perRecord = 1e6 / (inserts * size);
    sample.main.push((after.main - before.main) * perRecord);
    sample.others.push((after.others - before.others) * perRecord);
    Object.assign(sample, bytes);
  }
}
await service.stop();
removeTemporaryDirectory(folder);

process.stdout.write(
  `${machineLine(describeMachine())}; ${rounds} rounds of ${inserts} inserts of ${size} records\n\n`,
);
process.stdout.write(
  '| body | answer | JavaScript, µs of CPU a record | other threads | bytes sent | bytes answered |\n|---|---|---|---|---|---|\n',
);
for (const [index, { body, coding, prefer }] of forms.entries()) {
  const { main, others, sent, answered } = samples[index] as (typeof samples)[number];
  const cells = [median(main).toFixed(2), median(others).toFixed(2), sent, answered];
  process.stdout.write(
    `| ${body}${coding && `, ${coding}`} | ${prefer || 'records'} | ${cells.join(' | ')} |\n`,
  );
}
