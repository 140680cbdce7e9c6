/** Changes and deletions of many records by conditions, where a process has its store for itself and where it has not. */
import t from 'tap';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { type FieldInput, structureOf } from '../services/record-client.ts';

const fields: FieldInput[] = [
  { name: 'group', type: 'TEXT' },
  { name: 'count', type: 'NUMBER' },
  { name: 'code', type: 'NUMBER', unique: true },
  { name: 'secret', type: 'TEXT', hashed: true },
  { name: 'needed', type: 'TEXT', required: true, defaultValue: 'x' },
  { name: 'more', type: 'OBJECT' },
];

for (const singleWriter of [true, false]) {
  t.test(singleWriter ? 'the only process of a store' : 'one of several processes', async (t) => {
    const harness = await queryHarnessFor(t, { singleWriter, config: { maxStoredRecordBytes: 3_000_000 } });
    const space = (slug: string, owner = 'owner') => {
      const structure = structureOf('p', slug, fields);
      const post =
        (name: string) =>
        (body: unknown, headers: Record<string, string> = {}, query: string = '') =>
          harness.call({ path: `/p/${slug}/${name}`, structure, body, headers, query, owner });
      const call = { call: (one: Parameters<typeof harness.call>[0]) => harness.call({ ...one, owner }) };
      return { ...spaceOf(call, 'p', slug, structure), update: post('_update_'), delete: post('_delete_') };
    };

    t.test('all that match are changed, and no other', async (t) => {
      const some = space('some');
      await some.insert(
        Array.from({ length: 300 }, (_, count) => ({
          group: count % 3 === 0 ? 'a' : 'b',
          count,
          code: count,
        })),
      );
      const { body } = await some.update({
        where: { group: 'a', count: { gte: 150 } },
        set: { group: 'c', secret: 's', more: { x: 1 } },
        inc: { count: 1000 },
      });
      t.strictSame(body, { updated: 50 });
      const found = (await some.find('group=c')).body;
      t.equal(found.length, 50);
      t.ok(found.every(({ count, code }: Record<string, number>) => count === (code ?? 0) + 1000));
      t.equal((await some.find('group=c&secret=s&code=150')).body.length, 1);
      t.equal((await some.find('group=a')).body.length, 50);
      t.strictSame((await some.update({ where: { group: 'none' }, set: { group: 'd' } })).body, {
        updated: 0,
      });
      const ids = found.slice(0, 20).map(({ id }: { id: string }) => id);
      t.strictSame((await some.delete({ where: { id: { in: ids } } })).body, { deleted: 20 });
      t.equal((await some.find('group=c')).body.length, 30);
      t.strictSame((await some.delete({ where: { id: ids[0] } })).body, { deleted: 0 });
      t.equal(
        (await some.insertOne({ code: found[0].code })).status,
        200,
        'what was deleted frees its values',
      );
      t.strictSame((await some.delete({ all: true })).body, { deleted: 281 });
      t.strictSame((await some.find()).body, []);
    });

    t.test('of many that take records of a kind at once, no two take the same', async (t) => {
      const jobs = space('jobs');
      await jobs.insert(Array.from({ length: 100 }, () => ({ group: 'free', count: 0 })));
      const take = { where: { group: 'free' }, set: { group: 'taken' }, inc: { count: 1 } };
      const single = () => jobs.updateOne([['group', 'free']], { group: 'single', count: { $inc: 1 } });
      const [many, ...singles] = await Promise.all([
        Promise.all([jobs.update(take), jobs.update(take), jobs.update(take)]),
        ...Array.from({ length: 20 }, single),
      ]);
      const taken = many.reduce((sum, { body }) => sum + body.updated, 0);
      t.equal(taken + singles.filter(({ status }) => status === 200).length, 100);
      t.equal((await jobs.find('count=1')).body.length, 100);
    });

    t.test('increments of all records at once are all there', async (t) => {
      const counters = space('counters');
      await counters.insert([{ group: 'a' }, { group: 'a', count: 5 }]);
      const inc = { where: { group: 'a' }, inc: { count: 1 } };
      const answers = await Promise.all(Array.from({ length: 30 }, () => counters.update(inc)));
      t.ok(answers.every(({ body }) => body.updated === 2));
      t.match((await counters.find('', { sort: { by: 'count' } })).body, [{ count: 30 }, { count: 35 }]);
    });

    t.test('without a condition, or with what can not be read, nothing is changed', async (t) => {
      const kept = space('kept');
      const { body: before } = await kept.insert([{ group: 'a', count: 1, code: 1 }, { group: 'b' }]);
      const set = { group: 'z' };
      for (const body of [{ set }, { where: {}, set }, { where: [], set }])
        t.match(await kept.update(body), { status: 400, code: 'no_conditions' });
      for (const body of [{}, { where: {} }, { where: [] }])
        t.match(await kept.delete(body), { status: 400, code: 'no_conditions' });
      const where = { group: 'a' };
      const wrong: readonly (readonly [unknown, string])[] = [
        [[], 'invalid_body'],
        [[where], 'invalid_body'],
        ['x', 'invalid_body'],
        [{ where: null, set }, 'invalid_body'],
        [{ where: 'group', set }, 'invalid_body'],
        [{ where, set, every: true }, 'invalid_body'],
        [{ where, set: [] }, 'invalid_body'],
        [{ where, inc: 1 }, 'invalid_body'],
        [{ where }, 'invalid_body'],
        [{ where, set: {} }, 'invalid_body'],
        [{ where: { nothing: 1 }, set }, 'invalid_condition'],
        [{ where: { $and: [] }, set }, 'invalid_condition'],
        [{ where: { count: { gt3: 1 } }, set }, 'invalid_condition'],
        [{ where, set: { nothing: 1 } }, 'invalid_value'],
        [{ where, set: { id: 'x' } }, 'invalid_value'],
        [{ where, set: { count: 'x' } }, 'invalid_value'],
        [{ where, set: { needed: null } }, 'invalid_value'],
        [{ where, set: { code: 7 } }, 'invalid_value'],
        [{ where, inc: { code: 1 } }, 'invalid_value'],
        [{ where, inc: { count: null } }, 'invalid_value'],
        [{ where, inc: { count: '1' } }, 'invalid_value'],
        [{ where, inc: { count: 1e300 } }, 'invalid_value'],
        [{ where, inc: { group: 1 } }, 'invalid_value'],
        [{ where, inc: { more: 1 } }, 'invalid_value'],
        [{ where, inc: { secret: 1 } }, 'invalid_value'],
        [{ where, set: { count: 1 }, inc: { count: 1 } }, 'invalid_value'],
      ];
      for (const [body, code] of wrong)
        t.match(await kept.update(body), { status: 400, code }, JSON.stringify(body));
      const all = {
        where: { count: { gt3: 1 }, group: {} },
        set: { nothing: 1, code: 7 },
        inc: { count: '1' },
      };
      t.match(await kept.update(all, { options: '{"pagination":{"limit":1}}' }), {
        code: 'invalid_options',
        problems: [
          /^Options: pagination and sort do not apply/,
          /'count' has no operator 'gt3'/,
          /'group' has an object without an operator/,
          /'nothing' is not in the structure/,
          /'code' is unique/,
          /'count' should be a valid number/,
        ],
      });
      for (const body of [{ where, set }, { where: 1 }, [1], { where: { $or: [{}] } }])
        t.equal((await kept.delete(body)).status, 400);
      const paged = { options: JSON.stringify({ pagination: { limit: 1 } }) };
      t.match(await kept.delete({ where }, paged), { status: 400, code: 'invalid_options' });
      t.match(await kept.update({ where, set }, {}, 'nothing=1'), { status: 400, code: 'invalid_condition' });
      const sorted = { options: JSON.stringify({ sort: { by: 'count' } }) };
      t.match(await kept.delete({ where }, sorted), { status: 400, code: 'invalid_options' });
      t.equal((await kept.delete({ where }, {}, '$limit=1')).status, 400, 'a page is not left out');
      t.equal((await kept.delete({ where: { ...where, $limit: 1 } })).status, 400);
      t.match(await kept.delete({ where }, { options: '{' }), { status: 400, code: 'invalid_options' });
      t.strictSame((await kept.find()).body, before);
      t.strictSame((await kept.update({ where, set: { code: null } })).body, { updated: 1 });
    });

    t.test('another account has records of its own', async (t) => {
      await space('apart').insert([{ group: 'a' }]);
      const other = space('apart', 'other');
      await other.insert([{ group: 'a' }, { group: 'a' }]);
      t.strictSame((await other.update({ where: { group: 'a' }, set: { group: 'b' } })).body, { updated: 2 });
      t.strictSame((await other.delete({ all: true })).body, { deleted: 2 });
      t.match((await space('apart').find()).body, [{ group: 'a' }]);
    });

    t.test('more than there is room for is refused as a whole', async (t) => {
      const large = space('large');
      await large.insert(Array.from({ length: 1000 }, () => ({ group: 'a' })));
      const where = { group: 'a' };
      const set = { needed: 'x'.repeat(5000) };
      t.match(await large.update({ where, set }), { status: 403, code: 'quota_exceeded' });
      const much = { needed: 'x'.repeat(20_000) };
      t.match(await large.update({ where, set: much }), { status: 400, code: 'invalid_condition' });
      t.equal((await large.find('needed=x', { pagination: { limit: 2000 } })).body.length, 1000);
      await large.insert(Array.from({ length: 9001 }, () => ({ group: 'a' })));
      t.match(await large.delete({ where }), { status: 400, code: 'invalid_condition' });
      t.match(await large.delete({ where: { ...where, needed: 'y' } }), {
        status: 200,
        body: { deleted: 0 },
      });
    });
  });
}
