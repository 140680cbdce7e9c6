/** Requests of the query benchmarks, derived from numbers: the same number gives the same request. */
import { structureOf as structureText } from '../../test/services/record-client.ts';

export type RequestKind =
  | 'bare'
  | 'health'
  | 'find'
  | 'findOneRepeated'
  | 'findOneDistinct'
  | 'insertOne'
  | 'insertOnePlain'
  | 'insertOne64Spaces'
  | 'insertOne512Spaces'
  | 'findOne512Spaces'
  | 'updateOneById'
  | 'mixed'
  | 'mixedReads'
  | 'findByTwo'
  | 'findByTwoMixed'
  | 'findRuled'
  | 'findWritten'
  | 'findRuledAgain'
  | 'findWrittenAgain'
  | 'page'
  | 'pageMixed'
  | 'between'
  | 'betweenMixed'
  | 'startsWith'
  | 'inIds'
  | 'groups'
  | 'increment'
  | 'insert1000'
  | 'insert5000'
  | 'findOneById'
  | 'findOneUnseen'
  | 'findOneAbsent'
  | 'insertOneIn1'
  | 'insertOneIn512'
  | 'findOneIn1'
  | 'findOneIn512'
  | 'engineFindOne'
  | 'engineInsertOne'
  | 'engineUpdateOne';

export interface BenchRequest {
  readonly method: 'GET' | 'POST' | 'QUERY';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** How many values of the unique field findOne cycles through, also in the mixed load. */
export const distinct = 50_000;
const mixedValues = 2_000;
/** How many records distinguish finds, and how many values the second field has. */
const foundRecords = 100_000;
const besides = ['city', 'age', 'level', 'active'] as const;
/** Pages of 20 by one field, sorted by another. */
const agesOfPages = 100;
const pagesOfAge = 45;
/** Records between two values, and ids of one list. */
const recordsBetween = 20;
const idsOfList = 10_000;
/** Spaces that Q9 compares with one, and the records of each. */
export const manySpaces = 512;
export const recordsOfMany = 100;

/** Of a space whose name begins with `plain` no field is unique. */
export function structureOf(slug: string): string {
  const fields = [
    { name: 'email', type: 'TEXT', unique: !slug.startsWith('plain') },
    { name: 'name', type: 'TEXT' },
    { name: 'city', type: 'TEXT' },
    { name: 'age', type: 'NUMBER' },
    { name: 'score', type: 'NUMBER' },
    { name: 'active', type: 'BOOLEAN' },
    { name: 'about', type: 'TEXT' },
    { name: 'level', type: 'NUMBER' },
  ];
  return structureText('bench', slug, fields, { description: '' });
}

export function recordOf(index: number): Readonly<Record<string, unknown>> {
  return {
    email: `person-${index}@example.com`,
    name: `Person ${index % 10_000}`,
    city: ['London', 'Paris', 'Lagos', 'Lima'][index % 4],
    age: index % 100,
    score: index / 8,
    active: index % 2 === 0,
    about: 'a text of some length, as records have them',
    level: index % 10,
  };
}

const headersOf = new Map<string, Readonly<Record<string, string>>>();

/** The same object for the same space, so that a sender can cache its text. */
function headersFor(
  slug: string,
  authorization: string,
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const key = `${slug} ${JSON.stringify(more)}`;
  const known = headersOf.get(key);
  if (known !== undefined) return known;
  const headers = { authorization, structure: structureOf(slug), ...more };
  headersOf.set(key, headers);
  return headers;
}

export function requestOf(
  job: { readonly kind: RequestKind; readonly authorization: string; readonly ids?: readonly string[] },
  number: number,
): BenchRequest {
  const { kind, authorization, ids = [] } = job;
  const post = (slug: string, path: string, body: unknown): BenchRequest => ({
    method: 'POST',
    path: `/bench/${slug}${path}`,
    headers: headersFor(slug, authorization, { 'content-type': 'application/json' }),
    body: JSON.stringify(body),
  });
  const get = (slug: string, path: string): BenchRequest => ({
    method: 'GET',
    path: `/bench/${slug}${path}`,
    headers: headersFor(slug, authorization),
  });
  const byTwo = (index: number): BenchRequest => {
    const record = recordOf(index % foundRecords);
    const beside = besides[Math.floor(index / foundRecords) % besides.length] as string;
    return get('people', `?score=${record.score}&${beside}=${record[beside]}`);
  };
  // of a record in London: as the rule of a user says it, whose login token comes in place of an id, or the request itself
  const inLondon = (index: number, isRuled: boolean): BenchRequest => {
    const { score } = recordOf((index * 4) % foundRecords);
    // an app sends the token of its user in both
    const more = { token: ids[0] ?? '', ...(isRuled ? { 'sluice-act-as-user': 'true' } : {}) };
    const headers = headersFor('people', authorization, more);
    return { method: 'GET', path: `/bench/people?score=${score}${isRuled ? '' : '&city=London'}`, headers };
  };
  const page = (index: number): BenchRequest => {
    const pagination = { limit: 20, page: 1 + (Math.floor(index / agesOfPages) % pagesOfAge) };
    const options = JSON.stringify({ pagination, sort: { by: 'name', order: 'asc' } });
    const headers = headersFor('people', authorization, { options });
    return { method: 'GET', path: `/bench/people?age=${index % agesOfPages}`, headers };
  };
  const between = (index: number): BenchRequest => {
    const first = index % (foundRecords - recordsBetween);
    const range = `score[gte]=${first / 8}&score[lt]=${(first + recordsBetween) / 8}`;
    return get('people', `?${range}`);
  };
  const email = (index: number): string => `/_single_?email=person-${index}%40example.com`;
  const id = ids[(number * 7919) % ids.length];
  const many = (number * 31) % (manySpaces * recordsOfMany);
  switch (kind) {
    case 'bare':
      return { method: 'GET', path: '/' };
    case 'health':
      return { method: 'GET', path: '/healthz' };
    case 'find':
      return get('people', '?age=42&name=Person%204242');
    case 'findOneRepeated':
      return get('people', email(77));
    case 'findOneDistinct':
      return get('people', email((number * 7919) % distinct));
    case 'insertOne':
      return post('people', '/_single_', recordOf(number));
    case 'insertOnePlain':
      return post('plain', '/_single_', recordOf(number));
    case 'insertOne64Spaces':
      return post(`plain-${number % 64}`, '/_single_', recordOf(number));
    case 'insertOne512Spaces':
      return post(`plain-${number % 512}`, '/_single_', recordOf(number));
    case 'findOne512Spaces':
      return get(`plain-${number % 512}`, '/_single_?level=3');
    case 'updateOneById':
      return post('people', `/update-by-id?id=${id}`, { score: number });
    case 'findOneById':
      return get('people', `/_single_?id=${id}`);
    case 'findOneUnseen':
      return get('people', email(number));
    case 'findOneAbsent':
      return get('people', `/_single_?email=nobody-${number}`);
    case 'mixed':
      return number % 10 === 0
        ? post('people', '/_single_', recordOf(number))
        : get('people', email((number * 31) % mixedValues));
    case 'findByTwo':
      return byTwo(number * 7919);
    case 'findByTwoMixed':
      return number % 10 === 0
        ? post('people', `/update-by-id?id=${id}`, { level: number % 10 })
        : byTwo((number * 31) % mixedValues);
    case 'findRuled':
    case 'findWritten':
      return inLondon(number * 7919, kind === 'findRuled');
    case 'findRuledAgain':
    case 'findWrittenAgain':
      return inLondon(77, kind === 'findRuledAgain');
    case 'page':
      return page(number * 7919);
    case 'pageMixed':
      return number % 10 === 0 ? post('people', '/_single_', recordOf(number)) : page(number * 7919);
    case 'between':
      return between(number * 7919);
    case 'betweenMixed':
      return number % 10 === 0
        ? post('people', `/update-by-id?id=${id}`, { level: number % 10 })
        : between(number * 7919);
    case 'startsWith':
      // the record of the number, and ten whose numbers have one digit more
      return get('people', `?email[startsWith]=person-${1000 + ((number * 7919) % 8999)}`);
    case 'inIds': {
      const some = Array.from({ length: idsOfList }, (_, at) => ids[(number * 7919 + at) % ids.length]);
      return { ...post('people', '', { id: { in: some } }), method: 'QUERY' };
    }
    case 'groups': {
      // the name of a value makes each request another one
      const values = { [`n${number}`]: 'count', sum: { sum: 'score' }, p95: { quantile: ['score', 0.95] } };
      return post('people', '/_aggregate_', { groupBy: ['age'], values });
    }
    case 'increment':
      return post('people', `/update-by-id?id=${ids[0]}`, { score: { $inc: 1 } });
    case 'mixedReads':
      return get('people', email((number * 31) % mixedValues));
    case 'insert1000':
      return post('people', '', recordsFrom(number * 1000, 1000));
    case 'insert5000':
      return post('people', '', recordsFrom(number * 5000, 5000));
    case 'insertOneIn1':
      return post('in-one', '/_single_', recordOf(number));
    case 'insertOneIn512':
      return post(`in-${number % manySpaces}`, '/_single_', recordOf(number));
    case 'findOneIn1':
      return get('in-one', email(many));
    case 'findOneIn512':
      return get(`in-${Math.floor(many / recordsOfMany)}`, email(many));
    case 'engineFindOne':
      return { method: 'GET', path: `/find-one?${number}` };
    case 'engineInsertOne':
      return { method: 'POST', path: '/insert-one', body: JSON.stringify(recordOf(number)) };
    case 'engineUpdateOne':
      return { method: 'POST', path: `/update-one?${number}` };
  }
}

export function recordsFrom(first: number, count: number): readonly Readonly<Record<string, unknown>>[] {
  return Array.from({ length: count }, (_, index) => recordOf(first + index));
}
