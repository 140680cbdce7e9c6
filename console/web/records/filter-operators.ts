/** Operators of the API, and three combined ones: `between`, `empty` and `filled`. */
export const operatorWords = {
  eq: 'equals',
  icontains: 'contains',
  istartsWith: 'begins with',
  iendsWith: 'ends with',
  between: 'between',
  has: 'has',
  hasAny: 'has any of',
  hasAll: 'has all of',
  size: 'has length',
  path: 'has path',
  in: 'is one of',
  ne: 'is not',
  nin: 'is none of',
  gt: '>',
  gte: '≥',
  lt: '<',
  lte: '≤',
  empty: 'is empty',
  filled: 'is not empty',
  contains: 'contains exactly',
  startsWith: 'begins exactly with',
  endsWith: 'ends exactly with',
} as const;

export type FilterOperator = keyof typeof operatorWords;
