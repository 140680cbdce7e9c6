import { systemKeys, type Target } from './field.ts';
import type { Structure } from './structure.ts';

/** A value that records are answered with: of a field, or within an OBJECT. */
export interface ShownValue {
  readonly target: Target;
  /** Keys within an OBJECT; empty: the field itself. */
  readonly path: readonly string[];
}

/** A value, and the JSON text that stands before it. */
export interface RecordPart extends ShownValue {
  readonly before: string;
}

/** The parts of a record's JSON, for SQL, rows in memory and stored rows. */
export interface RecordParts {
  readonly parts: readonly RecordPart[];
  readonly end: string;
}

const wholes = new WeakMap<Structure, RecordParts>();

/** A record with all its fields, but for hashed and hidden ones. */
export function wholeRecord(structure: Structure): RecordParts {
  let whole = wholes.get(structure);
  if (whole === undefined) {
    const [, ...times] = systemKeys;
    const fields = structure.fields.filter(({ hashed, hidden }) => !hashed && !hidden);
    const all = structure.ofFile === true ? fields : [...fields, ...times];
    whole = recordParts(
      all.map((target) => ({ target, path: [] })),
      structure,
    );
    wholes.set(structure, whole);
  }
  return whole;
}

/** The values within another one, by their keys; null: it is shown as a whole. */
type Branches<Key> = Map<Key, Branches<string> | null>;

/** A record with its id, where it has one, and some values. */
export function recordParts(
  shown: readonly ShownValue[],
  { ofFile }: Pick<Structure, 'ofFile'> = {},
): RecordParts {
  const tree: Branches<Target> = new Map(ofFile === true ? [] : [['id', null]]);
  for (const { target, path } of shown) grow(tree, target, path);
  const parts: RecordPart[] = [];
  let before = '';
  const write = (
    branches: Branches<Target> | Branches<string>,
    target: Target | null,
    path: readonly string[],
  ) => {
    let separator = '{';
    for (const [key, inner] of branches) {
      const name = typeof key === 'string' ? key : key.name;
      const at = target === null ? { target: key as Target, path } : { target, path: [...path, name] };
      before += `${separator}${JSON.stringify(name)}:`;
      separator = ',';
      if (inner !== null) {
        write(inner, at.target, at.path);
        continue;
      }
      parts.push({ before, ...at });
      before = '';
    }
    before += '}';
  };
  write(tree, null, []);
  return { parts, end: before };
}

function grow<Key>(tree: Branches<Key>, key: Key, path: readonly string[]): void {
  const known = tree.get(key);
  const [next, ...rest] = path;
  // the whole has the rest in it
  if (known === null) return;
  if (next === undefined) {
    tree.set(key, null);
    return;
  }
  const inner = known ?? new Map();
  tree.set(key, inner);
  grow<string>(inner, next, rest);
}
