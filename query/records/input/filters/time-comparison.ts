import type { ReadTime } from '../parse-time.ts';
import type { Comparison } from './filter.ts';
import type { OperatorName } from './operators.ts';

/** The same comparison by times that records can have, if some of its times are between or beyond those. */
export function byRecordTimes(
  operator: OperatorName,
  times: readonly ReadTime[],
): Pick<Comparison, 'operator' | 'values'> {
  const values = times.map(({ time }) => time);
  const possible = times.filter(({ beyond }) => beyond === 0).map(({ time }) => time);
  const isLater = times[0]?.beyond === 1;
  switch (operator) {
    case 'gt':
    case 'gte':
      return { operator: isLater ? 'gt' : 'gte', values };
    case 'lt':
    case 'lte':
      return { operator: isLater ? 'lte' : 'lt', values };
    case 'ne':
    case 'nin':
      return { operator: 'nin', values: possible };
    default:
      return { operator: 'in', values: possible };
  }
}
