/**
 * Question: what CPU time does an answer cost that is compressed, and one that nobody asked to be? Findings:
 * docs/decisions/069-compressed-answers.md. `node --import tsx bench/query/compressed-answers.ts [--root FOLDER]... [--rounds N]
 * [--codings gzip,zstd]`
 *
 * Lists of 1, 20 and 1,000 records that are kept, and lists that are each asked once; a process of each checkout, in turns.
 * CPU time of the whole process, from /proc.
 */
import { parseArgs } from 'node:util';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { describeMachine, machineLine } from '../upload/harness/machine.ts';
import { median } from '../upload/harness/median.ts';
import { threadUsage } from '../upload/harness/process-usage.ts';
import { progress } from '../upload/harness/progress.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { authorization, startService, structureOf } from './direct-store.ts';
import type { BenchRequest } from './requests.ts';
import { runLoad } from './run-load.ts';

const { values } = parseArgs({
  options: {
    root: { type: 'string', multiple: true, default: [repositoryRoot] },
    rounds: { type: 'string', default: '5' },
    codings: { type: 'string', default: 'gzip' },
  },
});
const codings = values.codings.split(',').filter(Boolean);
const rows = 50_000;
const structure = structureOf('people', [
  { name: 'name', type: 'TEXT' },
  { name: 'email', type: 'TEXT' },
  { name: 'number', type: 'NUMBER' },
  { name: 'twenty', type: 'NUMBER' },
  { name: 'thousand', type: 'NUMBER' },
]);
const headers = { authorization, structure, 'content-type': 'application/json' };
const record = (number: number) => ({
  name: `Person ${(number * 7919) % rows}`,
  email: `person-${(number * 104_729) % 1e6}@example.com`,
  number,
  twenty: Math.floor(number / 20),
  thousand: Math.floor(number / 1000),
});

const services = await Promise.all(
  values.root.map(async (root) => {
    const folder = makeTemporaryDirectory();
    const service = await startService(folder, {}, { root });
    for (let first = 0; first < rows; first += 5000) {
      const body = JSON.stringify(Array.from({ length: 5000 }, (_, at) => record(first + at)));
      const answer = await fetch(`${service.ready}/bench/people`, { method: 'POST', headers, body });
      if (answer.status !== 200) throw new Error(await answer.text());
    }
    return { root, folder, service };
  }),
);

let asked = 0;
const fields = { 1: 'number', 20: 'twenty', 1000: 'thousand' };
/** @param more makes another question with the same answer */
const path = (records: keyof typeof fields, at: number, more: number): string =>
  `/bench/people?${fields[records]}=${at % 50}&$limit=${records + 1 + more}`;
const amounts = { 1: 10_000, 20: 10_000, 1000: 1000 };
const kinds = ([1, 20, 1000] as const).flatMap((records) =>
  (['kept', 'each once'] as const).map((name) => ({
    ...{ name, records },
    amount: name === 'kept' ? amounts[records] : amounts[records] / 10,
  })),
);
const samples = new Map<string, number[]>();
for (let round = 0; round <= Number(values.rounds); round++) {
  for (const { name, records, amount } of kinds) {
    for (const accepted of ['', ...codings]) {
      const given = accepted === '' ? headers : { ...headers, 'accept-encoding': accepted };
      const requests: BenchRequest[] = Array.from({ length: name === 'kept' ? 50 : amount }, (_, at) => ({
        ...{ method: 'GET', path: path(records, at, name === 'kept' ? 0 : ++asked), headers: given },
      }));
      for (const { root, service } of services) {
        if (accepted !== '' && root !== repositoryRoot) continue;
        const before = threadUsage(service.pid);
        const { good, bad } = await runLoad({ url: service.ready, connections: 16, amount, requests });
        const after = threadUsage(service.pid);
        if (bad > 0) throw new Error(`${bad} bad answers`);
        const spent = ((after.main - before.main + after.others - before.others) * 1e6) / good;
        const key = `| ${records} | ${name} | ${accepted || '-'} | ${root === repositoryRoot ? '' : root} |`;
        progress(`${round} ${key} ${spent.toFixed(0)}`);
        // the first round compiles what the others run
        if (round > 0) samples.set(key, [...(samples.get(key) ?? []), spent]);
      }
    }
  }
}
for (const { folder, service } of services) {
  await service.stop();
  removeTemporaryDirectory(folder);
}
process.stdout.write(`${machineLine(describeMachine())}\n\n`);
process.stdout.write(
  '| records | | Accept-Encoding | checkout | CPU a request, us | of each round |\n|---|---|---|---|---|---|\n',
);
for (const [key, spent] of samples)
  process.stdout.write(
    `${key} ${median(spent).toFixed(0)} | ${spent.map((one) => one.toFixed(0)).join(' ')} |\n`,
  );
