import { type FindOptions, findBody, pathOf } from './ask.ts';
import { type Client, send } from './client.ts';
import type { Fields, Selectable, Space } from './space.ts';

export type ExportFormat = 'csv' | 'ndjson' | 'json' | 'parquet' | 'arrow';

export interface ExportOptions<Of extends Fields> extends FindOptions<Of, Selectable<Of>> {
  /** Of CSV: what Excel needs to read UTF-8. */
  readonly bom?: boolean;
  /** Of CSV: texts that a spreadsheet takes for formulas get a quote. */
  readonly escapeFormulas?: boolean;
}

/** The records as a file, whose bytes come as they are read. A file that was cut rejects when its end is read. */
export function exportFile<Of extends Fields>(
  client: Client,
  { slug }: Space<Of>,
  format: ExportFormat,
  { bom, escapeFormulas, ...options }: ExportOptions<Of> = {},
): Promise<Response> {
  const query = (bom ? '$bom=true&' : '') + (escapeFormulas ? '$escapeFormulas=true' : '');
  return send(client, {
    ...{ method: 'QUERY', path: `${pathOf(client, slug)}/_export_.${format}?${query}` },
    ...{ body: findBody(options), signal: options.signal, repeatable: true },
  });
}
