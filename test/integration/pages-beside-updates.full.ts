/** Pages that share a statement, while records go from one value to another: each is a page of some state. */
import t from 'tap';
import { engineSettings } from '#engine/engine-settings.ts';
import { queryHarnessFor, spaceOf } from '../services/query-harness.ts';
import { fieldsOf } from '../services/record-client.ts';

const records = 60;
const limit = 5;
const fields = fieldsOf('place NUMBER, age NUMBER');

t.test('pages beside updates', async (t) => {
  // a statement that numbers the records of a value, and reads those of a page, must not see two states
  t.equal(
    engineSettings.enable_shared_storage_snapshot_in_query,
    1,
    'also where the engine has another default',
  );
  let shared = 0;
  const harness = await queryHarnessFor(t, {
    singleWriter: false,
    wrap: (db) => ({
      ...db,
      stream(statement) {
        if (statement.sql.includes('intDiv(place')) shared++;
        return db.stream(statement);
      },
    }),
  });
  const space = spaceOf(harness, 'p', 's', fields);
  const { body } = await space.insert(Array.from({ length: records }, (_, place) => ({ place, age: 1 })));
  const ids = (body as { id: string }[]).map(({ id }) => id);
  /** Places of the records of a page. */
  const pageOf = async (age: number, page: number): Promise<readonly number[]> => {
    const asked = [
      ['age', String(age)],
      ['$sort', 'place'],
      ['$limit', String(limit)],
      ['$page', String(page + 1)],
    ] as const;
    const found = (await space.find(asked)).body as { place: number; age: number }[];
    t.ok(found.every((record) => record.age === age));
    return found.map(({ place }) => place);
  };
  const isRun = (places: readonly number[]): boolean =>
    places.every((place, at) => at === 0 || place === (places[at - 1] as number) + 1);
  let moving = true;
  // one after the other: those of age 2 are the first ones
  const moved = (async () => {
    for (const id of ids) await space.updateOneById(id, { age: 2 });
    moving = false;
  })();
  while (moving) {
    const pages = [0, 1, 2, 3];
    const left = await Promise.all(pages.map((page) => pageOf(1, page)));
    for (const [page, places] of left.entries()) {
      const [first = records, last = records - 1] = [places[0], places.at(-1)];
      t.ok(isRun(places) && first >= page * limit, `page ${page} of those that are left: ${places}`);
      t.ok(places.length === limit || last === records - 1, 'it is full unless it is the last one');
    }
    const gone = await Promise.all(pages.map((page) => pageOf(2, page)));
    for (const [page, places] of gone.entries())
      t.ok(
        isRun(places) && (places[0] ?? page * limit) === page * limit,
        `page ${page} of those that moved: ${places}`,
      );
  }
  await moved;
  t.ok(shared > 5, `${shared} statements for several pages`);
  t.strictSame(await pageOf(2, 11), [55, 56, 57, 58, 59]);
});
