import type { EnvReader } from './validators.ts';

/** More than the cores of any machine that runs one service. */
const mostWorkers = 256;
const tokenPattern = /^[A-Za-z0-9._~+/=-]{16,256}$/;

/** WORKERS: the embedded engine is one process's alone, so several need a server. */
export function readWorkers(reader: EnvReader): number {
  const workers = reader.integer('WORKERS', 1, 1, mostWorkers);
  if (workers > 1 && reader.text('CLICKHOUSE_URL') === undefined) {
    reader.problems.push(
      `WORKERS is ${workers}, but CLICKHOUSE_URL is not set: the embedded engine serves one process only`,
    );
  }
  return workers;
}

/** METRICS_TOKEN: a secret, so it is not repeated. */
export function readMetricsToken(reader: EnvReader): string | undefined {
  const token = reader.text('METRICS_TOKEN');
  if (token !== undefined && !tokenPattern.test(token)) {
    reader.problems.push('METRICS_TOKEN should be 16 to 256 characters of A-Z a-z 0-9 . _ ~ + / = -');
  }
  return token;
}
