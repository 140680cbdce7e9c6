import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** One connection that is kept for request after request, whose bytes are the caller's. */
export interface RawClient {
  /** Rejects when the connection ends before the answer, and when the answer takes longer than `deadline` ms. */
  request(bytes: Uint8Array, deadline: number): Promise<RawAnswer>;
  close(): void;
}

/** Reads answers with a Content-Length; of a streamed one only the head, and then the connection is given up. */
export function createRawClient(baseUrl: string): RawClient {
  const { hostname, port } = new URL(baseUrl);
  let socket: Socket | null = null;
  let received = Buffer.alloc(0);
  let onChange: () => void = () => {};

  const open = (): Socket => {
    const fresh = connect(Number(port), hostname);
    received = Buffer.alloc(0);
    fresh.setNoDelay(true);
    fresh.on('data', (chunk: Buffer) => {
      if (fresh !== socket) return;
      received = Buffer.concat([received, chunk]);
      onChange();
    });
    // what it means is said by the end of the connection
    fresh.on('error', () => {});
    fresh.on('close', () => {
      if (fresh === socket) socket = null;
      onChange();
    });
    return fresh;
  };

  return {
    async request(bytes, deadline) {
      socket ??= open();
      const own = socket;
      own.write(bytes);
      const head = Buffer.from(bytes.subarray(0, 5)).toString() === 'HEAD ';
      const answer = await new Promise<RawAnswer>((resolve, reject) => {
        const finish = (act: () => void): void => {
          clearTimeout(timer);
          onChange = () => {};
          act();
        };
        const timer = setTimeout(() => {
          finish(() => reject(new Error(`no answer within ${deadline} ms`)));
          own.destroy();
        }, deadline);
        onChange = () => {
          const whole = readAnswer(received, head);
          if (whole !== null) {
            received = received.subarray(whole.size);
            finish(() => resolve(whole.answer));
          } else if (socket === null) {
            finish(() => reject(new Error(`closed after ${JSON.stringify(received.toString('latin1'))}`)));
          }
        };
      });
      const { headers } = answer;
      if (headers.get('connection')?.toLowerCase() === 'close' || headers.has('transfer-encoding')) {
        socket = null;
        own.destroy();
      }
      return answer;
    },
    close() {
      socket?.destroy();
      socket = null;
    },
  };
}

/** @param head to a HEAD: its length is that of what is not sent */
function readAnswer(bytes: Buffer, head: boolean): { answer: RawAnswer; size: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const [line = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((text) => {
      const colon = text.indexOf(':');
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()] as const;
    }),
  );
  const size = end + 4 + (head ? 0 : Number(headers.get('content-length') ?? 0));
  if (bytes.byteLength < size) return null;
  const status = Number(line.split(' ')[1]);
  return { answer: { status, headers, body: bytes.subarray(end + 4, size) }, size };
}
