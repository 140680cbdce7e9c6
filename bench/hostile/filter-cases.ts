/** Filters, groups and counts of the highest allowed cost, over many records with a text each. */
import { textStructure } from '../query/direct-store.ts';
import type { Attacker, Case } from './attacker.ts';

/** An account's requests in flight. */
const inFlight = 12;
const headers = { structure: textStructure('rows', 'hostile'), 'content-type': 'application/json' };
const anyText = (): string => Math.random().toString(36).slice(2);
const anyOf = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;

function ask(attacker: Attacker, operation: string, body: unknown): Promise<void> {
  return attacker.ask(`/hostile/rows/${operation}`, { method: 'POST', body: JSON.stringify(body), headers });
}

type Tree = { readonly [key: string]: unknown };

const operators = ['contains', 'icontains', 'istartsWith', 'iendsWith', 'ne', 'gt'] as const;
const groups = ['$or', '$and', '$not'] as const;
const leaf = (): Tree => ({ text: { [anyOf(operators)]: anyText().slice(0, 2) } });

/** Nested groups, with comparisons in each branch: 96 of the allowed 100. */
function tree(levels: number): Tree {
  if (levels === 0) return { $or: Array.from({ length: 6 }, leaf) };
  return { [anyOf(groups)]: [tree(levels - 1), tree(levels - 1)] };
}

const bad: readonly (() => unknown)[] = [
  () => tree(9),
  () => ({ $or: Array.from({ length: 1000 }, leaf) }),
  () => ({ text: { in: Array.from({ length: 12_000 }, anyText) } }),
  () => ({ text: { matches: '(a+)+$' } }),
];

/** Trees of the greatest allowed depth and width, and beyond. */
const deepTrees: Case = (attacker) =>
  attacker.keep(inFlight, 0, () => ask(attacker, '_find_', Math.random() < 0.1 ? anyOf(bad)() : tree(4)));

/** Lists of the greatest allowed length, and substring searches. */
const wideLists: Case = (attacker) =>
  attacker.keep(inFlight, 0, () => {
    const list = Array.from({ length: 10_000 }, anyText);
    const long = 'x'.repeat(1000);
    const filter = anyOf<() => unknown>([
      () => ({ in: list }),
      () => ({ nin: list, contains: anyText() }),
      () => ({ icontains: `${long}${anyText()}` }),
      () => ({ contains: anyText().slice(0, 1), endsWith: anyText() }),
    ]);
    return ask(attacker, '_find_', { text: filter() });
  });

/** A group for each record, quantiles, and counts of common substrings. */
const largeGroups: Case = (attacker) =>
  attacker.keep(inFlight, 0, () => {
    const where = { text: { icontains: anyText().slice(0, 1) } };
    const work = anyOf<() => Promise<void>>([
      () =>
        ask(attacker, '_aggregate_', {
          where,
          groupBy: ['text'],
          values: { n: 'count' },
          sort: [{ by: 'n' }],
        }),
      () =>
        ask(attacker, '_aggregate_', {
          where,
          groupBy: ['text', { as: 'second', bucket: 'createdAt', every: '1s' }],
          values: { n: 'count', some: { distinct: 'text' } },
          limit: 10_000,
        }),
      () => attacker.ask(`/hostile/rows/_count_?text[icontains]=${anyText().slice(0, 2)}`, { headers }),
      () => attacker.ask(`/hostile/rows?$count=exact&$limit=1&$sort=text&text[ne]=${anyText()}`, { headers }),
    ]);
    return work();
  });

export const filterCases: Readonly<Record<string, Case>> = { deepTrees, wideLists, largeGroups };
