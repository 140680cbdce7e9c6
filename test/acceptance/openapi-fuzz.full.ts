/**
 * Requests made from the description of the API, as they should be and bent: each is answered, none with a failure of the
 * server, and each answer is as described, which the harness checks for all. OPENAPI_FUZZ=20000 sends that many;
 * TEST_SEED=random sends others.
 */
import fc from 'fast-check';
import t from 'tap';
import type { JsonObject } from '#server/openapi/components.ts';
import { wholeContract } from '../services/contract.ts';
import { type FuzzRequest, fuzzRequests, requestBytes } from '../services/fuzz-request.ts';
import { createRawClient, type RawAnswer, type RawClient } from '../services/raw-client.ts';
import { removeData, startSluice } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';

const total = Number(process.env.OPENAPI_FUZZ ?? sized(2000));
const connections = 4;
const deadline = 30_000;
/** Requests that are made before they are sent. */
const batch = 500;
const shownFailures = 10;

/** Why an answer is none that a client's request may get; null when it is. */
function failureOf({ operation }: FuzzRequest, { status, body }: RawAnswer): string | null {
  if (status < 500) return null;
  // functions that are not there say so, and nothing else does
  const missing = operation === 'sendOtp' || operation === 'sendPushNotifications';
  return status === 501 && missing ? null : `status ${status}: ${body.toString().slice(0, 300)}`;
}

/**
 * The native parser closes a connection whose request it can't read, behind its answer and without a word: who has sent
 * the next request by then sends it again, on a connection of its own.
 */
async function ask(client: RawClient, bytes: Uint8Array): Promise<RawAnswer> {
  try {
    return await client.request(bytes, deadline);
  } catch (error) {
    if ((error as Error).message !== 'closed after ""') throw error;
    return client.request(bytes, deadline);
  }
}

t.test(`${total} requests`, { timeout: 3_600_000 }, async (t) => {
  const sluice = await startSluice();
  const response = await fetch(`${sluice.baseUrl}/openapi.json?version=3.1`);
  const requests = fuzzRequests((await response.json()) as JsonObject, sluice.token);
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  const clients = Array.from({ length: connections }, () => createRawClient(sluice.baseUrl));
  for (let sent = 0, round = 0; sent < total && failures.length < shownFailures; sent += batch, round++) {
    const list = fc.sample(requests, { numRuns: Math.min(batch, total - sent), seed: seed + round });
    await Promise.all(
      clients.map(async (client) => {
        for (let request = list.pop(); request !== undefined; request = list.pop()) {
          const failure = await ask(client, requestBytes(request)).then(
            (answer) => {
              statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
              return failureOf(request, answer);
            },
            (error: Error) => `silence: ${error.message}`,
          );
          if (failure !== null) failures.push(`${failure}\n  ${JSON.stringify(request).slice(0, 1500)}`);
        }
      }),
    );
  }
  for (const client of clients) client.close();
  t.strictSame(failures, []);
  t.comment(
    `statuses: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status}: ${count}`)
      .join(', ')}`,
  );
  // fails when an answer is not as described
  t.equal(await sluice.stop(), 0);
  await removeData(sluice);
  const { seen } = await wholeContract();
  t.comment(`${seen.size} pairs of operation and status: ${[...seen].sort().join(', ')}`);
  // which operation meets which status depends on what was dropped before it
  const missing = [200, 400, 401, 404].filter(
    (status) => ![...seen].some((pair) => pair.endsWith(` ${status}`)),
  );
  t.strictSame(missing, [], 'the harness saw the answers');
});
