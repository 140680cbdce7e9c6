/** What counts as one e-mail address: the readers of mail headers must never see another, or several. */
import fc from 'fast-check';
import addressparser from 'nodemailer/lib/addressparser';
import t from 'tap';
import { isMailAddress } from '#query/login/mail-address.ts';

const good = [
  'ada@example.com',
  "o'hara+tag@mail.example.co.uk",
  'a.b_c-d@xn--bcher-kva.example',
  'ada@bücher.example',
  'müller@example.com',
  '用户@例子.中国',
  '1@2.io',
  `${'a'.repeat(64)}@example.com`,
];
const bad = [
  '',
  '@',
  'ada',
  'ada@',
  '@example.com',
  'ada@localhost',
  'ada@example..com',
  'ada@.example.com',
  'ada@example.com.',
  'ada@-example.com',
  'ada@exa mple.com',
  '.ada@example.com',
  'ada.@example.com',
  'a..b@example.com',
  'ada@example.com,eve@example.com',
  'ada@example.com;eve@example.com',
  'ada@example.com eve@example.com',
  'ada@example.com\r\nBcc: eve@example.com',
  'ada@example.com\nBcc: eve@example.com',
  'ada\r@example.com',
  'ada\0@example.com',
  'ada@example.com>',
  'Ada <ada@example.com>',
  '<ada@example.com>',
  'group: ada@example.com;',
  '"a b"@example.com',
  'ada(comment)@example.com',
  'ada@[127.0.0.1]',
  'ada@eve@example.com',
  'ada@example.com?bcc=eve@example.com',
  'ada@exa_mple.com',
  'ada@example.com%0abcc:eve',
  'a\u200bda@example.com',
  'a\u202eda@example.com',
  'ada\u00a0@example.com',
  'ada\ufeff@example.com',
  'mu\u0308ller@example.com',
  'ada@example.com\ud800',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(64)}.com`,
  `a@${'b.'.repeat(130)}com`,
];

t.test('one address is taken, and nothing else', async (t) => {
  for (const address of good) t.ok(isMailAddress(address), JSON.stringify(address));
  for (const address of bad) t.notOk(isMailAddress(address), JSON.stringify(address));
});

t.test('what is taken is one address, as it stands, to the parser that sends mails', async (t) => {
  const parts = [
    'a',
    'ü',
    '.',
    '@',
    ',',
    ';',
    ':',
    '<',
    '>',
    '"',
    '(',
    ')',
    '\\',
    '\r',
    '\n',
    ' ',
    "'",
    '-',
    '例',
  ];
  const texts = fc.oneof(
    fc.string({ unit: fc.constantFrom(...parts), maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );
  const mixed = fc.tuple(texts, texts).map(([name, domain]) => `a${name}@b${domain}.example`);
  let taken = 0;
  fc.assert(
    fc.property(mixed, (address) => {
      if (!isMailAddress(address)) return;
      taken++;
      t.strictSame(addressparser(address), [{ address, name: '' }]);
    }),
    { numRuns: 20_000, seed: 76 },
  );
  t.ok(taken > 100, `${taken} were taken`);
});
