/** Beginnings of HTML, each followed by a space or `>` (https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type). */
const tags = [
  ...[
    '!doctype html',
    'html',
    'head',
    'script',
    'iframe',
    'h1',
    'div',
    'font',
    'table',
    'a',
    'style',
    'title',
  ],
  ...['b', 'body', 'br', 'p', '!--'],
  // not in the table, but a browser would run what is in them
  ...['img', 'svg', 'meta', 'link', 'base', 'form', 'object', 'embed', 'video', 'audio', 'math', 'template'],
];
const htmlTag = new RegExp(`^<(?:${tags.join('|')})[\\s/>]`, 'i');
/** The most bytes that are read as text. */
const mostText = 64 * 1024;
/** Most declarations, comments and instructions before the root element. */
const mostPrologue = 1000;

/** Programs by their first bytes. */
const programs = [
  ['7f454c46', 'application/x-elf'],
  // Mach-O, of either order and width
  ...['feedface', 'feedfacf', 'cefaedfe', 'cffaedfe'].map(
    (magic) => [magic, 'application/x-mach-binary'] as const,
  ),
  ['0061736d', 'application/wasm'],
  // of Android
  ['6465780a', 'application/vnd.android.dex'],
  // a shortcut of Windows
  ['4c0000000114020000000000', 'application/x-ms-shortcut'],
  // an extension of Chrome
  ['43723234', 'application/x-chrome-extension'],
  // a package of Debian, or a library
  ['213c617263683e0a', 'application/x-archive'],
].map(([magic = '', type = '']) => ({ first: Number.parseInt(magic.slice(0, 2), 16), magic, type }));

/**
 * The media type of bytes that could act where they are shown, or be started: HTML, XML and programs. Null: they are
 * something else. XML counts whatever its root, since any namespace may be in it; a manifest of DASH has its own type.
 * @param head the first bytes of a file
 */
export function activeType(head: Buffer): string | null {
  const [first = 0, second = 0] = head;
  const program = programType(head, first, second);
  if (program !== null) return program;
  const text = beginningOfText(head, first, second);
  return text === null ? null : markupType(text);
}

function programType(head: Buffer, first: number, second: number): string | null {
  // "#!", perhaps after a byte order mark
  if (first === 0x23 && second === 0x21) return 'application/x-sh';
  if (first === 0x4d && second === 0x5a)
    return isDosProgram(head) ? 'application/vnd.microsoft.portable-executable' : null;
  if (first === 0xca && head.length >= 8 && head.readUInt32BE(0) === 0xcafebabe)
    // a class has its version there, and a fat binary the number of its architectures
    return head.readUInt32BE(4) < 30 ? 'application/x-mach-binary' : 'application/java-vm';
  for (const program of programs)
    if (program.first === first && head.toString('hex', 0, program.magic.length / 2) === program.magic)
      return program.type;
  return null;
}

/** A text may begin with MZ as well, but has no zeros. */
function isDosProgram(head: Buffer): boolean {
  return head.subarray(0, 64).includes(0);
}

/** The text of the first bytes, if they begin with a tag after white space. */
function beginningOfText(head: Buffer, first: number, second: number): string | null {
  const some = head.subarray(0, mostText);
  if (first === 0xff && second === 0xfe) return tagIn(some.toString('utf16le', 2, some.length & ~1));
  if (first === 0xfe && second === 0xff)
    return tagIn(
      Buffer.from(some.subarray(2, some.length & ~1))
        .swap16()
        .toString('utf16le'),
    );
  const start = first === 0xef && second === 0xbb && head[2] === 0xbf ? 3 : 0;
  if (start === 3 && head[3] === 0x23 && head[4] === 0x21) return '#!';
  let at = start;
  while (at < some.length && isWhite(some[at] as number)) at += 1;
  // "<", and UTF-16 without a byte order mark
  if (some[at] !== 0x3c && !(some[at] === 0 && some[at + 1] === 0x3c)) return null;
  if (some[at] === 0)
    return tagIn(
      Buffer.from(some.subarray(at, at + ((some.length - at) & ~1)))
        .swap16()
        .toString('utf16le'),
    );
  if (some[at + 1] === 0) return tagIn(some.toString('utf16le', at, at + ((some.length - at) & ~1)));
  return some.toString('latin1', at);
}

function tagIn(text: string): string | null {
  const trimmed = text.trimStart();
  return trimmed.startsWith('<') || trimmed.startsWith('#!') ? trimmed : null;
}

function isWhite(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b);
}

function markupType(text: string): string | null {
  if (text.startsWith('#!')) return 'application/x-sh';
  const isXml = /^<\?xml[\s?]/i.test(text);
  const isDoctype = /^<!doctype\s/i.test(text);
  const isComment = text.startsWith('<!--');
  if (isXml || isDoctype || isComment) {
    const root = rootOf(text);
    if (root === 'svg') return 'image/svg+xml';
    if (isXml && root === 'html') return 'application/xhtml+xml';
    if (isXml) return root === 'MPD' ? 'application/dash+xml' : 'application/xml';
    return 'text/html';
  }
  if (/^<(?:[\w.-]+:)?svg[\s/>]/i.test(text)) return 'image/svg+xml';
  if (/^<(?:[\w.-]+:)?MPD[\s/>]/.test(text)) return 'application/dash+xml';
  if (htmlTag.test(text)) return 'text/html';
  return /^<[a-z][^>]*\sxmlns[\s=:]/i.test(text.slice(0, 4096)) ? 'application/xml' : null;
}

/** The name of the root element, without its prefix; null: it comes later. */
function rootOf(text: string): string | null {
  let at = 0;
  for (let step = 0; step < mostPrologue; step += 1) {
    while (at < text.length && isWhite(text.charCodeAt(at))) at += 1;
    if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4);
    else if (text.startsWith('<?', at)) at = after(text, '?>', at + 2);
    else if (text.startsWith('<!', at)) at = afterDoctype(text, at);
    else break;
    if (at === -1) return null;
  }
  const [, name] = /^<(?:[\w.-]{1,100}:)?([\w.-]{1,100})[\s/>]/.exec(text.slice(at, at + 300)) ?? [];
  return name === undefined || name === 'MPD' ? (name ?? null) : name.toLowerCase();
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  return found === -1 ? -1 : found + end.length;
}

/** A document type may hold declarations in brackets. */
function afterDoctype(text: string, from: number): number {
  const end = text.indexOf('>', from);
  const bracket = text.indexOf('[', from);
  if (bracket === -1 || (end !== -1 && end < bracket)) return end === -1 ? -1 : end + 1;
  const closed = text.indexOf(']', bracket);
  return closed === -1 ? -1 : after(text, '>', closed);
}
