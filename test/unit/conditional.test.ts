import t from 'tap';
import { assertPreconditions, isNotModified, rangeApplies } from '#gateway/download/conditional.ts';

const state = { etag: '"abc"', lastModified: new Date('1994-11-06T08:49:37.500Z') };
const notModified = (headers: Record<string, string>) => isNotModified((name) => headers[name], state);

t.test('If-None-Match', async (t) => {
  for (const [value, expected] of [
    ['"abc"', true],
    ['W/"abc"', true],
    ['*', true],
    [' * ', true],
    ['"x", "abc"', true],
    ['"x","abc","y"', true],
    ['"a,b", "abc"', true],
    [', "abc" ,', true],
    ['"x"', false],
    ['abc', false],
    ['"ABC"', false],
    ['"abc" "x"', false],
    ['"x" "abc"', false],
    ['"abc', false],
    ['', false],
    ['w/"abc"', false],
  ] as const) {
    t.equal(notModified({ 'if-none-match': value }), expected, value);
  }
});

const weekAfter = Array.from({ length: 7 }, (_, day) => new Date(Date.UTC(1994, 10, 7 + day)).toUTCString());

t.test('If-Modified-Since, in the three forms of a date', async (t) => {
  for (const [value, expected] of [
    ['Sun, 06 Nov 1994 08:49:37 GMT', true],
    ['Sunday, 06-Nov-94 08:49:37 GMT', true],
    ['Sun Nov  6 08:49:37 1994', true],
    ['Sun, 06 Nov 1994 08:49:38 GMT', true],
    ['Sun, 06 Nov 1994 08:49:36 GMT', false],
    ['Sat Nov  5 08:49:37 1994', false],
    ...weekAfter.map((day) => [day, true] as const),
    ['yesterday', false],
    ['Sun, nonsense', false],
    ['0', false],
    ['2099', false],
    ['', false],
  ] as const) {
    t.equal(notModified({ 'if-modified-since': value }), expected, value);
  }
});

t.test('If-None-Match goes before If-Modified-Since', async (t) => {
  const later = 'Sun, 06 Nov 2094 08:49:37 GMT';
  t.equal(notModified({ 'if-none-match': '"x"', 'if-modified-since': later }), false);
  t.equal(
    notModified({ 'if-none-match': '"abc"', 'if-modified-since': 'Sun, 06 Nov 1964 08:49:37 GMT' }),
    true,
  );
  t.equal(notModified({}), false);
});

t.test('If-Range', async (t) => {
  for (const [value, expected] of [
    [undefined, true],
    ['"abc"', true],
    ['W/"abc"', false],
    ['"x"', false],
    ['Sun, 06 Nov 1994 08:49:37 GMT', true],
    ['Sun, 06 Nov 1994 08:49:38 GMT', false],
    ['Sun, 06 Nov 1994 08:49:36 GMT', false],
    ['nonsense', false],
    ['', false],
  ] as const) {
    t.equal(rangeApplies(value, state), expected, String(value));
  }
});

/** The header that does not hold; null: all do. */
function failed(headers: Record<string, string>, is: typeof state | null, reads = false): string | null {
  try {
    assertPreconditions((name) => headers[name], is, reads);
    return null;
  } catch (error) {
    const { status, message } = error as { status: number; message: string };
    return status === 412 ? (/condition of (\S+): /.exec(message)?.[1] ?? message) : message;
  }
}

t.test('preconditions, in their order', async (t) => {
  const [older, same, newer] = [
    'Sun, 06 Nov 1994 08:49:36 GMT',
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sun, 06 Nov 1994 08:49:38 GMT',
  ];
  for (const [headers, is, expected] of [
    [{}, state, null],
    [{}, null, null],
    [{ 'if-match': '"abc"' }, state, null],
    [{ 'if-match': '"x", "abc"' }, state, null],
    [{ 'if-match': '*' }, state, null],
    [{ 'if-match': '*' }, null, 'If-Match'],
    [{ 'if-match': 'W/"abc"' }, state, 'If-Match'],
    [{ 'if-match': '"x"' }, state, 'If-Match'],
    [{ 'if-match': '"abc"' }, null, 'If-Match'],
    [{ 'if-unmodified-since': older }, state, 'If-Unmodified-Since'],
    [{ 'if-unmodified-since': same }, state, null],
    [{ 'if-unmodified-since': newer }, state, null],
    [{ 'if-unmodified-since': 'yesterday' }, state, null],
    [{ 'if-unmodified-since': older }, null, null],
    [{ 'if-match': '"abc"', 'if-unmodified-since': older }, state, null],
    [{ 'if-none-match': '*' }, null, null],
    [{ 'if-none-match': '*' }, state, 'If-None-Match'],
    [{ 'if-none-match': 'W/"abc"' }, state, 'If-None-Match'],
    [{ 'if-none-match': '"x"' }, state, null],
    [{ 'if-match': '"abc"', 'if-none-match': '"abc"' }, state, 'If-None-Match'],
  ] as const) {
    t.equal(failed(headers, is), expected, JSON.stringify(headers));
  }
  t.equal(failed({ 'if-none-match': '"abc"' }, state, true), null, 'of a read that is a 304');
  t.equal(failed({ 'if-match': '"x"', 'if-none-match': '"abc"' }, state, true), 'If-Match');
});
