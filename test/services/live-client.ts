import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

export interface LiveRecord {
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface LiveEvent {
  readonly type: string;
  readonly id: string;
  /** Records of a snapshot; the record of `enter` and `change`; of `leave` its id alone. */
  readonly data: unknown;
}

export interface LiveAsk {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Of this machine, from which it connects. */
  readonly localAddress?: string;
}

/** Milliseconds after which a client that waits in vain fails. */
const patience = 30_000;

/** A client of a live query (docs/live.md): it has the records that the events add up to. */
export class LiveClient {
  readonly records = new Map<string, LiveRecord>();
  /** All of them, over all connections. */
  readonly events: LiveEvent[] = [];
  /** Everything that came, over all connections. */
  text = '';
  lastEventId = '';
  /** Of the latest connection. */
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** Whether the records are those of one moment. */
  isReady = false;
  isOpen = false;
  /** Called with each event, before it counts. */
  onEvent: (event: LiveEvent) => void = () => {};
  readonly #ask: LiveAsk;
  readonly #waiting = new Set<() => void>();
  #response: IncomingMessage | null = null;
  #rest = '';

  constructor(ask: LiveAsk) {
    this.#ask = ask;
  }

  /** Connects; resolves with the status. @param lastEventId absent: as somebody who was never there */
  open(baseUrl: string, lastEventId = ''): Promise<number> {
    const { path, body, method = body === undefined ? 'GET' : 'POST', headers, localAddress } = this.#ask;
    this.#rest = '';
    this.isReady = false;
    if (lastEventId === '') this.#forget();
    // it may be cut before the first event
    this.lastEventId = lastEventId;
    return new Promise((resolve, reject) => {
      const asking = request(new URL(path, baseUrl), {
        method,
        localAddress,
        agent: false,
        headers: {
          accept: 'text/event-stream',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(lastEventId === '' ? {} : { 'last-event-id': lastEventId }),
          ...headers,
        },
      });
      asking.on('error', reject);
      asking.on('response', (response) => {
        this.#take(response);
        resolve(this.status);
      });
      asking.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Comes back with the last event's id. */
  comeBack(baseUrl: string): Promise<number> {
    return this.open(baseUrl, this.lastEventId);
  }

  /** Ends the connection, from one moment to the next. */
  cut(): void {
    this.#response?.destroy();
    this.#response = null;
    this.isOpen = false;
  }

  /** Reads no more, until it goes on. */
  pause(): void {
    this.#response?.pause();
  }

  goOn(): void {
    this.#response?.resume();
  }

  /** Types of the events from one on. */
  types(from = 0): readonly string[] {
    return this.events.slice(from).map(({ type }) => type);
  }

  /** Resolves when something is so; looks again at whatever comes. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#waiting.delete(look);
        reject(new Error(`waited in vain: ${this.text.slice(-500)}`));
      }, patience);
      const look = (): void => {
        if (!isSo()) return;
        clearTimeout(late);
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  ready(): Promise<void> {
    return this.until(() => this.isReady);
  }

  /** Resolves when the server has ended the stream. */
  ended(): Promise<void> {
    return this.until(() => !this.isOpen);
  }

  #take(response: IncomingMessage): void {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.isOpen = true;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      if (this.#response === response) this.#hear(text);
    });
    // a cut shows as the end
    response.on('error', () => {});
    response.on('close', () => {
      if (this.#response !== response) return;
      this.isOpen = false;
      this.#look();
    });
  }

  #hear(text: string): void {
    this.text += text;
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop() as string;
    for (const block of blocks) {
      const event = eventIn(block);
      if (event !== null) this.#apply(event);
    }
    this.#look();
  }

  #apply(event: LiveEvent): void {
    const { type, id, data } = event;
    this.onEvent(event);
    this.events.push(event);
    this.lastEventId = id;
    if (type === 'reset') this.#forget();
    if (type === 'snapshot') for (const record of data as LiveRecord[]) this.records.set(record.id, record);
    const record = data as LiveRecord;
    if (type === 'enter' || type === 'change') this.records.set(record.id, record);
    if (type === 'leave') this.records.delete(record.id);
    if (type === 'ready') this.isReady = true;
  }

  #forget(): void {
    this.records.clear();
    this.isReady = false;
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }
}

/** Null: comments, or how long to wait. */
function eventIn(block: string): LiveEvent | null {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [name = '', ...value] = line.split(': ');
    fields.set(name, value.join(': '));
  }
  const type = fields.get('event');
  if (type === undefined) return null;
  return { type, id: fields.get('id') ?? '', data: JSON.parse(fields.get('data') ?? '') };
}
