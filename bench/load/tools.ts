import { accessSync, constants } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { repositoryRoot } from '../upload/harness/child-process.ts';
import { findAutocannon } from '../upload/load/run-autocannon.ts';

/** What a tool reports of a run. */
export interface Report {
  readonly requests: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Requests that it was to send, and did not. */
  readonly dropped: number;
}

/** How a run loads the server. */
export interface Load {
  readonly url: string;
  readonly seconds: number;
  /** Requests a second; null: each connection sends the next request after the last answer. */
  readonly rate: number | null;
  readonly connections: number;
  /** For files of the tool. */
  readonly folder: string;
}

export interface Tool {
  readonly name: string;
  /** @returns the command, or null where it is not installed or can't load a server so */
  command(load: Load): Promise<readonly string[] | null>;
  reportOf(stdout: string, load: Load): Promise<Report>;
}

const wrk: Tool = {
  name: 'wrk',
  async command({ url, seconds, rate, connections }) {
    const wrk = onPath('wrk');
    if (wrk === null || rate !== null) return null;
    return [wrk, '-t1', `-c${connections}`, `-d${seconds}s`, '--latency', url];
  },
  async reportOf(stdout) {
    const percentile = (share: string): number => {
      const [, value, unit] = new RegExp(`^ +${share}% +([\\d.]+)(us|ms|s)$`, 'm').exec(stdout) ?? [];
      return Number(value) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's'];
    };
    const requests = Number(/(\d+) requests in/.exec(stdout)?.[1]);
    return { requests, p50: percentile('50'), p99: percentile('99'), dropped: 0 };
  },
};

const autocannon: Tool = {
  name: 'autocannon',
  async command({ url, seconds, rate, connections }) {
    const script = findAutocannon();
    if (script === null) return null;
    const pace = rate === null ? [] : ['--overallRate', `${rate}`];
    const shape = ['--connections', `${connections}`, '--duration', `${seconds}`, ...pace];
    return [process.execPath, script, ...shape, '--json', '--no-progress', url];
  },
  async reportOf(stdout) {
    const { '2xx': requests, latency } = JSON.parse(stdout);
    return { requests, p50: latency.p50, p99: latency.p99, dropped: 0 };
  },
};

/** @param vus how many virtual users an open loop may have: its documentation begins with 50 */
function k6(name: string, vus: number | null): Tool {
  return {
    name,
    async command({ url, seconds, rate, connections, folder }) {
      const k6 = onPath('k6');
      if (k6 === null || (rate === null) !== (vus === null)) return null;
      const closed = { executor: 'constant-vus', vus: connections };
      const open = { executor: 'constant-arrival-rate', rate, preAllocatedVUs: vus, maxVUs: vus };
      const scenario = { ...(rate === null ? closed : open), duration: `${seconds}s` };
      const script = join(folder, 'k6.js');
      const options = { scenarios: { load: scenario }, summaryTrendStats: ['med', 'p(99)'] };
      await writeFile(
        script,
        `import http from 'k6/http';\nexport const options = ${JSON.stringify(options)};\n` +
          `export default () => http.get(${JSON.stringify(url)});\n`,
      );
      return [
        k6,
        'run',
        '--quiet',
        '--summary-mode=legacy',
        '--summary-export',
        join(folder, 'k6.json'),
        script,
      ];
    },
    async reportOf(_, { folder }) {
      const { metrics } = JSON.parse(await readFile(join(folder, 'k6.json'), 'utf8'));
      return {
        requests: metrics.http_reqs.count,
        p50: metrics.http_req_duration.med,
        p99: metrics.http_req_duration['p(99)'],
        dropped: metrics.dropped_iterations?.count ?? 0,
      };
    },
  };
}

const sluiceLoad: Tool = {
  name: 'sluice load',
  async command({ url, seconds, rate, connections, folder }) {
    const mix = join(folder, 'mix.json');
    await writeFile(mix, JSON.stringify({ requests: [{ kind: 'request', path: '/' }] }));
    const pace = rate === null ? ['--concurrency', `${connections}`] : ['--rate', `${rate}`];
    const output = ['--json', join(folder, 'sluice.json'), '--quiet'];
    const program = ['--import', 'tsx', join(repositoryRoot, 'cli/load.ts')];
    const target = ['--target', url, '--kind', 'http', '--workers', '1', '--seconds', `${seconds}`];
    return [process.execPath, ...program, mix, ...target, ...pace, ...output];
  },
  async reportOf(_, { folder }) {
    const { totals } = JSON.parse(await readFile(join(folder, 'sluice.json'), 'utf8'));
    return {
      requests: totals.good,
      p50: totals.latency.p50,
      p99: totals.latency.p99,
      dropped: totals.failed,
    };
  },
};

export const tools: readonly Tool[] = [
  wrk,
  sluiceLoad,
  autocannon,
  k6('k6', null),
  k6('k6, 50 VUs', 50),
  k6('k6, 2,000 VUs', 2000),
];

function onPath(program: string): string | null {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not here
    }
  }
  return null;
}
