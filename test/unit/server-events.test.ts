/** Server-sent events, as the client and the dashboard read them: the bytes may be cut anywhere. */
import t from 'tap';
import { serverEvents } from '#client/server-events.ts';

const whole = [
  'retry: 1000\nid: a.1\nevent: snapshot\ndata: [{"id":"é😀: x"}]\n\n',
  ':\nid: a.2\nevent: ready\ndata: {}\n\n',
].join('');
const expected = [
  { retry: '1000', id: 'a.1', event: 'snapshot', data: '[{"id":"é😀: x"}]' },
  { '': '', id: 'a.2', event: 'ready', data: '{}' },
];
/** Last words without an end, and what counts of them. */
const ends = {
  'event: leave\ndata: not whole\n': [],
  'retry: 5000\n: the server stops\n': [{ retry: '5000' }],
};

t.test('events are the same wherever they are cut', async (t) => {
  for (const [end, last] of Object.entries(ends)) {
    const bytes = new TextEncoder().encode(whole + end);
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
      if (JSON.stringify(events) !== JSON.stringify([...expected, ...last])) wrong.push(at);
    }
    t.strictSame(wrong, [], end);
  }
});
