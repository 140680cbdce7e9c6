import t from 'tap';
import type { ApiError } from '#kernel/errors/api-error.ts';
import * as catalogue from '#kernel/errors/catalogue.ts';
import { type ErrorCode, errorCodes } from '#kernel/errors/error-codes.ts';
import { renderError, visibleError } from '#kernel/errors/render-error.ts';

const problem = 'application/problem+json';

function render(error: ApiError, accept?: string, path = '/demo/people') {
  const { headers, body } = renderError(error, { path, id: 'request-1', accept });
  return { type: headers['content-type'], headers, body: JSON.parse(body) };
}

/** An error of every factory of the catalogue. */
function everyError(): ApiError[] {
  const factories = Object.values(catalogue) as ((...args: unknown[]) => ApiError)[];
  // what a factory is given fits none of them all, and is only shown
  return factories.map((make) => make(['x'], ['x'], ['x']));
}

t.test('the table of codes and the catalogue say the same', async (t) => {
  const made = new Map<string, number>();
  for (const { code, status } of everyError()) made.set(code, status);
  t.strictSame(
    Object.fromEntries([...made].sort()),
    Object.fromEntries(
      Object.entries(errorCodes)
        .map(([code, { status }]) => [code, status])
        .sort(),
    ),
  );
});

t.test('every 429 and 503 says when to try again', async (t) => {
  const again = everyError().filter(({ status }) => status === 429 || status === 503);
  t.ok(again.length >= 7);
  for (const { code, headers } of again) t.ok(headers['retry-after'], code);
  t.equal(catalogue.tooManyAttempts(7).headers['retry-after'], '7');
  t.notOk(catalogue.internalError().headers['retry-after']);
});

t.test('who accepts problem details gets them', async (t) => {
  const error = catalogue.invalidValue(['first', 'second']);
  const { type, body } = render(error, problem);
  t.equal(type, problem);
  t.match(body, {
    type: 'urn:problem-type:sluice:invalid_value',
    title: errorCodes.invalid_value.title,
    status: 400,
    detail: 'first',
    instance: '/demo/people',
    code: 'invalid_value',
    errors: ['first', 'second'],
    timestamp: /^\d{4}-.*Z$/,
    requestId: 'request-1',
  });
});

t.test('headers of an error are kept in both forms', async (t) => {
  for (const accept of [undefined, problem]) {
    t.match(render(catalogue.methodNotAllowed('PUT', ['GET']), accept).headers, {
      allow: 'GET',
      vary: 'Accept',
    });
  }
});

t.test('which form is meant', async (t) => {
  const own = 'application/json; charset=utf-8';
  for (const [accept, expected] of [
    [undefined, own],
    ['', own],
    ['*/*', own],
    // the published client
    ['application/json, text/plain, */*', own],
    ['application/problem+json, */*', problem],
    ['Application/Problem+JSON', problem],
    ['application/json, application/problem+json', problem],
    ['application/json;q=0.5, application/problem+json;q=0.4', own],
    ['application/json;q=0.5, application/problem+json', problem],
    ['application/problem+json;q=0', own],
    ['application/problem+json;q=nonsense', own],
    ['application/problem+jsonx', own],
  ] as const) {
    t.equal(render(catalogue.nothingHere(), accept).type, expected, String(accept));
  }
});

t.test('the instance of a problem is an address, whatever the path was', async (t) => {
  for (const [path, expected] of [
    ['/demo/a%20b', '/demo/a%20b'],
    ['/100%', '/100%25'],
    ['/a b<c>"d"\\e^f`{|}', '/a%20b%3Cc%3E%22d%22%5Ce%5Ef%60%7B%7C%7D'],
    ['/ſ/\uFFFD', '/%C5%BF/%EF%BF%BD'],
    ['//elsewhere/x', '/.//elsewhere/x'],
  ] as const) {
    const { instance } = render(catalogue.nothingHere(), problem, path).body;
    t.equal(instance, expected);
    t.ok(URL.canParse(instance, 'http://here'));
  }
});

t.test('an error of a code that is not listed is no error of ours', async (t) => {
  // @ts-expect-error the type lists them
  const unlisted: ErrorCode = 'no_such_code';
  t.notOk(unlisted in errorCodes);
});

t.test('a full disk is 507, wherever it was met', async (t) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  const engine = new Error('Code: 243. DB::Exception: Cannot reserve 1.00 MiB. (NOT_ENOUGH_SPACE)');
  for (const thrown of [
    full,
    Object.assign(new Error('write'), { code: 'EDQUOT' }),
    engine,
    new Error('Code: 75. DB::ErrnoException: Cannot write to file x: , errno: 28, strerror: No space left'),
    new Error('outer', { cause: new Error('between', { cause: full }) }),
    catalogue.overloaded('the table does not take records', engine),
  ]) {
    t.match(visibleError(thrown), { status: 507, code: 'storage_full', cause: thrown });
  }
  for (const [thrown, status] of [
    [new Error('a bug'), 500],
    [catalogue.overloaded('x'), 503],
    // what a client sent is in the text
    [catalogue.invalidBody('x', engine), 400],
  ] as const) {
    t.equal(visibleError(thrown).status, status);
  }
});
