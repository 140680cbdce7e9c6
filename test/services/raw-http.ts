import { connect } from 'node:net';

/** A bare connection, for requests that no well-behaved client would send. */
export function connectRaw(baseUrl: string) {
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
    send: (data: string | Uint8Array) => void socket.write(data),
    /** Everything received so far. */
    received: () => text,
    /** Resolves when what was received matches, rejects when the connection ends before it does. */
    until: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const check = (): void => {
          if (!pattern.test(text)) return;
          socket.off('data', check);
          resolve(text);
        };
        socket.on('data', check);
        socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
        check();
      }),
    /** Resolves with everything received once the server has closed. */
    closed: () =>
      new Promise<string>((resolve) => {
        if (socket.closed) resolve(text);
        else socket.once('close', () => resolve(text));
      }),
  };
}
