import type { Comparison, Filter, FilterGroup } from '#records/input/filters/filter.ts';
import { asFilter, type Conditions } from '#records/input/parse-conditions.ts';
import { recordTimes } from '#records/input/parse-time.ts';

/** Which records a filter matches, whatever their values: every record, none, or it depends. */
type Extent = 'every' | 'none' | 'some';
/** The same for a comparison, which may also match all records with a value, or all without one. */
type Reach = Extent | 'with value' | 'without value';

/** Whether conditions match every record, whatever its values: a change with them would leave out no record. */
export function holdForAll({ relationship, plain, others, hashed }: Conditions): boolean {
  if (hashed.length > 0) return false;
  const branches = [...plain.map(asFilter), ...others];
  return (
    branches.length === 0 || extentOf({ group: relationship === 'Or' ? 'any' : 'all', branches }) === 'every'
  );
}

function extentOf(filter: Filter): Extent {
  if (!('group' in filter)) {
    const reach = reachOf(filter);
    return reach === 'every' || reach === 'none' ? reach : 'some';
  }
  const { group, branches } = filter;
  if (group === 'none') return opposite[extentOf({ group: 'any', branches })];
  // the extent of a branch that decides the whole group, and the extent that decides nothing
  const [decides, leaves] = group === 'any' ? (['every', 'none'] as const) : (['none', 'every'] as const);
  const members = membersOf(filter);
  const extents = members.map(extentOf);
  if (extents.includes(decides) || hasBothSides(members)) return decides;
  return extents.every((extent) => extent === leaves) ? leaves : 'some';
}

const opposite = { every: 'none', none: 'every', some: 'some' } as const;

/** The branches of a group. Nested groups of the same kind are flattened. */
function membersOf({ group, branches }: FilterGroup): readonly Filter[] {
  return branches.flatMap((branch) => {
    const isOne = 'group' in branch && branch.group !== 'none' && branch.branches.length === 1;
    return 'group' in branch && (branch.group === group || isOne)
      ? membersOf({ group, branches: branch.branches })
      : [branch];
  });
}

/** Whether both the records with a value and the records without one are matched: there are no others. */
function hasBothSides(members: readonly Filter[]): boolean {
  const seen = new Map<string, Reach>();
  return members.some((member) => {
    if ('group' in member) return false;
    const reach = reachOf(member);
    if (reach !== 'with value' && reach !== 'without value') return false;
    const { target, path } = member;
    const key = JSON.stringify([typeof target === 'string' ? target : [target.slug], path]);
    const other = seen.get(key);
    seen.set(key, reach);
    return other !== undefined && other !== reach;
  });
}

/** The reach of a comparison with times: no record is older or newer than `recordTimes`. */
function reachOfTimes({ operator, values }: Comparison): Reach {
  const { first, last } = recordTimes;
  const times = values.map(Number);
  const [time = Number.NaN] = times;
  const isNever = times.every((one) => one < first || one > last);
  switch (operator) {
    case 'eq':
    case 'in':
      return isNever ? 'none' : 'some';
    case 'ne':
    case 'nin':
      return isNever ? 'every' : 'some';
    case 'gt':
      return extentBeyond(time < first, time >= last);
    case 'gte':
      return extentBeyond(time <= first, time > last);
    case 'lt':
      return extentBeyond(time > last, time <= first);
    case 'lte':
      return extentBeyond(time >= last, time < first);
    default:
      return 'some';
  }
}

function extentBeyond(isEvery: boolean, isNone: boolean): Extent {
  if (isEvery) return 'every';
  return isNone ? 'none' : 'some';
}

function reachOf(comparison: Comparison): Reach {
  const {
    target,
    operator,
    values: [value],
    values,
  } = comparison;
  if ((target === 'createdAt' || target === 'updatedAt') && operator !== 'exists')
    return reachOfTimes(comparison);
  const isSystem = typeof target === 'string';
  const withValue = isSystem ? 'every' : 'with value';
  const isId = target === 'id';
  switch (operator) {
    case 'exists':
      if (value === true) return withValue;
      return isSystem ? 'none' : 'without value';
    // no record has an empty id
    case 'in':
      return values.every((one) => isId && one === '') ? 'none' : 'some';
    case 'nin':
      return values.every((one) => isId && one === '') ? withValue : 'some';
    case 'hasAny':
      return values.length === 0 ? 'none' : 'some';
    case 'hasAll':
      return values.length === 0 ? withValue : 'some';
    case 'eq':
      return isId && value === '' ? 'none' : 'some';
    case 'ne':
    case 'gt':
      return isId && value === '' ? 'every' : 'some';
    case 'lt':
      return value === '' ? 'none' : 'some';
    case 'lte':
      return isId && value === '' ? 'none' : 'some';
    case 'gte':
    case 'contains':
    case 'startsWith':
    case 'endsWith':
    case 'icontains':
    case 'istartsWith':
    case 'iendsWith':
      return value === '' ? withValue : 'some';
    case 'has':
    case 'size':
      return 'some';
  }
}
