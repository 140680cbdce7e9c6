/** The engine's exception behind the data of an answer, wherever the network cuts it into chunks. */
import t from 'tap';
import { withoutException } from '#engine/without-exception.ts';
import { ApiError } from '#kernel/errors/api-error.ts';

const tag = 'dmrdfnujjqvszhav';
const ending = (message: string): string =>
  `\r\n__exception__\r\n${tag}\r\n${message}\n${Buffer.byteLength(message) + 1} ${tag}\r\n__exception__\r\n`;

async function read(
  text: string,
  size: number,
  options: { tag?: string | undefined; breaks?: boolean } = { tag },
): Promise<{ data: string; error: (Error & { engineCode?: number }) | null }> {
  const bytes = Buffer.from(text);
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
    if (options.breaks) throw new Error('aborted');
  }
  const data: Buffer[] = [];
  let error: Error | null = null;
  try {
    for await (const chunk of withoutException(chunks(), options.tag)) data.push(chunk);
  } catch (thrown) {
    error = thrown as Error;
  }
  return { data: Buffer.concat(data).toString('utf8'), error };
}

const message = 'Code: 395. DB::Exception: boom: ü\nof two lines. (FUNCTION_THROW_IF_VALUE_IS_NON_ZERO)';

t.test('is thrown, with all of the data before it', async (t) => {
  for (const data of ['', 'x', '{"a":1}\n{"a":2}\n', 'ends like it\r\n__exception__\r\n']) {
    for (const size of [1, 2, 3, 7, 16, 31, 64, 1000]) {
      for (const breaks of [false, true]) {
        const found = await read(data + ending(message), size, { tag, breaks });
        t.equal(found.data, data, `${data.length} characters in chunks of ${size}`);
        t.equal(found.error?.engineCode, 395);
        t.equal(found.error?.message, `the database failed: ${message}`);
      }
    }
  }
});

t.test('data that looks like it stays data', async (t) => {
  for (const data of [
    '\r\n__exception__\r\n',
    `\r\n__exception__\r\n${tag.slice(1)}\r\n`,
    `\r\n__exception__\r\n${tag.slice(0, -1)}`,
    ending(message).replaceAll(tag, 'another-tag-of-it'),
    '\r\n\r\n\r\n__exc\r\n_',
  ]) {
    for (const size of [1, 5, 1000]) t.strictSame(await read(data, size), { data, error: null });
  }
});

t.test('a connection that breaks is an error by itself, also within the message', async (t) => {
  t.match(await read('data', 2, { tag, breaks: true }), { data: 'data', error: { message: 'aborted' } });
  const cut = ending(message).slice(0, 60);
  const found = await read(`data${cut}`, 7, { tag, breaks: true });
  t.match(found, { data: 'data', error: { engineCode: 395, message: /Code: 395/ } });
});

t.test('without a tag there is no mark to look for', async (t) => {
  const text = `x${ending(message)}`;
  t.strictSame(await read(text, 10, { tag: undefined }), { data: text, error: null });
});

t.test('a message of any length is cut, and a busy engine is a 503', async (t) => {
  const long = await read(`x${ending(`Code: 1. ${'y'.repeat(1_000_000)}`)}`, 65_536);
  t.ok((long.error?.message.length ?? 0) < 3000);
  const busy = await read(ending('Code: 241. DB::Exception: (MEMORY_LIMIT_EXCEEDED)'), 10);
  t.ok(busy.error instanceof ApiError);
  t.match(busy.error, { status: 503, code: 'overloaded' });
});
