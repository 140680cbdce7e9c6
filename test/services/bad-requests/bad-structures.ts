import { oddJson } from '../hostile-texts.ts';
import type { Dice } from './dice.ts';

export const project = 'bad';
export const space = 'space';

/** The structure that every request of these tests has, unless the structure is what is wrong. */
export const goodFields = [
  { name: 'text', slug: 'text', type: 'TEXT' },
  { name: 'mustHave', slug: 'must-have', type: 'TEXT', required: true },
  { name: 'number', slug: 'number', type: 'NUMBER' },
  { name: 'flag', slug: 'flag', type: 'BOOLEAN' },
  { name: 'list', slug: 'list', type: 'ARRAY' },
  { name: 'map', slug: 'map', type: 'OBJECT' },
  { name: 'key', slug: 'key', type: 'TEXT', unique: true },
  { name: 'secret', slug: 'secret', type: 'TEXT', hashed: true },
];

export function goodStructure(more: object = {}): string {
  return JSON.stringify({
    name: 'Space',
    projectSlug: project,
    slug: space,
    recordStructure: goodFields,
    ...more,
  });
}

const kindOf = (json: string): string => {
  const value: unknown = JSON.parse(json);
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};
/** So that a header, or an encoded query, stays below what the server reads of one: beyond, its answer is not ours. */
const longest = 15_000;
const odd = Object.values(oddJson).map((json) =>
  json.length > longest ? '['.repeat(5000) + ']'.repeat(5000) : json,
);

/** JSON of a kind that is none of these. */
export function otherKind(dice: Dice, kinds: readonly string[]): string {
  for (;;) {
    const json = dice.chance(0.5) ? dice.pick(odd) : dice.json();
    if (json.length <= longest && !kinds.includes(kindOf(json))) return json;
  }
}

const isSlug = (text: string): boolean => !/^$|\p{Cc}|\uFFFD|\p{Surrogate}|.{201}/u.test(text);

/** One field that is wrong, as JSON text. */
function badField(dice: Dice): string {
  const field = (key: string, json: string): string =>
    JSON.stringify({ name: 'extra', slug: 'extra', type: 'TEXT', [key]: '@@' }).replace('"@@"', () => json);
  const text = dice.text();
  switch (dice.below(9)) {
    case 0:
      return otherKind(dice, ['object']);
    case 1:
      return field('name', otherKind(dice, ['string']));
    case 2:
      return field('name', JSON.stringify(`${dice.pick(['\0', '\n', '\x7f', '\uFFFD', '\ud800'])}${text}`));
    case 3:
      return field('slug', isSlug(text) ? '"id"' : JSON.stringify(text));
    case 4:
      return field('slug', otherKind(dice, ['string']));
    case 5:
      return field('type', dice.chance(0.5) ? JSON.stringify(`${text} `) : otherKind(dice, ['string']));
    case 6:
      return field(dice.pick(['required', 'unique', 'hashed']), otherKind(dice, ['boolean', 'null']));
    case 7:
      return field('defaultValue', otherKind(dice, ['string', 'null']));
    default:
      return JSON.stringify(dice.pick([{ ...goodFields[0] }, { name: 'number', slug: 'x', type: 'TEXT' }]));
  }
}

/** A structure that is no structure, or contradicts its path or what is stored. Sometimes it is no text either. */
export function badStructure(dice: Dice): string | Buffer {
  const good = goodStructure();
  const withKey = (key: string, json: string): string =>
    goodStructure({ [key]: '@@' }).replace('"@@"', () => json);
  switch (dice.below(12)) {
    case 0:
      return good.slice(0, 1 + dice.below(good.length - 1));
    case 1:
      return otherKind(dice, ['object']);
    case 2:
      return withKey('recordStructure', otherKind(dice, ['array']));
    case 3:
      return withKey(dice.pick(['projectSlug', 'slug']), otherKind(dice, ['string']));
    case 4:
      return withKey(dice.pick(['projectSlug', 'slug']), JSON.stringify(`${dice.text()}!`));
    case 5:
      return withKey(dice.pick(['name', 'description']), otherKind(dice, ['string', 'null']));
    case 6:
      return withKey(dice.pick(['clear', 'initialData']), otherKind(dice, ['boolean', 'null', 'array']));
    case 7:
      return withKey('authOptions', `{"active":${otherKind(dice, ['boolean', 'null'])}}`);
    case 8:
      return withKey('webhooks', `{"onInsertUrl":${JSON.stringify(`x ${dice.text()}`)}}`);
    case 9: {
      // a type that the stored structure does not have
      const fields = goodFields.map((field) => ({
        ...field,
        type: field.type === 'TEXT' ? 'NUMBER' : 'TEXT',
      }));
      return goodStructure({ recordStructure: fields });
    }
    case 10: {
      // no UTF-8, so it is Latin-1, and one quote too many
      const bytes = Buffer.from(good.replace('"text"', '"te@"xt"'));
      bytes[bytes.indexOf('@')] = 0x80 + dice.below(0x80);
      return bytes;
    }
    default:
      return withKey('recordStructure', `[${JSON.stringify(goodFields).slice(1, -1)},${badField(dice)}]`);
  }
}
