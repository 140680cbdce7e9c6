/**
 * Generated bad requests through the real server over real sockets: each is answered with a clear 4xx, none crashes or
 * hangs the server or makes it grow, and a good request afterwards gets the right answer.
 * BAD_REQUESTS=100000 sends that many; TEST_SEED=random sends others.
 */
import t from 'tap';
import { type BadRequest, wireBytes } from '../services/bad-requests/bad-request.ts';
import { goodStructure, project, space } from '../services/bad-requests/bad-structures.ts';
import { makeBadRequest } from '../services/bad-requests/make-bad-request.ts';
import { createRawClient, type RawAnswer } from '../services/raw-client.ts';
import { call } from '../services/record-client.ts';
import { sluiceFor } from '../services/start-sluice.ts';
import { seed, sized } from '../services/test-size.ts';

const total = Number(process.env.BAD_REQUESTS ?? sized(3000));
const connections = 8;
const deadline = 30_000;
/** Resident memory may grow by this much after the first third of the requests. */
const growthLimit = 256 * 1024 * 1024;
/** A run with more failures than this has shown enough. */
const shownFailures = 20;

/** Says what is wrong with the answer to a bad request; null when it is a clear refusal. */
function answerProblem(request: BadRequest, { status, headers, body }: RawAnswer): string | null {
  if (status < 400 || status > 499) return `status ${status}: ${body.toString().slice(0, 200)}`;
  let error: Record<string, unknown>;
  try {
    error = JSON.parse(body.toString()) as Record<string, unknown>;
  } catch {
    return `status ${status}, and a body that is no JSON`;
  }
  const problems = error.error;
  if (!Array.isArray(problems) || problems.length === 0) return 'no list of problems';
  if (problems.some((text) => typeof text !== 'string' || text === '')) return 'a problem without words';
  if (error.statusCode !== status || !String(error.message).startsWith(String(problems[0])))
    return 'status or message differ';
  if (typeof error.code !== 'string' || !/^[a-z_]+$/.test(error.code)) return 'no code';
  if (error.path !== request.target.split('?')[0]) return `path ${String(error.path)}`;
  if (Number.isNaN(Date.parse(String(error.timestamp)))) return 'no timestamp';
  if (!/^[\w.-]{8,64}$/.test(String(error.requestId))) return 'no request id';
  return error.requestId === headers.get('x-request-id') ? null : 'two request ids';
}

t.test(`${total} bad requests`, { timeout: 3_600_000 }, async (t) => {
  t.comment(`TEST_SEED=${seed}`);
  const sluice = await sluiceFor(t);
  const good = {
    ...sluice,
    path: `/${project}/${space}`,
    structure: goodStructure(),
  };
  const records = [
    { text: 'good', mustHave: 'é', number: 1, flag: true, list: [1], map: { a: 1 }, key: 'k' },
  ];
  const { body: stored } = await call({ ...good, body: records });
  t.equal((await call(good)).body.length, 1);

  const failures: string[] = [];
  const counts = new Map<string, number>();
  const codes = new Map<string, number>();
  const memory: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    const client = createRawClient(sluice.baseUrl);
    while (next < total && failures.length < shownFailures) {
      const index = next++;
      if (index % Math.ceil(total / 12) === 0) memory.push(await sluice.rss());
      const request = makeBadRequest(seed, index, sluice.token);
      counts.set(request.kind, (counts.get(request.kind) ?? 0) + 1);
      let problem: string | null;
      try {
        const answer = await client.request(wireBytes(request), deadline);
        problem = answerProblem(request, answer);
        const code = `${answer.status} ${/"code":"(\w+)"/.exec(answer.body.toString())?.[1]}`;
        codes.set(code, (codes.get(code) ?? 0) + 1);
      } catch (error) {
        problem = String(error);
      }
      if (problem !== null) {
        const sent = wireBytes(request).toString('latin1').replace(sluice.token, '…');
        failures.push(`${index} ${request.kind}: ${problem}: ${JSON.stringify(sent.slice(0, 1500))}`);
      }
    }
    client.close();
  };
  await Promise.all(Array.from({ length: connections }, worker));

  t.strictSame(failures, []);
  t.comment(JSON.stringify(Object.fromEntries([...counts].sort())));
  t.comment(JSON.stringify(Object.fromEntries([...codes].sort())));
  t.strictSame((await call(good)).body, stored, 'what was stored is there, and nothing else');
  const one = await call({ ...good, path: `${good.path}/_single_`, body: { mustHave: 'after' } });
  t.match(one.body, { mustHave: 'after' }, 'a good request is answered');
  memory.push(await sluice.rss());
  t.comment(`RSS in MB: ${memory.map((bytes) => Math.round(bytes / 1e6)).join(' ')}`);
  const settled = Math.max(...memory.slice(0, Math.ceil(memory.length / 3)));
  t.ok((memory.at(-1) as number) - settled < growthLimit, 'memory does not grow with the number of requests');
  t.equal(sluice.process.exitCode, null, 'the process lives');
  t.notMatch(
    sluice.stdout() + sluice.stderr(),
    /request failed|unhandled|uncaught/i,
    'no failure in its log',
  );
});
