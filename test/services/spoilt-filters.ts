/** Filters that are wrong in several places, and every problem that the answer should list. */
import fc from 'fast-check';
import { operators, operatorsFor } from '#records/input/filters/operators.ts';
import type { ValueKind } from '#records/types/field-type.ts';
import { fieldTypes as declared, otherKinds } from '#records/types/field-types.ts';
import type { Branch, Comparison, Item, Json, Type } from './filter-oracle.ts';
import { branches, fieldTypesOf, keyOf, nameOf, type Stored, type Way } from './filter-trees.ts';

interface Flaw {
  readonly item: Item;
  /** How the problem begins. */
  readonly problem: (isInGroup: boolean) => string;
}

export interface Spoilt {
  readonly branch: Branch;
  readonly problems: readonly string[];
}

type Subject = Pick<Comparison, 'field' | 'path' | 'type'>;
const subjects: readonly Subject[] = [
  ...Object.entries(fieldTypesOf('client')).map(([field, type]) => ({ field, path: [], type })),
  { field: 'home', path: ['city'], type: 'path' },
  { field: 'id', path: [], type: 'id' },
  { field: 'createdAt', path: [], type: 'time' },
];
const groups = ['$or', '$and', '$not'] as const;
const kinds: Readonly<Record<Type, ValueKind>> = { ...declared, ...otherKinds };
const operatorsOf = (type: Type): readonly string[] => operatorsFor(kinds[type]);
const strangeOperators = ['gt3', 'GT', 'like', 'regex', 'constructor', 'toString', 'eq_'];
const allOperators = Object.keys(operators);

/** Values that are none of a type, or of what an operator takes, and what is said of them. */
interface Misfit {
  readonly operator: string;
  readonly raw: Json;
  readonly says: string;
}
const misfits = (operators: readonly string[], says: string, raws: readonly Json[]): readonly Misfit[] =>
  operators.flatMap((operator) => raws.map((raw) => ({ operator, raw, says })));
const inTexts: Partial<Record<Type, readonly Misfit[]>> = {
  NUMBER: misfits(['eq', 'ne', 'gt', 'lte'], 'should be a valid number', [
    ...['x', '', '1,5', 'NaN', 'Infinity', '0x10', '1 2', '12345678901234567890'],
  ]),
  BOOLEAN: misfits(['eq', 'ne'], 'should be a valid boolean', ['yes', 'TRUE', '1', '']),
  ARRAY: [
    ...misfits(['eq', 'ne'], 'should be a valid array', ['a', '{}', '[', '']),
    ...misfits(['size'], 'should be a whole number from 0', ['-1', '1.5', 'a', '']),
  ],
  OBJECT: misfits(['eq', 'ne'], 'should be a valid object', ['a', '[]', '{']),
  TEXT: misfits(['exists'], 'should be true or false', ['yes', '1', '']),
  time: misfits(['eq', 'gt', 'lte'], 'should be a valid time', ['yesterday', '2026-02-30', '1']),
};
const noList = misfits(['in', 'nin'], 'should be a list', ['a', 1, null]);
const noNull = (operators: readonly string[]) => misfits(operators, 'should not be null: use exists', [null]);
const inJson: Partial<Record<Type, readonly Misfit[]>> = {
  NUMBER: [
    ...misfits(['ne', 'gt'], 'should be a valid number', ['1', true, [1]]),
    ...noList,
    ...noNull(['gt']),
  ],
  BOOLEAN: [...misfits(['ne'], 'should be a valid boolean', ['true', 1]), ...noList],
  TEXT: [
    ...misfits(['ne', 'contains', 'lt'], 'should be a valid string', [1, true, ['a']]),
    ...misfits(['exists'], 'should be true or false', ['true', 1, null]),
    ...noNull(['ne', 'icontains']),
  ],
  ARRAY: [
    ...misfits(['ne'], 'should be a valid array', ['a', 1, { a: 1 }]),
    ...misfits(['size'], 'should be a whole number from 0', [-1, 1.5, '1', true, null]),
    ...misfits(['hasAny', 'hasAll'], 'should be a list', ['a', null]),
  ],
  OBJECT: [...misfits(['ne'], 'should be a valid object', ['a', 1, []]), ...noNull(['ne'])],
  path: [...noNull(['ne', 'eq']), ...noList],
  id: misfits(['ne', 'gt'], 'should be a valid string', [1, true]),
  time: misfits(['ne', 'gt'], 'should be a valid time', [1, true, 'yesterday']),
};

function flaws(way: Way): fc.Arbitrary<Flaw> {
  const value = (raw: Json) => ({ operand: null, raw });
  const unknown = fc
    .tuple(
      fc.constantFrom('nosuch', 'Text', 'text.x', 'home .city', '_id'),
      fc.constantFrom('gt', 'in', 'x', 'exists'),
    )
    .map(([field, operator]) => ({
      item: { field, path: [], type: 'TEXT' as const, operator, ...value('x') },
      problem: () => `Query field: '${field}' is not in the structure`,
    }));
  const wrongOperators = fc
    .tuple(fc.constantFrom(...subjects), fc.constantFrom(...strangeOperators, ...allOperators))
    // axios leaves this key out
    .filter(([, operator]) => way !== 'client' || operator !== 'constructor')
    .filter(([{ type }, operator]) => !operatorsOf(type).includes(operator))
    .map(([subject, operator]) => {
      const item = { ...subject, operator, ...value('x') };
      const known = `${kinds[subject.type].words} has ${operatorsOf(subject.type).join(', ')}`;
      return {
        item,
        problem: () => `Query field: '${nameOf(item)}' has no operator '${operator}'; ${known}`,
      };
    });
  const table = way === 'body' ? inJson : inTexts;
  const values = fc
    .constantFrom(...subjects.filter(({ type }) => table[type] !== undefined))
    .chain((subject) =>
      fc.constantFrom(...(table[subject.type] as readonly Misfit[])).map(({ operator, raw, says }) => {
        const item = { ...subject, operator, ...value(raw) };
        const shown = operator === 'eq' ? nameOf(item) : keyOf(item);
        return { item, problem: () => `Value for Query field: '${shown}' ${says}` };
      }),
    );
  const hashed = fc.constantFrom('ne', 'in', 'exists', 'contains', 'nonsense').map((operator) => ({
    item: {
      field: 'password',
      path: [],
      type: 'TEXT' as const,
      operator,
      ...value(operator === 'in' ? ['a'] : 'a'),
    },
    problem: (isInGroup: boolean) =>
      `Query field: 'password' is hashed${isInGroup ? ' and can not be used in a group' : '; it can only be compared with eq'}`,
  }));
  const most = way === 'body' ? 10_000 : 100;
  const long = fc.constantFrom('text', 'latetext').map((field) => ({
    item: { field, path: [], type: 'TEXT' as const, operator: 'in', ...value(Array(most + 1).fill('a')) },
    problem: () =>
      `The list of '${field}[in]' has ${(most + 1).toLocaleString('en')} values; at most ${most.toLocaleString('en')} are allowed`,
  }));
  const shapes = fc.constantFrom<Flaw>(
    ...groups.flatMap((group) =>
      [[], [[]]].map((empty) => ({
        item: { group, branches: empty },
        problem: () => `Query field: '${group}' should be a list of conditions`,
      })),
    ),
    ...subjects
      .filter(({ type }) => type !== 'OBJECT')
      .map((subject) => ({
        item: { ...subject, operator: '', ...value({}) },
        problem: () =>
          `Query field: '${nameOf({ ...subject, operator: '', operand: null })}' has an object without`,
      })),
  );
  return fc.oneof(
    { weight: way === 'body' ? 3 : 0, arbitrary: shapes },
    { weight: 3, arbitrary: unknown },
    { weight: 6, arbitrary: wrongOperators },
    { weight: 9, arbitrary: values },
    { weight: 2, arbitrary: hashed },
    { weight: 1, arbitrary: long },
  );
}

/** Filters with up to four flaws in any places. */
export function spoilt(way: Way, stored: Stored): fc.Arbitrary<Spoilt> {
  const places = fc.array(fc.tuple(flaws(way), fc.nat(), fc.nat()), { minLength: 1, maxLength: 4 });
  const made = fc.tuple(branches(way, stored), places).map(([right, flawed]) => {
    const branch = structuredClone(right) as Item[];
    const all = branchesIn(branch);
    const problems: string[] = [];
    for (const [{ item, problem }, which, place] of flawed) {
      // a group is not put where it would be too deep
      const items = 'group' in item ? branch : (all[which % all.length] as Item[]);
      if (items.some((other) => areOne(other, item))) continue;
      items.splice(place % (items.length + 1), 0, item);
      problems.push(problem(items !== branch));
    }
    return { branch, problems };
  });
  return made.filter(({ problems }) => problems.length > 0);
}

/** Lists with one key would be one list, and an object without an operator would get those of the field. */
function areOne(one: Item, other: Item): boolean {
  if (keyOf(one) === keyOf(other)) return true;
  if ('group' in one || 'group' in other) return false;
  return nameOf(one) === nameOf(other) && [one.operator, other.operator].includes('');
}

function branchesIn(branch: Item[]): Item[][] {
  const inner = branch.flatMap((item) => ('group' in item ? (item.branches as Item[][]) : []));
  return [branch, ...inner.flatMap(branchesIn)];
}

/** Those beyond a limit. What has too many conditions is not read any further, and has this one problem. */
export function malformed(): readonly Spoilt[] {
  const text: Item = { field: 'text', path: [], type: 'TEXT', operator: 'ne', operand: 'a' };
  let deep: Branch = [text];
  for (let level = 0; level < 6; level++) deep = [{ group: '$and', branches: [deep] }];
  const many: Branch = [{ group: '$or', branches: Array.from({ length: 101 }, () => [text]) }];
  return [
    { branch: deep, problems: ['The conditions are nested deeper than 5 levels'] },
    { branch: many, problems: ['The query has 101 conditions; at most 100 are allowed'] },
  ];
}
