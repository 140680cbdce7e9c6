import t from 'tap';
import { StructureCache } from '../../query/input/structure-cache.ts';
import { structureOf } from '../services/record-client.ts';

const path = { projectSlug: 'p', slug: 's' };
const text = structureOf('p', 's', [{ name: 'a', type: 'TEXT' }]);
const resources = `{"mustExistSpaceStructures":[${text}]}`;

t.test('a structure is one object, whether it came by itself or within another header', async (t) => {
  const first = new StructureCache([]);
  const within = first.readParsed(JSON.parse(text), path, resources);
  t.equal(first.read(text, path), within);
  t.equal(first.readParsed(JSON.parse(text), path, resources), within);

  const second = new StructureCache([]);
  const header = second.read(text, path);
  t.equal(second.readParsed(JSON.parse(text), path, resources), header);
});

t.test('one that comes without its text is not kept, and one for another space is refused', async (t) => {
  const cache = new StructureCache([]);
  t.not(cache.readParsed(JSON.parse(text), path), cache.read(text, path));
  const other = { projectSlug: 'p', slug: 'other' };
  t.throws(() => cache.read(text, other), { code: 'invalid_structure' });
  cache.readParsed(JSON.parse(text), path, resources);
  t.throws(() => cache.readParsed(JSON.parse(text), other, resources), { code: 'invalid_structure' });
});
