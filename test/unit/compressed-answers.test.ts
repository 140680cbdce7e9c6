import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { CompressedAnswers } from '#server/http/compressed-answers.ts';
import type { Exchange } from '#server/http/exchange.ts';
import type { HttpResponse, StreamBody } from '#server/http/http-types.ts';
import { isStream } from '#server/http/write-response.ts';
import { bestCoding, decode } from '../services/decode.ts';

const headers = { 'content-type': 'application/json' };
const text = (records: number): Buffer =>
  Buffer.from(JSON.stringify(Array.from({ length: records }, (_, at) => ({ at, name: `Ada ${at % 17}` }))));

/** The part of an exchange that is read. */
function asking(accepted: string, account = 'a') {
  const ends: (() => void)[] = [];
  const exchange = { header: () => accepted, body: { account }, onOver: (end: () => void) => ends.push(end) };
  return { exchange: exchange as unknown as Exchange, over: () => ends.forEach((end) => void end()) };
}

async function plainOf({ body, headers: given }: HttpResponse): Promise<string> {
  const bytes = isStream(body) ? await buffer(body.chunks) : Buffer.from(body as Uint8Array);
  return decode(bytes, given?.['content-encoding']).toString();
}

async function* inChunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
}

for (const coding of new Set(['gzip', bestCoding]))
  t.test(coding, async (t) => {
    const compressed = new CompressedAnswers();
    const { exchange } = asking(coding);
    for (const records of [100, 10_000]) {
      const body = text(records);
      for (const given of [body, body.toString(), { chunks: inChunks(body) }]) {
        const answer = await compressed.of(exchange, { status: 200, headers, body: given });
        t.strictSame(answer.headers, { ...headers, vary: 'Accept-Encoding', 'content-encoding': coding });
        t.ok((await plainOf(answer)) === body.toString());
      }
      const bytes = [];
      for (let times = 0; times < 4; times++)
        bytes.push((await compressed.of(exchange, { status: 200, headers, body })).body);
      t.equal(bytes[3], bytes[2], 'what is answered again is compressed once');
    }
  });

t.test('too many at once', async (t) => {
  const compressed = new CompressedAnswers();
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, at) =>
      compressed.of(asking('gzip', `${at}`).exchange, { status: 200, headers, body: text(5000) }),
    ),
  );
  const coded = answers.filter((answer) => answer.headers?.['content-encoding'] === 'gzip');
  t.ok(coded.length >= 34 && coded.length < 100, `${coded.length} of them`);
  for (const answer of answers) t.ok((await plainOf(answer)) === text(5000).toString());
});

t.test('streams of an account', async (t) => {
  const compressed = new CompressedAnswers();
  const stream = async (account: string) => {
    const { exchange, over } = asking('gzip', account);
    const body = { chunks: inChunks(text(10)) };
    const answer = await compressed.of(exchange, { status: 200, headers, body });
    return { isCoded: answer.headers?.['content-encoding'] === 'gzip', over };
  };
  const first = await Promise.all(Array.from({ length: 8 }, () => stream('a')));
  t.ok(first.every(({ isCoded }) => isCoded));
  t.notOk((await stream('a')).isCoded);
  t.ok((await stream('b')).isCoded, 'another account has its own');
  first[0]?.over();
  t.ok((await stream('a')).isCoded, 'after one of them');
});

t.test('a source that fails, and a reader that goes', async (t) => {
  const compressed = new CompressedAnswers();
  let ended = 0;
  async function* source(fails: boolean): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        yield text(5000);
        if (fails) throw new Error('as the test asked');
      }
    } finally {
      ended++;
    }
  }
  const of = async (fails: boolean) => {
    const body = { chunks: source(fails) };
    const answer = await compressed.of(asking('gzip').exchange, { status: 200, headers, body });
    return (answer.body as StreamBody).chunks;
  };
  await t.rejects(buffer(await of(true)), { message: 'as the test asked' });
  for await (const _ of await of(false)) break;
  await new Promise(setImmediate);
  t.equal(ended, 2, 'both sources have ended');
});
