import type { MixField, MixSpace, RecordRequest } from '../../mix/mix.ts';
import type { FieldValue } from '../../seed/records.ts';
import type { RecordChoice, SeedRecord } from '../records/record-choice.ts';
import { idReader, noIds, type RecordIds } from '../records/record-ids.ts';
import { jsonSender, type RecordApi, type Sent } from '../records/record-performer.ts';

const objectNotFound = 'parse_101';
/** The most records of one find; Parse Server returns 100 by default. */
export const largestPage = 1000;

export function classOf(space: string): string {
  return `SluiceLoad_${space.replaceAll('-', '_')}`;
}

/** A record with the values of Parse Server: dates are objects. */
export type ParseValues = (record: SeedRecord) => Readonly<Record<string, unknown>>;

export function parseValues({ fields }: MixSpace): ParseValues {
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  if (![...types.values()].includes('DATETIME')) return (record) => record;
  return (record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, parseValue(types.get(name), value)]),
    );
}

export function parseValue(type: MixField['type'] | undefined, value: FieldValue): unknown {
  return type === 'DATETIME' ? { __type: 'Date', iso: value } : value;
}

/**
 * https://docs.parseplatform.org/rest/guide/
 * @param base the path of the API
 * @param fields of all requests, each with its line end
 */
export function parseRecords(
  base: string,
  fields: string,
  ids: Readonly<Record<string, RecordIds>>,
): RecordApi {
  return {
    encoder: (choice) => encoderOf(choice, base, fields, ids[choice.space.name]),
    codeOf({ kind }, { status, body }) {
      if (status < 200 || status >= 300) return codeOf(body) ?? `${status}`;
      // a batch has an answer for each record
      return kind === 'insertMany' && body.includes('"error"') ? 'batch' : null;
    },
    isMissing: ({ body }) => codeOf(body) === objectNotFound,
    foundNothing: ({ body }) => body.includes('{"results":[]'),
    idOf: ({ body }) => /"objectId":"(\w+)"/.exec(body.toString('latin1'))?.[1],
  };
}

/** https://docs.parseplatform.org/rest/guide/#error-codes */
function codeOf(body: Buffer): string | null {
  const code = /"code":(\d+)/.exec(body.toString('latin1'))?.[1];
  return code === undefined ? null : `parse_${code}`;
}

function encoderOf(
  choice: RecordChoice,
  base: string,
  fields: string,
  ids: RecordIds | undefined,
): (number: number) => Sent {
  const { request, space } = choice;
  const records = `${base}/classes/${classOf(space.name)}`;
  const end = ` HTTP/1.1\r\n${fields}\r\n`;
  const json = jsonSender(fields);
  const values = parseValues(space);
  const idOf = idReader(ids ?? noIds);
  switch (request.kind) {
    case 'find':
    case 'findOne': {
      const begin = `GET ${records}?${pageOf(request)}&where=`;
      return (number) => {
        const where = JSON.stringify(values(Object.fromEntries(choice.condition(number))));
        const skip = request.pages > 1 ? skipOf(choice, number) : '';
        return { head: `${begin}${encodeURIComponent(where)}${skip}${end}` };
      };
    }
    case 'findById':
      return (number) => ({ head: `GET ${records}/${idOf(choice.chosen(number))}${end}` });
    case 'list':
      return (number) => ({ head: `GET ${records}?${pageOf(request)}${skipOf(choice, number)}${end}` });
    case 'insert':
      return (number) => json(`POST ${records}`, values(choice.record(choice.inserted(number))));
    case 'insertMany':
      return (number) => {
        const requests = choice
          .insertedRecords(number)
          .map((record) => ({ method: 'POST', path: records, body: values(record) }));
        return json(`POST ${base}/batch`, { requests });
      };
    case 'update':
      return (number) => json(`PUT ${records}/${idOf(choice.chosen(number))}`, values(choice.change(number)));
    case 'delete':
      return (number) => ({ head: `DELETE ${records}/${idOf(choice.chosen(number))}${end}` });
  }
}

function pageOf({ kind, sort, limit }: RecordRequest): string {
  const size = kind === 'findOne' ? 1 : limit === 0 ? largestPage : limit;
  return `limit=${size}${sort === null ? '' : `&order=${encodeURIComponent(sort)}`}`;
}

function skipOf(choice: RecordChoice, number: number): string {
  return `&skip=${(choice.page(number) - 1) * choice.request.limit}`;
}
