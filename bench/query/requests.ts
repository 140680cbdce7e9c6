/** Requests of the query benchmarks, made from numbers: the same number is the same request. */

export type RequestKind =
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
  | 'insert5000';

export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Values of the unique field that findOne asks for in turn, and those of the mixed load. */
const distinct = 50_000;
const mixedValues = 2_000;

export function structureOf(slug: string): string {
  const fields = [
    ['email', 'TEXT', true],
    ['name', 'TEXT', false],
    ['city', 'TEXT', false],
    ['age', 'NUMBER', false],
    ['score', 'NUMBER', false],
    ['active', 'BOOLEAN', false],
    ['about', 'TEXT', false],
    ['level', 'NUMBER', false],
  ] as const;
  return JSON.stringify({
    name: slug,
    description: '',
    projectSlug: 'bench',
    slug,
    recordStructure: fields.map(([name, type, unique]) => ({
      ...{
        name,
        slug: name,
        type,
        required: false,
        unique: unique && !slug.startsWith('plain'),
        hashed: false,
      },
      ...{ description: '', comment: '' },
    })),
  });
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

const structures = new Map<string, string>();

function headersFor(slug: string, authorization: string, more: object = {}): Record<string, string> {
  let structure = structures.get(slug);
  if (structure === undefined) {
    structure = structureOf(slug);
    structures.set(slug, structure);
  }
  return { authorization, structure, ...more };
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
  const email = (index: number): string => `/_single_?email=person-${index}%40example.com`;
  switch (kind) {
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
      return post('people', `/update-by-id?id=${ids[(number * 7919) % ids.length]}`, { score: number });
    case 'mixed':
      return number % 10 === 0
        ? post('people', '/_single_', recordOf(number))
        : get('people', email((number * 31) % mixedValues));
    case 'insert5000':
      return post(
        'people',
        '',
        Array.from({ length: 5000 }, (_, index) => recordOf(number * 5000 + index)),
      );
  }
}
