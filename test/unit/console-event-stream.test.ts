/** Events of a live find, as the dashboard reads them: the bytes may be cut anywhere. */
import t from 'tap';
import { eventsOf, type StreamEvent } from '../../console/web/records/event-stream.ts';

async function eventsIn(
  chunks: readonly Uint8Array<ArrayBuffer>[],
): Promise<{ events: StreamEvent[]; heard: number }> {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const events: StreamEvent[] = [];
  let heard = 0;
  for await (const event of eventsOf(body, () => heard++)) events.push(event);
  return { events, heard };
}

const text = [
  'retry: 1000\n\n',
  ':\n\n',
  'id: a.1\nevent: snapshot\ndata: [{"id":"é😀"}]\n\n',
  'id:a.2\r\nevent:enter\r\ndata:{\r\ndata:  "id": 1}\r\n\r\n',
  'data\rid\r\r',
  ': the server stops\nretry: soon\nevent: ready\nunknown: x\n\n',
  'event: leave\ndata: not whole\n',
].join('');

const expected: StreamEvent[] = [
  { type: 'message', id: null, data: '', retry: 1000 },
  { type: 'snapshot', id: 'a.1', data: '[{"id":"é😀"}]', retry: null },
  { type: 'enter', id: 'a.2', data: '{\n "id": 1}', retry: null },
  { type: 'message', id: '', data: '', retry: null },
  { type: 'ready', id: null, data: '', retry: null },
];

t.test('events are the same wherever they are cut', async (t) => {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at <= bytes.length; at++) {
    const { events } = await eventsIn([bytes.slice(0, at), bytes.slice(at)]);
    if (JSON.stringify(events) !== JSON.stringify(expected)) t.strictSame(events, expected, `cut at ${at}`);
  }
  const { events } = await eventsIn([...bytes].map((byte) => new Uint8Array([byte])));
  t.strictSame(events, expected, 'byte by byte');
});

t.test('a comment is no event, and is heard', async (t) => {
  const { events, heard } = await eventsIn([new TextEncoder().encode(':\n\n')]);
  t.strictSame([events, heard], [[], 1]);
});
