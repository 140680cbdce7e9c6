import fc from 'fast-check';
import t from 'tap';
import { AnswerParser } from '#kernel/http-client/answer-parser.ts';
import { WholeAnswer } from '#kernel/http-client/whole-answer.ts';
import '../services/test-size.ts';

interface Read extends Pick<WholeAnswer, 'status' | 'reason' | 'headers' | 'text'> {
  readonly keepAlive: boolean;
}

const maxBody = 1000;
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Feeds the text in pieces. */
function read(text: string, cuts: readonly number[] = []): Read | null {
  const answer = new WholeAnswer(maxBody);
  const parser = new AnswerParser(answer);
  const bytes = bytesOf(text);
  const places = [...new Set([...cuts, bytes.byteLength])].sort((a, b) => a - b);
  let from = 0;
  const readAll = (): boolean => {
    for (const to of places) {
      if (parser.feed(bytes.subarray(from, to))) return true;
      from = to;
    }
    return parser.end();
  };
  if (!readAll()) return null;
  const { status, reason, headers, text: body } = answer;
  return { status, reason, headers, text: body, keepAlive: parser.keepAlive };
}

const whole: readonly (readonly [string, string, Partial<Read>])[] = [
  [
    'a length',
    'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 2\r\n\r\nhi',
    { status: 200, reason: 'OK', text: 'hi', keepAlive: true },
  ],
  ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, text: '', keepAlive: true }],
  ['no reason', 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', { status: 200, reason: '', keepAlive: true }],
  [
    'chunks',
    'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n',
    { status: 403, text: 'abc0123456789', keepAlive: true },
  ],
  [
    'informational answers before it',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx',
    { status: 200, text: 'x', keepAlive: true },
  ],
  [
    'a connection that is closed afterwards',
    'HTTP/1.1 500 Oh\r\nConnection: Close\r\ncontent-length: 1\r\n\r\nx',
    { status: 500, text: 'x', keepAlive: false },
  ],
  [
    'an older server',
    'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx',
    { status: 200, text: 'x', keepAlive: false },
  ],
  ['a body until the end', 'HTTP/1.1 200 OK\r\n\r\nall of it', { text: 'all of it', keepAlive: false }],
  [
    'bytes after the end',
    'HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 200 OK\r\n\r\n',
    { text: 'x', keepAlive: false },
  ],
];

t.test('answers of every form, in any pieces', async (t) => {
  for (const [name, text, expected] of whole) {
    t.match(read(text), expected, name);
    // what comes after an answer may come too late to be seen with it
    if (name === 'bytes after the end') continue;
    const at = fc.array(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 20 });
    fc.assert(
      fc.property(at, (cuts) => {
        const answer = read(text, cuts);
        for (const [key, value] of Object.entries(expected)) {
          if (answer?.[key as keyof Read] !== value) throw new Error(`${name}: ${key}`);
        }
      }),
    );
    t.match(
      read(
        text,
        Array.from(text, (_, i) => i),
      ),
      expected,
      `${name}, byte by byte`,
    );
  }
});

t.test('header names are lower case, values are trimmed', async (t) => {
  const answer = read('HTTP/1.1 200 OK\r\nETAG:  "a b"\t\r\nX:\r\ncontent-length: 0\r\n\r\n');
  t.equal(answer?.headers.get('etag'), '"a b"');
  t.equal(answer?.headers.get('x'), '');
});

t.test('an answer that is cut off is none', async (t) => {
  for (const [name, text] of whole) {
    if (/until the end|after the end/.test(name)) continue;
    for (let length = 0; length < text.length; length++) {
      t.equal(read(text.slice(0, length)), null, `${name}, ${length} bytes`);
    }
  }
});

t.test('what is no answer is refused', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\n';
  for (const [name, text] of [
    ['another protocol', 'SSH-2.0-x\r\n\r\n'],
    ['another version', 'HTTP/2 200 OK\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 999 X\r\n\r\n'],
    ['a folded header', `${head}a: b\r\n c\r\n\r\n`],
    ['a space before the colon', `${head}a : b\r\n\r\n`],
    ['a control character', `${head}a: b\x00\r\n\r\n`],
    ['a bare line feed', `${head}a: b\nc: d\r\n\r\n`],
    ['two lengths', `${head}content-length: 1\r\ncontent-length: 2\r\n\r\nxx`],
    ['a length that is no number', `${head}content-length: -1\r\n\r\n`],
    ['a length in hexadecimal', `${head}content-length: 0x1\r\n\r\nx`],
    ['length and chunks', `${head}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['another coding', `${head}transfer-encoding: gzip\r\n\r\n`],
    ['a chunk without a length', `${head}transfer-encoding: chunked\r\n\r\nxyz\r\n`],
    ['a chunk that is too long', `${head}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n`],
    ['a head without end', `${head}a: ${'b'.repeat(40_000)}`],
    ['a head that is too long', `${head}a: ${'b'.repeat(40_000)}\r\n\r\n`],
    ['a long length', `${head}content-length: 1001\r\n\r\n`],
    ['a long body', `${head}\r\n${'x'.repeat(1001)}`],
    ['chunks without end', `${head}transfer-encoding: chunked\r\n\r\n${'1\r\na\r\n'.repeat(1001)}`],
  ] as const) {
    t.throws(() => read(text), { code: 'HPE_BROKEN_ANSWER' }, name);
  }
  t.equal(read(`${head}content-length: 1000\r\n\r\n${'x'.repeat(1000)}`)?.text.length, 1000);
});

t.test('an answer to HEAD ends with its head, whatever it says about its body', async (t) => {
  for (const framing of [
    'content-length: 5000000000',
    'transfer-encoding: chunked',
    'x: y',
    'connection: close',
  ]) {
    const answer = new WholeAnswer(Number.POSITIVE_INFINITY);
    const parser = new AnswerParser(answer, { noBody: true });
    t.equal(parser.feed(bytesOf(`HTTP/1.1 200 OK\r\netag: "a"\r\n${framing}\r\n\r\n`)), true, framing);
    t.equal(parser.keepAlive, framing !== 'connection: close');
    t.strictSame([answer.status, answer.headers.get('etag'), answer.text], [200, '"a"', '']);
  }
  const parser = new AnswerParser(new WholeAnswer(10), { noBody: true });
  t.equal(parser.feed(bytesOf('HTTP/1.1 404 No\r\ncontent-length: 3\r\n\r\nwhy')), true);
  t.equal(parser.keepAlive, false, 'a server that sends a body all the same');
});
