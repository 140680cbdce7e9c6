/**
 * Loaded before a server under test: tells the test that started it, over the socket in SLUICE_CONTRACT_SOCKET, of every answer
 * that it gives, whatever client asked for it.
 */

import type * as Uws from 'uWebSockets.js';
import { connect } from 'node:net';
import { loadUws } from '#server/http/uws.ts';

/** Of a body that is told; a larger one is only told of. Characters. */
const longestBody = 1024 * 1024;

const path = process.env.SLUICE_CONTRACT_SOCKET;
if (path !== undefined) {
  const socket = connect(path);
  socket.unref();
  // the test may be gone, or have killed others
  socket.on('error', () => {});
  const uws = loadUws() as { -readonly [Name in 'App' | 'SSLApp']: (typeof Uws)[Name] };
  for (const name of ['App', 'SSLApp'] as const) {
    const original = uws[name] as (...args: unknown[]) => Uws.TemplatedApp;
    // the native side counts its arguments
    uws[name] = (...args) => {
      const app = original(...args);
      const any = app.any.bind(app);
      app.any = (pattern, handler) =>
        any(pattern, (res, req) => {
          watch(res, req, (line) => socket.write(`${JSON.stringify(line)}\n`));
          return handler(res, req);
        });
      return app;
    };
  }
}

function watch(res: Uws.HttpResponse, req: Uws.HttpRequest, tell: (answer: object) => void): void {
  const asked = { method: req.getCaseSensitiveMethod(), path: req.getUrl() };
  const headers: Record<string, string> = {};
  // what the native side writes where nobody says another
  let status = 200;
  /** Bytes as characters. */
  let body: string | null = '';
  let told = false;
  const add = (chunk: Uws.RecognizedString | undefined): void => {
    if (chunk === undefined || body === null) return;
    body += Buffer.from(chunk as Uint8Array).toString('latin1');
    if (body.length > longestBody) body = null;
  };
  const done = (): void => {
    if (told) return;
    told = true;
    const isText = /json|text/.test(headers['content-type'] ?? '');
    const shown = body === null || (!isText && body !== '') ? null : body;
    tell({ ...asked, status, headers, body: shown });
  };
  const { writeStatus, writeHeader, write, end, endWithoutBody, tryEnd } = res;
  res.writeStatus = (line) => {
    status = Number.parseInt(String(line), 10);
    return writeStatus.call(res, line);
  };
  res.writeHeader = (name, value) => {
    // an answer that lingers has its body behind its last header
    const text = typeof value === 'string' ? value : Buffer.from(value as Uint8Array).toString('latin1');
    const [first = '', ...rest] = text.split('\r\n\r\n');
    // others may stand behind its value
    for (const line of `${name}: ${first}`.split('\r\n')) {
      const [, key, content = ''] = /^([^:]+): ?(.*)$/.exec(line) ?? [];
      if (key !== undefined) headers[key.toLowerCase()] = content;
    }
    const result = writeHeader.call(res, name, value);
    if (rest.length > 0) {
      add(rest.join('\r\n\r\n'));
      done();
    }
    return result;
  };
  res.write = (chunk) => {
    add(chunk);
    return write.call(res, chunk);
  };
  res.end = (...args) => {
    add(args[0]);
    done();
    return end.apply(res, args);
  };
  res.endWithoutBody = (...args) => {
    body = '';
    done();
    return endWithoutBody.apply(res, args);
  };
  res.tryEnd = (chunk, size) => {
    body = null;
    done();
    return tryEnd.call(res, chunk, size);
  };
}
