import fc from 'fast-check';
import t from 'tap';
import { servingHeaders } from '#gateway/files/content-type-policy.ts';
import { mediaTypeOf } from '#gateway/files/media-type.ts';
import { contentDisposition } from '#server/http/content-disposition.ts';
import { sized } from '../services/test-size.ts';

t.test('what can act in our origin is never served as itself', async (t) => {
  for (const type of [
    'text/html',
    'application/xhtml+xml',
    'image/svg+xml',
    'text/xml',
    'application/xml',
    'text/javascript',
    'application/javascript',
    'text/css',
    'application/wasm',
    'application/x-shockwave-flash',
    'multipart/x-mixed-replace',
    'message/rfc822',
    'text/cache-manifest',
    'font/woff2',
    'application/octet-stream',
    'made/up',
    '__proto__',
    'constructor',
  ]) {
    const headers = servingHeaders(type, 'a');
    t.equal(headers['content-type'], 'application/octet-stream', type);
    t.match(headers['content-disposition'], /^attachment;/, type);
  }
});

t.test('inert types are shown, known documents are saved under their type', async (t) => {
  for (const type of ['image/png', 'image/webp', 'video/mp4', 'audio/mpeg']) {
    t.match(servingHeaders(type, 'a'), { 'content-type': type, 'content-disposition': /^inline;/ });
  }
  t.match(servingHeaders('text/plain', 'a'), {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': /^inline;/,
  });
  for (const type of ['application/zip', 'application/json', 'text/csv']) {
    t.match(servingHeaders(type, 'a'), { 'content-type': type, 'content-disposition': /^attachment;/ });
  }
});

t.test('nothing is sniffed and everything is sandboxed', async (t) => {
  for (const type of ['image/png', 'text/html', 'application/pdf']) {
    t.match(servingHeaders(type, 'a'), {
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
  }
});

t.test('the type to store', async (t) => {
  const cases: [declared: string | undefined, name: string, type: string][] = [
    ['image/png', 'a.txt', 'image/png'],
    ['IMAGE/PNG', 'a', 'image/png'],
    ['text/plain; charset=utf-8', 'a', 'text/plain'],
    ['application/octet-stream', 'a.PNG', 'image/png'],
    ['Application/Octet-Stream; x=y', 'a.mp4', 'video/mp4'],
    [undefined, 'dir.d/a.tar.gz', 'application/gzip'],
    [undefined, 'noext', 'application/octet-stream'],
    [undefined, 'a.constructor', 'application/octet-stream'],
    [undefined, 'json', 'application/octet-stream'],
    [undefined, 'a.FLAC', 'audio/flac'],
    [undefined, 'a.heic', 'image/heic'],
    [undefined, 'a.doc', 'application/msword'],
    ['', 'a.pdf', 'application/pdf'],
    ['image', 'a.gif', 'image/gif'],
    ['image/', 'a.gif', 'image/gif'],
    ['image/png, text/html', 'a.gif', 'image/gif'],
    ['text/html\r\nx: y', 'a', 'application/octet-stream'],
    ['bild/größe', 'a', 'application/octet-stream'],
    [`image/${'x'.repeat(200)}`, 'a', 'application/octet-stream'],
  ];
  for (const [declared, name, type] of cases)
    t.equal(mediaTypeOf(declared, name), type, `${declared} ${name}`);
});

t.test('Content-Disposition', async (t) => {
  const cases: [name: string, value: string][] = [
    ['a.txt', 'attachment; filename="a.txt"'],
    ['with space.txt', 'attachment; filename="with space.txt"'],
    ['dir/a.txt', 'attachment; filename="a.txt"'],
    ['C:\\dir\\a.txt', 'attachment; filename="a.txt"'],
    ['dir/', 'attachment; filename="dir"'],
    ['dir\\', 'attachment; filename="dir"'],
    ['/', 'attachment; filename="file"'],
    ['€ rates.txt', `attachment; filename="_ rates.txt"; filename*=UTF-8''%E2%82%AC%20rates.txt`],
    ['😀.png', `attachment; filename="_.png"; filename*=UTF-8''%F0%9F%98%80.png`],
    ['say "hi"', `attachment; filename="say _hi_"; filename*=UTF-8''say%20%22hi%22`],
    ["it's (1)*.txt", `attachment; filename="it's (1)*.txt"`],
    ["é's (1)*.txt", `attachment; filename="_'s (1)*.txt"; filename*=UTF-8''%C3%A9%27s%20%281%29%2A.txt`],
    ['100%.txt', `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`],
  ];
  for (const [name, value] of cases) t.equal(contentDisposition('attachment', name), value);
  t.match(contentDisposition('inline', 'a'), /^inline;/);
});

t.test('no name can add a header or a parameter, and every name can be read back', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (name) => {
      const value = contentDisposition('attachment', name);
      if (
        !/^attachment; filename="[\x20-\x21\x23-\x24\x26-\x5b\x5d-\x7e]*"(; filename\*=UTF-8''[\w!#$&+.^`|~%-]*)?$/.test(
          value,
        )
      ) {
        throw new Error(value);
      }
      const extended = /filename\*=UTF-8''(.*)$/.exec(value)?.[1];
      const sent =
        extended === undefined ? /filename="(.*)"$/.exec(value)?.[1] : decodeURIComponent(extended);
      const base = name.split(/[/\\]/).at(-1) || 'file';
      if (sent !== base) throw new Error(`${JSON.stringify(sent)} for ${JSON.stringify(base)}`);
    }),
    { numRuns: sized(3000) },
  );
  t.doesNotThrow(() => contentDisposition('attachment', 'lone \ud800 surrogate'));
});
