import type { Mix, MixSpace, RecordRequest } from '../../mix/mix.ts';
import { hashOf } from '../../seed/hash.ts';
import { recordOf } from '../../seed/records.ts';
import type { PreparedSpaces } from './prepare-spaces.ts';
import { idReader } from './record-ids.ts';
import { type SluiceAddress, structureOf } from './sluice-address.ts';

/** Parts the choice of a record from the choice of the request. */
const choiceSalt = 0x1f35;
const pageSalt = 0x2b91;
const noIds = { bytes: new SharedArrayBuffer(0), length: 0 };

/** What a request sends. */
export interface SentRecords {
  readonly head: string;
  readonly body?: Buffer | undefined;
  /** The number of the first record that it stores. */
  readonly index?: number | undefined;
  /** How many it stores. */
  readonly count?: number;
}

type Encode = (number: number) => SentRecords;

interface EncoderWork {
  readonly mix: Mix;
  readonly address: SluiceAddress;
  readonly prepared: PreparedSpaces;
}

/** What the encoders of a space share. */
interface SpaceParts {
  readonly seed: number;
  readonly space: MixSpace;
  readonly requests: Mix['requests'];
  readonly path: string;
  /** From the end of the path to the end of a head without a body. */
  readonly end: string;
  /** Begins a request with a body. @param begin its method and path */
  post(begin: string): (value: unknown, index?: number) => SentRecords;
  /** The record that a request's choice falls on. */
  choose(number: number): number;
  idOf(index: number): string;
}

/** Encodes a request of a mix: what can be made once is. */
export function recordEncoder(request: RecordRequest, { mix, address, prepared }: EncoderWork): Encode {
  const space = mix.spaces.find(({ name }) => name === request.space) as MixSpace;
  const { project, base, lines } = address;
  const fields = `${lines}structure: ${structureOf(project, space)}\r\n`;
  const among = Math.max(1, Math.min(request.among ?? space.records, space.records));
  const parts: SpaceParts = {
    seed: mix.seed,
    space,
    requests: mix.requests,
    path: `${base}/${project}/${encodeURIComponent(space.name)}`,
    end: ` HTTP/1.1\r\n${fields}\r\n`,
    post: (begin) => {
      const head = `${begin} HTTP/1.1\r\n${fields}content-type: application/json\r\ncontent-length: `;
      return (value, index) => {
        const body = Buffer.from(JSON.stringify(value));
        return { head: `${head}${body.byteLength}\r\n\r\n`, body, index };
      };
    },
    choose: (number) => hashOf(mix.seed, number, choiceSalt) % among,
    idOf: idReader(prepared[space.name] ?? noIds),
  };
  switch (request.kind) {
    case 'find':
    case 'findOne':
      return encodeFind(request, parts);
    case 'findById':
      return encodeById('GET', `${parts.path}/_single_`, parts);
    case 'delete':
      return encodeById('DELETE', parts.path, parts);
    case 'list':
      return encodeList(request, parts);
    case 'update':
      return encodeUpdate(parts);
    default:
      return encodeInsert(request, parts);
  }
}

function encodeFind(request: RecordRequest, { seed, space, path, end, choose }: SpaceParts): Encode {
  const options = optionsOf(request);
  const begin = `GET ${path}${request.kind === 'findOne' ? '/_single_' : ''}?${options}`;
  const keys = request.by.map((field, at) => {
    const and = at === 0 && options === '' ? '' : '&';
    return [field, `${and}${encodeURIComponent(field)}=`] as const;
  });
  const { pages } = request;
  return (number) => {
    const record = recordOf(seed, space, choose(number));
    let head = begin;
    for (const [field, key] of keys)
      head += key + encodeURIComponent(record[field] as string | number | boolean);
    if (pages > 1) head += `&$page=${1 + (hashOf(seed, number, pageSalt) % pages)}`;
    return { head: head + end };
  };
}

function encodeById(method: string, path: string, { end, choose, idOf }: SpaceParts): Encode {
  return (number) => ({ head: `${method} ${path}?id=${idOf(choose(number))}${end}` });
}

function encodeList(request: RecordRequest, { path, end, choose }: SpaceParts): Encode {
  const begin = `GET ${path}?${optionsOf(request)}`;
  if (request.limit === 0) return () => ({ head: begin + end });
  return (number) => ({ head: `${begin}&$page=${1 + Math.floor(choose(number) / request.limit)}${end}` });
}

function encodeUpdate({ seed, space, requests, path, post, choose, idOf }: SpaceParts): Encode {
  const field = changedField(requests, space);
  const encode = post('');
  return (number) => {
    const { head, body } = encode({ [field]: recordOf(seed, space, space.records + number)[field] });
    return { head: `POST ${path}/update-by-id?id=${idOf(choose(number))}${head}`, body };
  };
}

/** Each number stores other records, which begin after those that were stored before the load. */
function encodeInsert(
  { kind, records }: RecordRequest,
  { seed, space, requests, path, post }: SpaceParts,
): Encode {
  const sizes = requests.flatMap((one) =>
    one.kind === 'insertMany' && one.space === space.name ? [one.records] : [],
  );
  const stride = Math.max(1, ...sizes);
  const encode = post(`POST ${path}${kind === 'insert' ? '/_single_' : ''}`);
  return (number) => {
    const first = space.records + number * stride;
    if (kind === 'insert') return encode(recordOf(seed, space, first), first);
    const many = Array.from({ length: records }, (_, at) => recordOf(seed, space, first + at));
    return { ...encode(many, first), count: records };
  };
}

function optionsOf({ sort, limit }: RecordRequest): string {
  const options: string[] = [];
  if (sort !== null) options.push(`$sort=${encodeURIComponent(sort)}`);
  if (limit > 0) options.push(`$limit=${limit}`);
  return options.join('&');
}

/** The field that updates change: one that is not unique, and by which nothing is found, if there is one. */
export function changedField(requests: Mix['requests'], { name, fields }: MixSpace): string {
  const found = new Set(requests.flatMap((one) => ('space' in one && one.space === name ? one.by : [])));
  const free = fields.filter(({ unique }) => !unique);
  const field = free.find((one) => !found.has(one.name)) ?? free[0];
  if (field === undefined) throw new Error(`the space ${name} has no field that an update may change`);
  return field.name;
}
