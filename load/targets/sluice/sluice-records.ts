import type { RecordRequest } from '../../mix/mix.ts';
import type { FieldValue } from '../../seed/records.ts';
import type { RecordChoice } from '../records/record-choice.ts';
import { idReader, noIds } from '../records/record-ids.ts';
import { jsonSender, type RecordApi, type Sent } from '../records/record-performer.ts';
import type { PreparedSpaces } from './prepare-spaces.ts';
import { type SluiceAddress, structureOf } from './sluice-address.ts';

type Encode = (number: number) => Sent;

/** Records of a Sluice (docs/api.md). */
export function sluiceRecords(address: SluiceAddress, prepared: PreparedSpaces): RecordApi {
  return {
    encoder: (choice) => encoderOf(choice, address, prepared),
    codeOf: (_, { status, body }) =>
      status === 200 ? null : (/"code":"([a-z_]+)"/.exec(body.toString('latin1'))?.[1] ?? `${status}`),
    isMissing: ({ body }) => body.includes('"code":"no_match"'),
    // `null` or `[]`
    foundNothing: ({ body }) => body.byteLength < 5,
    idOf: ({ body }) => /^\{"id":"([^"]+)"/.exec(body.toString('latin1', 0, 64))?.[1],
  };
}

function encoderOf(choice: RecordChoice, address: SluiceAddress, prepared: PreparedSpaces): Encode {
  const { request, space } = choice;
  const { project, base, lines } = address;
  const path = `${base}/${project}/${encodeURIComponent(space.name)}`;
  const fields = `${lines}structure: ${structureOf(project, space)}\r\n`;
  const end = ` HTTP/1.1\r\n${fields}\r\n`;
  const json = jsonSender(fields);
  const idOf = idReader(prepared[space.name] ?? noIds);
  switch (request.kind) {
    case 'find':
    case 'findOne':
      return findEncoder(choice, path, end);
    case 'list': {
      const begin = `GET ${path}?${optionsOf(request)}`;
      if (request.limit === 0) return () => ({ head: begin + end });
      return (number) => ({ head: `${begin}&$page=${choice.page(number)}${end}` });
    }
    case 'findById':
      return (number) => ({ head: `GET ${path}/_single_?id=${idOf(choice.chosen(number))}${end}` });
    case 'delete':
      return (number) => ({ head: `DELETE ${path}?id=${idOf(choice.chosen(number))}${end}` });
    case 'update':
      return (number) =>
        json(`POST ${path}/update-by-id?id=${idOf(choice.chosen(number))}`, choice.change(number));
    case 'insert':
      return (number) => json(`POST ${path}/_single_`, choice.record(choice.inserted(number)));
    case 'insertMany':
      return (number) => json(`POST ${path}`, choice.insertedRecords(number));
  }
}

function findEncoder(choice: RecordChoice, path: string, end: string): Encode {
  const { request } = choice;
  const options = optionsOf(request);
  const begin = `GET ${path}${request.kind === 'findOne' ? '/_single_' : ''}?${options}`;
  const keys = request.by.map((field, at) => {
    const and = at === 0 && options === '' ? '' : '&';
    return [field, `${and}${encodeURIComponent(field)}=`] as const;
  });
  return (number) => {
    const record = choice.record(choice.chosen(number));
    let head = begin;
    for (const [field, key] of keys) head += key + encodeURIComponent(record[field] as FieldValue);
    if (request.pages > 1) head += `&$page=${choice.page(number)}`;
    return { head: head + end };
  };
}

function optionsOf({ sort, limit }: RecordRequest): string {
  const options: string[] = [];
  if (sort !== null) options.push(`$sort=${encodeURIComponent(sort)}`);
  if (limit > 0) options.push(`$limit=${limit}`);
  return options.join('&');
}
