import type { Mix, MixSpace, RecordRequest } from '../../mix/mix.ts';
import { hashOf } from '../../seed/hash.ts';
import { type FieldValue, recordOf } from '../../seed/records.ts';

/** Part the choices of a request from each other, and from the choice of the request. */
const [choiceSalt, pageSalt] = [0x1f35, 0x2b91];

export type SeedRecord = Readonly<Record<string, FieldValue>>;

/** Which records a request of a mix is about: the same on every server. */
export class RecordChoice {
  readonly space: MixSpace;
  readonly request: RecordRequest;
  readonly #seed: number;
  readonly #among: number;
  readonly #stride: number;
  readonly #changed: string;

  constructor(mix: Mix, request: RecordRequest) {
    this.space = mix.spaces.find(({ name }) => name === request.space) as MixSpace;
    this.request = request;
    this.#seed = mix.seed;
    this.#among = Math.max(1, Math.min(request.among ?? this.space.records, this.space.records));
    this.#stride = strideOf(mix, this.space);
    this.#changed = request.kind === 'update' ? changedField(mix.requests, this.space) : '';
  }

  /** The number of the stored record that a request falls on. */
  chosen(number: number): number {
    return hashOf(this.#seed, number, choiceSalt) % this.#among;
  }

  /** The page of a find, or of a list: that in which the record is. */
  page(number: number): number {
    const { kind, limit, pages } = this.request;
    if (kind !== 'list') return 1 + (hashOf(this.#seed, number, pageSalt) % pages);
    return limit === 0 ? 1 : 1 + Math.floor(this.chosen(number) / limit);
  }

  /** The fields by which the record is found. */
  condition(number: number): readonly (readonly [string, FieldValue])[] {
    const record = this.record(this.chosen(number));
    return this.request.by.map((field) => [field, record[field] as FieldValue]);
  }

  record(index: number): SeedRecord {
    return recordOf(this.#seed, this.space, index);
  }

  /** The number of the first record that a request stores; they begin after those that were stored before the load. */
  inserted(number: number): number {
    return this.space.records + number * this.#stride;
  }

  /** All that an `insertMany` stores. */
  insertedRecords(number: number): SeedRecord[] {
    const first = this.inserted(number);
    return Array.from({ length: this.request.records }, (_, at) => this.record(first + at));
  }

  /** What an update sets. */
  change(number: number): SeedRecord {
    return { [this.#changed]: changedValue(this.#seed, this.space, this.#changed, number) };
  }
}

/** What the update with this number sets the changed field to. */
export function changedValue(seed: number, space: MixSpace, field: string, number: number): FieldValue {
  return recordOf(seed, space, space.records + number)[field] as FieldValue;
}

/** Numbers of records that each request may use, so that no two store the same. */
function strideOf({ requests }: Mix, space: MixSpace): number {
  const sizes = requests.flatMap((one) =>
    one.kind === 'insertMany' && one.space === space.name ? [one.records] : [],
  );
  return Math.max(1, ...sizes);
}

/** The field that updates change: one that is not unique, and by which nothing is found, if there is one. */
export function changedField(requests: Mix['requests'], { name, fields }: MixSpace): string {
  const found = new Set(requests.flatMap((one) => ('space' in one && one.space === name ? one.by : [])));
  const free = fields.filter(({ unique }) => !unique);
  const field = free.find((one) => !found.has(one.name)) ?? free[0];
  if (field === undefined) throw new Error(`the space ${name} has no field that an update may change`);
  return field.name;
}

/** Whether other requests of a mix delete records of this one's space. */
export function mayBeDeleted({ space }: RecordRequest, { requests }: Mix): boolean {
  return requests.some((other) => other.kind === 'delete' && other.space === space);
}

/** Whether a request finds the record that it was made from: other requests neither delete it nor change what it is found by. */
export function findsItsRecord(request: RecordRequest, mix: Mix): boolean {
  const { kind, space, by, pages } = request;
  if ((kind !== 'find' && kind !== 'findOne' && kind !== 'findById') || pages > 1) return false;
  if (mayBeDeleted(request, mix)) return false;
  const updates = mix.requests.some((other) => other.kind === 'update' && other.space === space);
  const changed = mix.spaces.find(({ name }) => name === space);
  return !(updates && changed && by.includes(changedField(mix.requests, changed)));
}
