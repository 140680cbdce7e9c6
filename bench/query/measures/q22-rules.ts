import type { Child } from '../../upload/harness/child-process.ts';
import type { Finding } from '../../upload/measures/measure.ts';
import { authorization, structureOf } from '../direct-store.ts';
import { compare, type QueryMeasure } from './query-bench.ts';

const records = 100_000;

/** Sets a rule of the space, and logs in a user to whom it applies. @returns the user's token */
async function ruled({ ready }: Child): Promise<string> {
  const send = async (
    method: string,
    path: string,
    body: unknown,
    headers = {},
  ): Promise<{ token: string }> => {
    const answer = await fetch(ready + path, {
      method,
      headers: { authorization, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text);
  };
  const fields = [
    { name: 'name', type: 'TEXT' },
    { name: 'password', type: 'TEXT', hashed: true },
    { name: 'city', type: 'TEXT' },
  ];
  const structure = structureOf('users', fields);
  const user = { name: 'ada', password: 'right' };
  await send('POST', '/bench/users/_single_', { ...user, city: 'London' }, { structure });
  await send('PUT', '/_projects_/bench/spaces/people/rules', { find: { city: '$user.city' } });
  const resources = JSON.stringify({ mustExistSpaceStructures: [{ slug: 'users' }] });
  const { token } = await send('POST', '/bench/function/login', user, { 'function-resources': resources });
  return token;
}

/** What does a find with a rule cost, compared with a find that states the rule's condition itself? */
export const q22: QueryMeasure = {
  id: 'Q22',
  async run({ store, rounds, seconds }) {
    const made = await store(records);
    const findings: Finding[] = [];
    for (const [where, env] of [
      ['in memory', {}],
      ['beyond memory', { RECORD_CACHE_BYTES: String(1024 * 1024) }],
    ] as const) {
      const child = await made.start(env);
      try {
        const ids = [await ruled(child)];
        for (const [what, kinds] of [
          ['each asked once', ['findRuled', 'findWritten']],
          ['asked again and again', ['findRuledAgain', 'findWrittenAgain']],
        ] as const) {
          const [byRule, written] = await compare('Q22', rounds, [
            { name: 'by a rule', child, job: () => ({ kind: kinds[0], seconds, ids }) },
            { name: 'written out', child, job: () => ({ kind: kinds[1], seconds, ids }) },
          ]);
          const value = byRule.cpuMicroseconds.median / written.cpuMicroseconds.median;
          const shown = ({ perSecond, cpuMicroseconds }: typeof byRule): string =>
            `${Math.round(perSecond.median)}/s, ${Math.round(cpuMicroseconds.median)} us`;
          findings.push({
            measure: 'Q22',
            what: `find ${where}, ${what}`,
            value,
            shown: value.toFixed(2),
            goal: { bound: 'at most', first: 1.1, aim: 1.02, unit: '' },
            subject: `by a rule: ${shown(byRule)}`,
            baseline: `written out: ${shown(written)}`,
            problems: [...byRule.problems, ...written.problems],
            details: { byRule, written },
          });
        }
      } finally {
        await child.stop();
      }
    }
    return findings;
  },
};
