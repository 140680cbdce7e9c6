import t from 'tap';
import { invalidValue, nothingHere, overloaded } from '#kernel/errors/catalogue.ts';
import { renderError } from '#kernel/errors/render-error.ts';
import { type SeenAnswer, wholeContract } from '../services/contract.ts';

/** The check that all other suites rely on finds what it should find. */
const contract = await wholeContract();
const record = { id: 'a', createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
const json = {
  'content-type': 'application/json; charset=utf-8',
  'x-request-id': 'request-1',
  'accept-query': '"application/json"',
};

function problemOf(answer: Partial<SeenAnswer>): string | null {
  const found = { method: 'GET', path: '/demo/people', status: 200, headers: json, body: '[]', ...answer };
  return contract.problemOf(found);
}

function refusal(error: Parameters<typeof renderError>[0], accept?: string): Partial<SeenAnswer> {
  const { headers, body } = renderError(error, { path: '/x', id: 'request-1', accept });
  return { status: error.status, headers: { ...headers, 'x-request-id': 'request-1' }, body };
}

t.test('what is as described', async (t) => {
  t.equal(problemOf({}), null);
  t.equal(problemOf({ body: JSON.stringify([{ ...record, age: 36 }]) }), null);
  t.equal(problemOf({ path: '/demo/people/_single_', body: 'null' }), null);
  t.equal(problemOf({ method: 'HEAD', body: '' }), null);
  t.equal(problemOf({ method: 'QUERY' }), null);
  t.match(problemOf(refusal(invalidValue(['x']))), 'not as documented', 'find has no values');
  t.equal(problemOf({ method: 'POST', ...refusal(invalidValue(['x'])) }), null);
  t.equal(problemOf({ method: 'POST', ...refusal(invalidValue(['x']), 'application/problem+json') }), null);
  t.equal(problemOf(refusal(overloaded('x'))), null);
  t.equal(problemOf({ path: '/nowhere', ...refusal(nothingHere()) }), null);
});

t.test('what is not', async (t) => {
  const { 'x-request-id': _, ...unnamed } = json;
  const { 'retry-after': __, ...never } = (refusal(overloaded('x')).headers ?? {}) as Record<string, string>;
  for (const [answer, expected] of [
    [{ status: 418 }, /status is not documented/],
    [{ headers: unnamed }, /X-Request-Id is missing/],
    [{ headers: { ...json, 'content-type': 'text/html' } }, /text\/html is not documented/],
    [{ headers: { ...json, 'content-type': undefined } as never }, /no content type/],
    [{ body: '[' }, /no JSON/],
    [{ body: '[{"id":1}]' }, /body is not as documented/],
    [{ body: JSON.stringify([{ ...record, createdAt: 'yesterday' }]) }, /date-time/],
    [{ ...refusal(overloaded('x')), headers: never }, /Retry-After is missing/],
    [{ path: '/nowhere' }, /not_found was expected/],
    [{ method: 'PUT', ...refusal(nothingHere()) }, /method_not_allowed was expected/],
  ] as [Partial<SeenAnswer>, RegExp][]) {
    t.match(problemOf(answer), expected);
  }
});
