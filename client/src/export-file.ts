import { type FindOptions, findBody, pathOf, replacerOf } from './ask.ts';
import { type Client, send } from './client.ts';
import type { Fields, Selectable, Space } from './space.ts';

export type ExportFormat = 'csv' | 'ndjson' | 'json' | 'parquet' | 'arrow';

export interface ExportOptions<Of extends Fields> extends FindOptions<Of, Selectable<Of>> {
  /** For CSV: a byte order mark, which Excel needs to read UTF-8. */
  readonly bom?: boolean;
  /** For CSV: puts a quote before texts that a spreadsheet would take for formulas. */
  readonly escapeFormulas?: boolean;
}

/** Exports records as a file, which is streamed. If the connection is cut, reading the body rejects. */
export function exportFile<Of extends Fields>(
  client: Client,
  space: Space<Of>,
  format: ExportFormat,
  { bom, escapeFormulas, ...options }: ExportOptions<Of> = {},
): Promise<Response> {
  const query = (bom ? '$bom=true&' : '') + (escapeFormulas ? '$escapeFormulas=true' : '');
  return send(client, {
    method: 'QUERY',
    path: `${pathOf(client, space.slug)}/_export_.${format}?${query}`,
    body: findBody(options),
    replacer: replacerOf(space),
    signal: options.signal,
    repeatable: true,
  });
}
