import type { MixField, RecordRequest } from '../../mix/mix.ts';
import type { FieldValue } from '../../seed/records.ts';
import type { RecordChoice } from '../records/record-choice.ts';
import { jsonSender, type RecordApi, type Sent } from '../records/record-performer.ts';
import type { TargetAddress } from '../target.ts';

/** The most records that PocketBase returns at once. */
export const largestPage = 1000;
export const collectionPrefix = 'sluice_load_';

/** The path of the server, without a slash at its end. */
export function basePath({ url }: TargetAddress): string {
  return new URL(url).pathname.replace(/\/$/, '');
}

export function collectionOf(space: string): string {
  return collectionPrefix + space.replaceAll('-', '_');
}

/** The id of a record that was stored before the load: PocketBase takes ids of 15 letters and digits from its clients. */
export function idOf(index: number): string {
  return `r${`${index}`.padStart(14, '0')}`;
}

/** https://pocketbase.io/docs/api-records/ @param base the path of the server @param fields of all requests, each with its line end */
export function pocketbaseRecords(base: string, fields: string): RecordApi {
  return {
    encoder: (choice) => encoderOf(choice, base, fields),
    codeOf(_, { status, body }) {
      if (status >= 200 && status < 300) return null;
      return /"code":"(\w+)"/.exec(body.toString('latin1'))?.[1] ?? `${status}`;
    },
    isMissing: ({ status }) => status === 404,
    foundNothing: ({ body }) => body.includes('"items":[]'),
    idOf: ({ body }) => /"id":"(\w+)"/.exec(body.toString('latin1'))?.[1],
  };
}

function encoderOf(choice: RecordChoice, base: string, fields: string): (number: number) => Sent {
  const { request, space } = choice;
  const records = `${base}/api/collections/${collectionOf(space.name)}/records`;
  const end = ` HTTP/1.1\r\n${fields}\r\n`;
  const json = jsonSender(fields);
  switch (request.kind) {
    case 'find':
    case 'findOne': {
      const types = new Map(space.fields.map(({ name, type }) => [name, type]));
      const begin = `GET ${records}?${pageOf(request)}&filter=`;
      return (number) => {
        const conditions = choice
          .condition(number)
          .map(([field, value]) => `${field}=${literalOf(types.get(field), value)}`);
        const page = request.pages > 1 ? `&page=${choice.page(number)}` : '';
        return { head: `${begin}${encodeURIComponent(conditions.join(' && '))}${page}${end}` };
      };
    }
    case 'findById':
      return (number) => ({ head: `GET ${records}/${idOf(choice.chosen(number))}${end}` });
    case 'list':
      return (number) => ({ head: `GET ${records}?${pageOf(request)}&page=${choice.page(number)}${end}` });
    case 'insert':
      return (number) => json(`POST ${records}`, choice.record(choice.inserted(number)));
    case 'insertMany':
      return (number) => {
        const batch = choice
          .insertedRecords(number)
          .map((body) => ({ method: 'POST', url: records.slice(base.length), body }));
        return json(`POST ${base}/api/batch`, { requests: batch });
      };
    case 'update':
      return (number) => json(`PATCH ${records}/${idOf(choice.chosen(number))}`, choice.change(number));
    case 'delete':
      return (number) => ({ head: `DELETE ${records}/${idOf(choice.chosen(number))}${end}` });
  }
}

/** Without the number of all records, which would cost a scan. */
function pageOf({ kind, sort, limit }: RecordRequest): string {
  const size = kind === 'findOne' ? 1 : limit === 0 ? largestPage : Math.min(limit, largestPage);
  const order = sort === null ? '' : `&sort=${encodeURIComponent(sort)}`;
  return `skipTotal=1&perPage=${size}${order}`;
}

/** Values of the seed have no quotes. Dates are compared as the texts that PocketBase stores. */
export function literalOf(type: MixField['type'] | undefined, value: FieldValue): string {
  if (typeof value !== 'string') return `${value}`;
  return `"${type === 'DATETIME' ? value.replace('T', ' ') : value}"`;
}
