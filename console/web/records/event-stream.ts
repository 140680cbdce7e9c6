/** An event as it came. A comment is none. */
export interface StreamEvent {
  readonly type: string;
  readonly id: string | null;
  readonly data: string;
  /** Milliseconds after which to come back, where the server says so. */
  readonly retry: number | null;
}

/**
 * The events of a stream (HTML, section 9.2.6), wherever its bytes are cut. EventSource can't send a token.
 * @param onBytes is called for all that comes, comments as well
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onBytes: () => void,
): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let fields = new Map<string, string>();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    // an event without the empty line behind it is not whole
    if (done) return;
    onBytes();
    // a carriage return at the end may be half a line break
    const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') readField(line, fields);
      else if (fields.size > 0) {
        yield eventOf(fields);
        fields = new Map();
      }
    }
  }
}

function readField(line: string, fields: Map<string, string>): void {
  const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (name === '') return;
  const before = name === 'data' ? fields.get(name) : undefined;
  fields.set(name, before === undefined ? value : `${before}\n${value}`);
}

function eventOf(fields: ReadonlyMap<string, string>): StreamEvent {
  const retry = fields.get('retry') ?? '';
  return {
    type: fields.get('event') || 'message',
    id: fields.get('id') ?? null,
    data: fields.get('data') ?? '',
    retry: /^\d+$/.test(retry) ? Number(retry) : null,
  };
}
