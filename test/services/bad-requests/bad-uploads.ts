import type { BadRequest } from './bad-request.ts';
import { project } from './bad-structures.ts';
import type { Dice } from './dice.ts';

const boundary = 'xXsluiceXx';
const good = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--${boundary}--\r\n`;

/** A form that lacks its file, its end or its form. */
function badForm(dice: Dice): Buffer {
  const text = dice.text().replace(/["\\\r\n]/g, 'x');
  const part = (disposition: string, content: string | Buffer = 'hello', more = ''): Buffer =>
    Buffer.concat([
      Buffer.from(`--${boundary}\r\n${disposition}\r\n${more}\r\n`),
      Buffer.from(content as string),
      Buffer.from('\r\n'),
    ]);
  const end = Buffer.from(`--${boundary}--\r\n`);
  const file = (name: string): string => `Content-Disposition: form-data; name="file"; filename="${name}"`;
  return dice.pick([
    // without the last two bytes the end of the form is still there
    () => Buffer.from(good.slice(0, dice.below(good.length - 3))),
    () => Buffer.from(good.replaceAll(boundary, `${boundary}2`)),
    () => Buffer.concat([part(`Content-Disposition: form-data; name="${text}x"; filename="a"`), end]),
    () => Buffer.concat([part('Content-Disposition: form-data; name="file"'), end]),
    () => Buffer.concat([part(file('a')), part(file('b')), end]),
    () => Buffer.concat([part(file(`${text}\x01`)), end]),
    () => Buffer.concat([part(file(' '.repeat(dice.below(5)))), end]),
    () => Buffer.concat([part(file('n'.repeat(1001))), end]),
    () => Buffer.concat([part('Content-Type: text/plain'), end]),
    () => Buffer.concat([part(`Content-Disposition: ${text}; name="file"; filename="a"`), end]),
    () => Buffer.concat([part(`${file('a')}\r\n${file('b')}`), end]),
    () => Buffer.concat([part(file('a'), 'hello', 'Content-Transfer-Encoding: base64\r\n'), end]),
    () => Buffer.concat([part(file('a'), 'hello', `X-Long: ${'y'.repeat(100_000)}\r\n`), end]),
    () =>
      Buffer.concat([
        ...Array.from({ length: 102 }, () => part('Content-Disposition: form-data; name="a"')),
        end,
      ]),
    () =>
      Buffer.concat([part('Content-Disposition: form-data; name="a"', Buffer.alloc(1_200_000, 0x61)), end]),
    () => dice.bytes(dice.below(2000)),
    () => end,
    () => Buffer.alloc(0),
  ])();
}

export function badUpload(dice: Dice, token: string): BadRequest {
  const body = badForm(dice);
  const chunks = body.byteLength > 0 && dice.chance(0.3) ? [1 + dice.below(300), 1 + dice.below(5000)] : null;
  return {
    kind: 'multipart',
    method: 'POST',
    target: `/_f_/${project}/upload`,
    headers: [
      ['authorization', `Bearer ${token}`],
      ['content-type', `multipart/form-data; boundary=${boundary}`],
    ],
    body,
    // a byte a chunk of a megabyte would be a test of patience
    chunks: body.byteLength > 20_000 ? null : chunks,
  };
}

export function badUploadHead(dice: Dice, token: string): BadRequest {
  const text = dice.text().replace(/[^\x20-\x7e]/g, 'x');
  const type = dice.pick([
    'text/plain',
    'application/json',
    'multipart/form-data',
    'multipart/form-data; boundary=',
    `multipart/form-data; boundary=${'b'.repeat(71)}`,
    `multipart/mixed; boundary=${boundary}`,
    `multipart/form-data; boundary="${boundary}`,
    `${text}!`,
    '',
  ]);
  const slug = encodeURIComponent(`.${dice.text()}`);
  const target = dice.chance(0.3) ? `/_f_/${slug}/upload` : `/_f_/${project}/upload`;
  return {
    kind: 'upload head',
    method: dice.chance(0.1) ? dice.pick(['PUT', 'DELETE', 'GET']) : 'POST',
    target,
    headers: [
      ['authorization', `Bearer ${token}`],
      ['content-type', type],
    ],
    body: Buffer.from(good),
    chunks: null,
  };
}

export function badDownload(dice: Dice, token: string): BadRequest {
  const name = encodeURIComponent(dice.text());
  const target = dice.pick([`/_f_/${project}/${name}`, `/_f_/${name}/a`, `/_f_/${project}/${name}/${name}`]);
  const headers = dice.chance(0.5) ? [] : ([['authorization', `Bearer ${token}`]] as const);
  return { kind: 'download', method: 'GET', target, headers, body: null, chunks: null };
}
