import { shownName } from '../../../common/errors/shown-name.ts';
import type { QueryPairs } from '../../../common/http/http-types.ts';
import type { Structure } from '../../structure/structure.ts';
import { filterLimits } from './filter.ts';
import {
  type Given,
  type GivenComparison,
  type GivenGroup,
  type GivenProblem,
  groupNames,
  tooDeep,
} from './given-filter.ts';
import { targetOf } from './names.ts';
import { findOperator, takesList } from './operators.ts';

interface OpenGroup {
  readonly group: GivenGroup['group'];
  readonly branches: Map<string, Branch>;
}

/** Items that are read, and where the next ones of the same list or group go to. */
class Branch {
  readonly items: (GivenComparison | GivenProblem | OpenGroup)[] = [];
  #lists: Map<string, string[]> | undefined;
  #groups: Map<GivenGroup['group'], OpenGroup> | undefined;

  /** A value; those of one list come as a parameter each. */
  add(name: string, operator: string, text: string): void {
    const known = findOperator(operator);
    // values of a list come one by one
    if (known === null || !takesList(known)) {
      this.items.push({ name, operator, operand: { texts: [text] } });
      return;
    }
    const key = `${operator} ${name}`;
    const list = this.#lists?.get(key);
    if (list !== undefined) {
      list.push(text);
      return;
    }
    const texts = [text];
    this.#lists ??= new Map();
    this.#lists.set(key, texts);
    this.items.push({ name, operator, operand: { texts } });
  }

  branchOf(group: GivenGroup['group'], index: string): Branch {
    this.#groups ??= new Map();
    let open = this.#groups.get(group);
    if (open === undefined) {
      open = { group, branches: new Map() };
      this.#groups.set(group, open);
      this.items.push(open);
    }
    const branch = open.branches.get(index) ?? new Branch();
    open.branches.set(index, branch);
    return branch;
  }

  get isFlat(): boolean {
    return this.#groups === undefined;
  }

  close(): Given[] {
    return this.items.map((item) =>
      'branches' in item
        ? { ...item, branches: [...item.branches.values()].map((each) => each.close()) }
        : item,
    );
  }
}

// name[operator], and of a list name[operator][] or name[operator][3]
const bracketed = /^(.+?)\[(\w+)\](?:\[\d*\])?$/s;
const grouped = /^(\$or|\$and|\$not)\[(\d+)\]/;

/**
 * Reads the parameters of a query: `year[gte]=1800`, `id[in][0]=a`, `$or[0][title]=x&$or[1][year][gt]=2`. A key that is a
 * field's name as a whole means that field.
 */
export function givenInQuery(pairs: QueryPairs, structure: Structure): readonly Given[] {
  const top = new Branch();
  for (const [key, text] of pairs) {
    if (targetOf(key, structure) !== null) top.items.push(equality(key, text));
    else addGrouped(top, key, text, structure);
  }
  return top.isFlat ? (top.items as Given[]) : top.close();
}

function equality(name: string, text: string): GivenComparison {
  return { name, operator: 'eq', operand: { texts: [text] } };
}

function addGrouped(top: Branch, key: string, text: string, structure: Structure): void {
  let branch = top;
  let level = 0;
  let rest = key;
  for (let match = grouped.exec(rest); match !== null; match = grouped.exec(rest)) {
    const [whole, name, index] = match as unknown as [string, keyof typeof groupNames & string, string];
    if (++level > filterLimits.levels) {
      top.items.push(tooDeep);
      return;
    }
    branch = branch.branchOf(groupNames[name] as GivenGroup['group'], index);
    rest = rest.slice(whole.length);
    // a group within is in brackets as well
    const inner = /^\[(\$or|\$and|\$not)\](\[\d+\].*)$/s.exec(rest);
    if (inner !== null) rest = `${inner[1]}${inner[2]}`;
  }
  // in a group the field is in brackets: [title], [year][gt], [id][in][0]
  const inGroup = rest === key ? null : /^\[([^[\]]+)\]((?:\[.*)?)$/s.exec(rest);
  const comparison = inGroup === null ? rest : `${inGroup[1]}${inGroup[2]}`;
  const isGroup = (rest !== key && inGroup === null) || startsGroup(comparison, structure);
  if (isGroup) branch.items.push({ problem: `Query field: ${shownName(key)} ${groupForm}` });
  else addComparison(branch, comparison, text, structure);
}

const groupForm = 'should have a number and a field, such as $or[0][title]=x and $or[1][year][gt]=2';

/** Whether it is the name of a group, with something else behind it than a number. */
function startsGroup(key: string, structure: Structure): boolean {
  const name = /^(\$or|\$and|\$not)(?:\[|$)/.exec(key)?.[1];
  return name !== undefined && targetOf(name, structure) === null;
}

function addComparison(branch: Branch, key: string, text: string, structure: Structure): void {
  const match = targetOf(key, structure) === null ? bracketed.exec(key) : null;
  if (match === null) branch.items.push(equality(key, text));
  else branch.add(match[1] as string, match[2] as string, text);
}
