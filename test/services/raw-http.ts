import { connect, type Socket } from 'node:net';

/** A bare connection, for requests that no well-behaved client would send. */
export interface RawConnection {
  readonly socket: Socket;
  send(data: string | Uint8Array): void;
  /** Everything received so far. */
  received(): string;
  /** Resolves when what was received matches, rejects when the connection ends before it does. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with everything received once the server has closed. */
  closed(): Promise<string>;
}

export function connectRaw(baseUrl: string): RawConnection {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  // a reset shows as the end of the connection, which is what the tests look at
  socket.on('error', () => {});
  return {
    socket,
    send: (data) => void socket.write(data),
    received: () => text,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          if (!pattern.test(text)) return;
          socket.off('data', check);
          resolve(text);
        };
        socket.on('data', check);
        socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
        check();
      }),
    closed: () =>
      new Promise((resolve) => {
        if (socket.closed) resolve(text);
        else socket.once('close', () => resolve(text));
      }),
  };
}
