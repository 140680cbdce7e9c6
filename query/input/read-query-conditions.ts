import { shownName } from '#kernel/errors/shown-name.ts';
import { filterLimits } from '#records/input/filters/filter.ts';
import {
  type GivenComparison,
  type GivenFilter,
  type GivenGroup,
  groupNames,
  tooDeep,
} from '#records/input/filters/given-filter.ts';
import { targetOf } from '#records/input/filters/names.ts';
import { findOperator, takesList } from '#records/input/filters/operators.ts';
import type { Structure } from '#records/structure/structure.ts';
import type { QueryPairs } from '#server/http/http-types.ts';

// name[operator]; a list repeats name[operator][] or name[operator][3]
const bracketed = /^(.+?)\[(\w+)\](?:\[\d*\])?$/s;
const grouped = /^(\$or|\$and|\$not)\[(\d+)\]/;

/**
 * Reads the parameters of a query: `year[gte]=1800`, `id[in][0]=a`, `$or[0][title]=x&$or[1][year][gt]=2`. A key that
 * equals a field's name means that field.
 */
export function readQueryConditions(pairs: QueryPairs, structure: Structure): readonly GivenFilter[] {
  const given: GivenFilter[] = [];
  let reader: BracketReader | undefined;
  for (const [key, text] of pairs) {
    if (targetOf(key, structure) !== null) {
      given.push(equality(key, text));
    } else {
      reader ??= new BracketReader(given, structure);
      reader.add(key, text);
    }
  }
  return given;
}

function equality(name: string, text: string): GivenComparison {
  return { name, operator: 'eq', operand: { texts: [text] } };
}

const groupForm = 'should have a number and a field, such as $or[0][title]=x and $or[1][year][gt]=2';

/** Reads keys with brackets. Each member of a group or a list comes in a separate parameter. */
class BracketReader {
  readonly #given: GivenFilter[];
  readonly #structure: Structure;
  /** By key prefix: the branches of a group by `$or`, the conditions of a branch by `$or[0]`. */
  readonly #groups = new Map<string, GivenFilter[][]>();
  readonly #branches = new Map<string, GivenFilter[]>();
  readonly #lists = new Map<string, string[]>();

  constructor(given: GivenFilter[], structure: Structure) {
    this.#given = given;
    this.#structure = structure;
  }

  add(key: string, text: string): void {
    let branch = this.#given;
    let path = '';
    let level = 0;
    let rest = key;
    for (let match = grouped.exec(rest); match !== null; match = grouped.exec(rest)) {
      const [whole] = match;
      if (++level > filterLimits.levels) {
        this.#given.push(tooDeep);
        return;
      }
      branch = this.#branchOf(branch, path, match);
      path += whole;
      rest = rest.slice(whole.length);
      // a nested group is in brackets
      const inner = /^\[(\$or|\$and|\$not)\](\[\d+\].*)$/s.exec(rest);
      if (inner !== null) rest = `${inner[1]}${inner[2]}`;
    }
    // within a group the field is in brackets: [title], [year][gt], [id][in][0]
    const inGroup = path === '' ? null : /^\[([^[\]]+)\]((?:\[.*)?)$/s.exec(rest);
    const comparison = inGroup === null ? rest : `${inGroup[1]}${inGroup[2]}`;
    const isGroup = (path !== '' && inGroup === null) || startsGroup(comparison, this.#structure);
    if (isGroup) branch.push({ problem: `Query field: ${shownName(key)} ${groupForm}` });
    else this.#addComparison(branch, path, comparison, text);
  }

  #branchOf(outer: GivenFilter[], path: string, [whole, name = '']: RegExpExecArray): GivenFilter[] {
    let branches = this.#groups.get(path + name);
    if (branches === undefined) {
      branches = [];
      this.#groups.set(path + name, branches);
      outer.push({ group: groupNames[name] as GivenGroup['group'], branches });
    }
    let branch = this.#branches.get(path + whole);
    if (branch === undefined) {
      branch = [];
      this.#branches.set(path + whole, branch);
      branches.push(branch);
    }
    return branch;
  }

  #addComparison(branch: GivenFilter[], path: string, key: string, text: string): void {
    const match = targetOf(key, this.#structure) === null ? bracketed.exec(key) : null;
    if (match === null) {
      branch.push(equality(key, text));
      return;
    }
    const [, name, operator] = match as unknown as [string, string, string];
    const known = findOperator(operator);
    const listKey = known !== null && takesList(known) ? `${path} ${operator} ${name}` : null;
    const list = listKey === null ? undefined : this.#lists.get(listKey);
    if (list !== undefined) {
      list.push(text);
      return;
    }
    const texts = [text];
    if (listKey !== null) this.#lists.set(listKey, texts);
    branch.push({ name, operator, operand: { texts } });
  }
}

/** Whether the key is the name of a group that no number follows. */
function startsGroup(key: string, structure: Structure): boolean {
  const name = /^(\$or|\$and|\$not)(?:\[|$)/.exec(key)?.[1];
  return name !== undefined && targetOf(name, structure) === null;
}
