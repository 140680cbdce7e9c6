/** Server-sent events, as the client and the dashboard read them: the bytes may be cut anywhere. */
import t from 'tap';
import { serverEvents } from '#client/server-events.ts';

const text = [
  'retry: 1000\n\n',
  ':\n\n',
  'id: a.1\nevent: snapshot\ndata: [{"id":"é😀: x"}]\n\n',
  'event: leave\ndata: not whole\n',
].join('');
const expected = [{ retry: '1000' }, { '': '' }, { id: 'a.1', event: 'snapshot', data: '[{"id":"é😀: x"}]' }];

t.test('events are the same wherever they are cut', async (t) => {
  const bytes = new TextEncoder().encode(text);
  const wrong: number[] = [];
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) controller.enqueue(chunk);
        controller.close();
      },
    }).getReader();
    const events = [];
    for await (const event of serverEvents(() => reader.read())) events.push(event);
    if (JSON.stringify(events) !== JSON.stringify(expected)) wrong.push(at);
  }
  t.strictSame(wrong, []);
});
