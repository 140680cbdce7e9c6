import { unsupportedMediaType } from '#kernel/errors/catalogue.ts';
import type { StoredObject } from '#objects/object-store.ts';

export const fileFormats = ['CSV', 'NDJSON', 'Parquet'] as const;

/** How to read the bytes of a file. */
export interface FileFormat {
  readonly name: (typeof fileFormats)[number];
  readonly isGzip: boolean;
}

const endings: Readonly<Record<string, FileFormat['name']>> = {
  csv: 'CSV',
  tsv: 'CSV',
  txt: 'CSV',
  ndjson: 'NDJSON',
  jsonl: 'NDJSON',
  parquet: 'Parquet',
};

const mediaTypes: Readonly<Record<string, FileFormat['name']>> = {
  'text/csv': 'CSV',
  'application/csv': 'CSV',
  'text/tab-separated-values': 'CSV',
  'application/x-ndjson': 'NDJSON',
  'application/ndjson': 'NDJSON',
  'application/jsonl': 'NDJSON',
  'application/vnd.apache.parquet': 'Parquet',
};

/** The format, by the extension of the name, or by the content type of the upload. Throws a 415 for other formats. */
export function formatOf(name: string, { contentType }: Pick<StoredObject, 'contentType'>): FileFormat {
  const [, ending = '', compression = ''] = /\.([a-z]+)(\.gz|\.zst)?$/i.exec(name) ?? [];
  const mediaType = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  const format = endings[ending.toLowerCase()] ?? mediaTypes[mediaType];
  const isGzip = [compression, `.${ending}`].some((end) => end.toLowerCase() === '.gz');
  if (format === undefined || (format === 'Parquet' && (isGzip || compression !== '')))
    throw unsupportedMediaType(
      `that of ${fileFormats.join(', ')}, unless the name of the file ends in .csv, .tsv, .txt, .ndjson, .jsonl or .parquet; texts may also be compressed, as in .csv.gz`,
    );
  return { name: format, isGzip };
}
