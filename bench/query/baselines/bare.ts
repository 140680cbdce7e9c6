import { loadUws } from '#server/http/uws.ts';
import { recordOf } from '../requests.ts';

/** Bare uWebSockets.js: every request gets the bytes of one record. */
const body = JSON.stringify({
  id: '01890a5d-ac96-774b-bcce-b302099a8057',
  createdAt: '2026-11-22T00:00:00.000Z',
  updatedAt: '2026-11-22T00:00:00.000Z',
  ...recordOf(77),
});

loadUws()
  .App()
  .any('/*', (res) => {
    res.writeHeader('content-type', 'application/json').end(body);
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) throw new Error('no port of 127.0.0.1 can be listened on');
    process.stdout.write(`baseline listens on http://127.0.0.1:${loadUws().us_socket_local_port(socket)}\n`);
  });
