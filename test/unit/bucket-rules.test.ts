import t from 'tap';
import {
  abortDays,
  abortXml,
  daysOfRules,
  isTooEarly,
  lifecycleKind,
} from '#objects/s3/bucket-check/abort-rule.ts';
import { corsKind, corsXml, neededCors } from '#objects/s3/bucket-check/cors-rules.ts';
import { rulesOf, withOwnRules } from '#objects/s3/bucket-check/rule-document.ts';

const day = 24 * 3_600_000;
const theirs =
  '<CORSRule><ID>theirs</ID><AllowedMethod>GET</AllowedMethod><AllowedOrigin>*</AllowedOrigin><Vendor a="$&amp;"/></CORSRule>';
const rules = neededCors({ name: 'sluice', origins: ['https://a.example'], redirects: true }).map(corsXml);

t.test('rules of others stay as they are, and ours are there once', async (t) => {
  const before = `<?xml version="1.0"?>\n<CORSConfiguration xmlns="x">\n  ${theirs}\n  </CORSConfiguration>`;
  for (const first of [false, true]) {
    const own = { kind: corsKind, rules, first };
    const after = withOwnRules(before, own);
    t.ok(after.includes(theirs));
    t.match(after, /^<\?xml version="1.0"\?>\n<CORSConfiguration xmlns="x">/);
    t.equal(rulesOf(after, corsKind).length, 3);
    t.equal(rulesOf(after, corsKind).indexOf(theirs), first ? 2 : 0);
    t.equal(withOwnRules(after, own), after, 'a second time changes nothing');
  }
});

t.test('a document is made where there is none', async (t) => {
  for (const before of [null, '<CORSConfiguration/>', '<CORSConfiguration xmlns="x"></CORSConfiguration>']) {
    const after = withOwnRules(before, { kind: corsKind, rules, first: false });
    t.match(after, /^<CORSConfiguration xmlns="[^"]+"><CORSRule><ID>sluice<\/ID>.*<\/CORSConfiguration>$/);
    t.equal(rulesOf(after, corsKind).length, 2);
  }
});

t.test('nothing is written over an answer that is no such document', async (t) => {
  t.throws(() => withOwnRules('<html></html>', { kind: corsKind, rules, first: false }), /CORSConfiguration/);
});

t.test('reading is open to redirected pages only where downloads are redirected', async (t) => {
  const direct = neededCors({ name: 'n', origins: ['https://a.example'], redirects: false });
  t.strictSame(
    direct.map(({ AllowedOrigins }) => AllowedOrigins),
    [['https://a.example']],
  );
  const redirected = neededCors({ name: 'n', origins: ['https://a.example'], redirects: true });
  t.match(redirected[1], { AllowedOrigins: ['*'], AllowedMethods: ['GET', 'HEAD'] });
});

t.test('the days of the earliest rule for our keys', async (t) => {
  const rule = (days: number, prefix: string, more = '', status = 'Enabled'): string =>
    abortXml({ name: 'n', prefix, days })
      .xml.replace('Enabled', status)
      .replace('</Filter>', `${more}</Filter>`);
  const document = (...found: string[]): string =>
    `<LifecycleConfiguration>${found.join('\n')}</LifecycleConfiguration>`;
  t.equal(daysOfRules(null, 'ours/'), null);
  t.equal(daysOfRules(document(), 'ours/'), null);
  t.equal(daysOfRules(document(rule(9, ''), rule(7, 'ours/')), 'ours/'), 7);
  t.equal(daysOfRules(document(rule(3, 'theirs/')), 'ours/'), null);
  t.equal(daysOfRules(document(rule(3, 'ours/', '<Tag><Key>a</Key></Tag>')), 'ours/'), null);
  t.equal(daysOfRules(document(rule(3, 'ours/', '', 'Disabled')), 'ours/'), null);
  t.equal(
    daysOfRules(
      document('<Rule><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule>'),
      'o',
    ),
    null,
  );
  const both = withOwnRules(document(rule(3, 'theirs/')), {
    kind: lifecycleKind,
    rules: [abortXml({ name: 'sluice', prefix: 'ours/', days: 8 })],
    first: false,
  });
  t.equal(daysOfRules(both, 'ours/'), 8);
  t.equal(daysOfRules(both, 'theirs/'), 3);
});

t.test('a rule comes after the janitor', async (t) => {
  t.equal(abortDays(day), 7);
  t.equal(abortDays(30 * day), 31);
  t.notOk(isTooEarly(abortDays(1000), 1000));
  t.ok(isTooEarly(1, day));
  t.notOk(isTooEarly(2, day));
});
