import type { ReadCost } from './reading.ts';

/** Bytes of an answer at most. */
const mostBytes = 2 ** 24;

/**
 * CPU and memory as a server tells them in Prometheus' text format, in the series that its client libraries name alike.
 * Of several processes behind one address, the sum.
 * @param token for `Authorization: Bearer`
 */
export function metricsCost(url: string, token: string | undefined): ReadCost {
  return async (signal) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const answer = await fetch(url, { headers, signal });
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new Error(`${url} answered ${answer.status}`);
    }
    const text = await readText(answer);
    return {
      cpu: seriesIn(text, 'process_cpu_seconds_total', url),
      memory: seriesIn(text, 'process_resident_memory_bytes', url),
    };
  };
}

async function readText(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length;
    if (bytes > mostBytes) throw new Error(`${answer.url} answered more than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** https://prometheus.io/docs/instrumenting/exposition_formats/ */
function seriesIn(text: string, name: string, url: string): number {
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, 'gm'))].map(([, value]) =>
    Number(value),
  );
  const sum = values.reduce((all, value) => all + value, 0);
  if (values.length === 0 || !Number.isFinite(sum)) throw new Error(`${url} has no ${name}`);
  return sum;
}
