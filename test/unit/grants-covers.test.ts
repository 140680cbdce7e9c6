/** Nobody gives what he lacks: `covers` against the gate itself, for grants of every kind. */
import t from 'tap';
import { covers, type Grants, grantNames, lackOf, type TouchedSpaces } from '#kernel/grants.ts';

const touches: readonly TouchedSpaces[] = [
  'space',
  'named space',
  'granted spaces',
  'all spaces',
  'beside spaces',
];
const slugs = ['shop', 'blog', undefined];
const spaces = ['orders', 'notes', undefined];
const lists: readonly (readonly string[] | undefined)[] = [undefined, ['a'], ['b'], ['a', 'b']];
const named = (list: readonly string[] | undefined, from: readonly (string | undefined)[]) =>
  list?.map((name) => from[name === 'a' ? 0 : 1] as string);
const mays = [undefined, ['find'], ['find', 'files:read'], ['backup'], ['insert', 'structure']] as const;

const all: Grants[] = [];
for (const projects of lists)
  for (const some of lists)
    for (const may of mays)
      for (const publishable of [false, true]) {
        const parts = { projects: named(projects, slugs), spaces: named(some, spaces), may };
        const given = Object.fromEntries(Object.entries(parts).filter(([, list]) => list !== undefined));
        all.push({ ...given, ...(publishable && { publishable: true, origins: ['*'] }) });
      }

/** Whether there is anything that the inner grants allow, and the outer ones do not. */
function exceeds(outer: Grants, inner: Grants): boolean {
  return grantNames.some((grant) =>
    touches.some((touched) =>
      slugs.some((project) =>
        spaces.some((space) => {
          const need = { grant, touches: touched };
          const at = { project, space };
          return lackOf(inner, need, at) === null && lackOf(outer, need, at) !== null;
        }),
      ),
    ),
  );
}

t.test('grants that are covered allow nothing more', async (t) => {
  let [covered, refused] = [0, 0];
  const wrong: unknown[] = [];
  for (const outer of all)
    for (const inner of all)
      if (covers(outer, inner)) {
        covered++;
        if (exceeds(outer, inner)) wrong.push({ outer, inner });
      } else refused++;
  t.strictSame(wrong, []);
  t.ok(covered > 1000 && refused > 1000, `${covered} are covered, ${refused} are not`);
  for (const grants of all) if (!grants.publishable) t.ok(covers(grants, grants), JSON.stringify(grants));
});

t.test('what has no limits covers everything, and is covered by nothing else', async (t) => {
  for (const grants of all) {
    t.ok(covers(undefined, grants));
    t.equal(covers(grants, undefined), false);
  }
  t.ok(covers(undefined, undefined));
});

t.test('only grants that name backup cover it', async (t) => {
  t.equal(covers({ projects: ['shop'] }, { projects: ['shop'], may: ['backup'] }), false);
  t.ok(covers({ may: ['backup'] }, { projects: ['shop'], may: ['backup'] }));
});

t.test('a list of spaces says nothing of files', async (t) => {
  t.equal(covers({ spaces: ['orders'] }, { spaces: ['orders'], may: ['files:read'] }), false);
  t.ok(
    covers({ spaces: ['orders'], may: ['find', 'files:read'] }, { spaces: ['orders'], may: ['files:read'] }),
  );
});
