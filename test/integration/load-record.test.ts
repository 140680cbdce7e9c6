/** Runs as records of a Sluice, which `compare` reads again. */
import t from 'tap';
import { connect, datetime, find, integer, number, space, text } from '#client/index.ts';
import { readRecordedRun, recordRun } from '../../load/record-run.ts';
import { drawnRun } from '../services/drawn-run.ts';
import { rejectionOf } from '../services/rejection-of.ts';
import { sluiceFor } from '../services/start-sluice.ts';

const sluice = await sluiceFor(t);
const { token } = sluice;

t.test('a run is stored with what one asks by, and read again as it was', async (t) => {
  const run = drawnRun({
    seed: 1,
    seconds: 60,
    changes: { warnings: ['The tool was busy.'], verified: { checked: 9, bytes: 10, wrong: ['lost'] } },
  });
  const later = drawnRun({
    seed: 2,
    changes: { began: '2026-02-01T08:00:00.000Z', cost: { ...run.cost, target: null } },
  });
  const addresses = [];
  for (const one of [run, later])
    addresses.push(await recordRun(`${sluice.baseUrl}/lab/load-runs`, token, one));
  t.match(addresses[0], /\/lab\/load-runs\/[^/]+$/);
  for (const [index, one] of [run, later].entries())
    t.strictSame(await readRecordedRun(addresses[index] as string, token), JSON.parse(JSON.stringify(one)));

  const db = connect({ url: sluice.baseUrl, token, project: 'lab' });
  const runs = space('load-runs', {
    began: datetime({ required: true }),
    ended: datetime({ required: true }),
    p99: number({ required: true }),
    targetCpu: number(),
    mix: text({ required: true }),
    wrong: integer(),
  });
  const found = await find(db, runs, {
    where: { began: { lt: new Date('2026-02-01') } },
    select: ['began', 'ended', 'p99', 'targetCpu', 'mix'],
  });
  t.match(found, [
    {
      ...{ began: '2026-01-31T12:00:00.000Z', ended: '2026-01-31T12:01:02.000Z', mix: 'records' },
      ...{ p99: run.totals.latency.p99, targetCpu: run.cost.target?.cpu },
    },
  ]);
});

t.test('a run of a day fits', async (t) => {
  const address = await recordRun(
    `${sluice.baseUrl}/lab/load-runs/`,
    token,
    drawnRun({ seed: 1, seconds: 86_400 }),
  );
  t.equal((await readRecordedRun(address, token)).windows.length, 86_402);
});

t.test('what does not work is said', async (t) => {
  const run = drawnRun({ seed: 1, seconds: 5 });
  const { baseUrl } = sluice;
  for (const address of ['lab/load-runs', 'http://127.0.0.1/lab', 'ftp://127.0.0.1/lab/load-runs'])
    t.match(await rejectionOf(recordRun(address, token, run)), {
      message: `${address} is not the address of a record space: http://HOST/PROJECT/SPACE`,
    });
  t.match(await rejectionOf(recordRun(`${baseUrl}/lab/load-runs`, 'wrong', run)), { status: 401 });
  t.match(await rejectionOf(readRecordedRun(`${baseUrl}/lab/load-runs/none`, token)), {
    message: `${baseUrl}/lab/load-runs/none: there is no such record`,
  });
});
