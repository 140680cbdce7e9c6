/** The header Prefer, in the spellings of RFC 7240 section 2. */
import t from 'tap';
import { preferred, prefersMinimal } from '#server/http/prefer.ts';
import { fakeRequest } from '../services/fake-request.ts';

const asking = (prefer: string) => fakeRequest({ headers: { prefer } });

t.test('return=minimal', async (t) => {
  for (const text of [
    'return=minimal',
    'Return=minimal',
    ' RETURN = minimal ',
    'return="minimal"',
    'return="mini\\mal"',
    'respond-async, return=minimal',
    'wait=10 , return=minimal;foo="a, b;c" ; bar',
    'foo; q="return=representation, x", return=minimal',
    'foo="return=representation\\", x", return=minimal',
    // several headers are one list
    'handling=lenient, , ,return=minimal, return=representation',
    '@ nonsense =, return=minimal',
  ])
    t.ok(prefersMinimal(asking(text)), text);
});

t.test('anything else', async (t) => {
  for (const text of [
    '',
    ',',
    'return',
    'return=',
    'return=""',
    // names of preferences know no case, their values do
    'return=Minimal',
    'return=representation',
    // "only the first instance is to be considered"
    'return=representation, return=minimal',
    'return, return=minimal',
    'returns=minimal',
    'x-return=minimal',
    'foo; return=minimal',
    'foo="return=minimal"',
    'foo=", return=minimal',
    'return=minimal extra',
    'return==minimal',
  ])
    t.notOk(prefersMinimal(asking(text)), text);
  t.notOk(prefersMinimal(fakeRequest()));
});

t.test('values', async (t) => {
  t.equal(preferred(asking('wait=10'), 'wait'), '10');
  t.equal(preferred(asking('a; b=c'), 'a'), '');
  t.equal(preferred(asking('a="b\\"c, d"'), 'a'), 'b"c, d');
  t.equal(preferred(asking('a=b'), 'c'), undefined);
  t.equal(preferred(asking(`a="${'\\"'.repeat(8000)}`), 'a'), undefined);
});
