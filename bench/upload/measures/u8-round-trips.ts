import { once } from 'node:events';
import { prepareLoad } from '../harness/load-process.ts';
import { progress } from '../harness/progress.ts';
import type { BurstJob, BurstResult } from '../load/burst.ts';
import { startSluice } from '../subject/start-sluice.ts';
import type { Finding, Measure } from './measure.ts';
import { sendBurst } from './send-burst.ts';

const counter = './bench/upload/subject/count-statements.ts';
const uploads = 50;
/** A cached token expires after five seconds, so that revocations take effect. */
const knownFor = 4500;

/**
 * How often is the database asked about a token that the process knows? Counted inside the server, at the interface
 * of the embedded engine, by a module that is loaded before the server's own, not from its logs. A remark shows the other
 * statements and the S3 calls of an upload.
 */
export const u8: Measure = {
  id: 'U8',
  async run(bench): Promise<Finding[]> {
    const sluice = await startSluice({ ...bench, preload: [counter] });
    const statements = async (): Promise<Record<string, number>> => {
      const answer = once(sluice.child.process, 'message');
      sluice.child.process.send?.('report');
      return (await answer)[0] as Record<string, number>;
    };
    try {
      const job: BurstJob = {
        target: sluice.target,
        files: Array.from({ length: uploads }, (_, index) => ({ index: index + 2, size: 1024 })),
        connections: 4,
      };
      const load = await prepareLoad<BurstResult>('burst.ts', job);
      const first = await sendBurst(sluice, [{ index: 1, size: 1024 }]);
      await bench.sink.forget();
      const before = await statements();
      const begun = performance.now();
      load.go();
      const result = await load.result;
      const lasted = performance.now() - begun;
      const between = difference(await statements(), before);
      const { calls } = await bench.sink.report();
      const problems = [...first.problems, ...(await sluice.problems(result.uploads))];
      if (lasted > knownFor)
        problems.push(`the uploads took ${Math.round(lasted)} ms: the token was not known throughout`);
      if (!counted(before)) problems.push('the counter saw no statement at all: it does not count');
      const asked = Object.entries(between)
        .filter(([statement]) => statement.includes('access_token'))
        .reduce((sum, [, count]) => sum + count, 0);
      progress(`U8: ${uploads} uploads in ${Math.round(lasted)} ms: ${show(between)}`);
      return [
        {
          measure: 'U8',
          what: 'queries about a known token',
          subject: `${asked} in ${uploads} uploads`,
          baseline: '',
          goal: { bound: 'at most', first: 0, aim: 0, unit: '' },
          value: asked,
          shown: String(asked),
          problems,
          remark: `${uploads} uploads made these statements: ${show(between)}; and these S3 calls: ${show(calls)}`,
          details: { before, between, calls },
        },
      ];
    } finally {
      await sluice.stop();
    }
  },
};

function counted(counts: Record<string, number>): boolean {
  return Object.keys(counts).some((statement) => statement.includes('access_tokens'));
}

function difference(after: Record<string, number>, before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([statement, count]) => [statement, count - (before[statement] ?? 0)] as const)
      .filter(([, count]) => count > 0),
  );
}

function show(counts: Readonly<Record<string, number>>): string {
  const shown = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  return shown.length === 0 ? 'none' : shown.join(', ');
}
