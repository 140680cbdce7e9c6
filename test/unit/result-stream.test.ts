import { getEventListeners } from 'node:events';
import t from 'tap';
import { resultStream } from '#engine/result-stream.ts';

/** A source of these chunks; an error among them is thrown. */
function sourceOf(...chunks: (Uint8Array | Error)[]) {
  const source = {
    ends: 0,
    async next() {
      const chunk = chunks.shift() ?? null;
      if (chunk instanceof Error) throw chunk;
      return chunk;
    },
    end() {
      source.ends++;
    },
  };
  return source;
}

const chunk = Buffer.from('a');

t.test('it is read to its end', async (t) => {
  const { signal } = new AbortController();
  const source = sourceOf(chunk, chunk);
  let chunks = 0;
  for await (const _ of resultStream(source, signal)) chunks++;
  t.equal(chunks, 2);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

t.test('a reader that stops ends the source', async (t) => {
  const { signal } = new AbortController();
  const source = sourceOf(chunk, chunk);
  for await (const _ of resultStream(source, signal)) break;
  t.equal(source.ends, 1);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

t.test('a source that fails', async (t) => {
  const { signal } = new AbortController();
  const failure = new Error('it failed');
  const reader = resultStream(sourceOf(chunk, failure), signal)[Symbol.asyncIterator]();
  t.strictSame(await reader.next(), { done: false, value: chunk });
  await t.rejects(reader.next(), failure);
  t.equal(getEventListeners(signal, 'abort').length, 0);
});

t.test('an abort ends the source, even of a reader that has not begun', async (t) => {
  const reason = new Error('gone');
  const before = sourceOf(chunk);
  await t.rejects(resultStream(before, AbortSignal.abort(reason))[Symbol.asyncIterator]().next(), reason);
  t.equal(before.ends, 1);
  const controller = new AbortController();
  const source = sourceOf(chunk);
  const stream = resultStream(source, controller.signal);
  controller.abort(reason);
  t.equal(source.ends, 1);
  await t.rejects(stream[Symbol.asyncIterator]().next(), reason);
});
