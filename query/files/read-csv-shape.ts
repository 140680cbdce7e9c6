import { asFileProblem, decompress } from '../imports/formats/file-text.ts';
import { type ByteSource, bytesOf } from './byte-source.ts';
import { CsvShape } from './csv-shape.ts';

/** CSV that is checked (csv-check.ts). */
export interface CsvCheckTask {
  readonly source: ByteSource;
  /** Bytes before the header (CsvHeader). */
  readonly prefixBytes: number;
  readonly delimiter: string;
  /** How many there are. */
  readonly columns: number;
  /** Words for null. */
  readonly nulls: readonly string[];
}

/** What has been read so far. */
export interface CsvProgress {
  /** Valid records, with the header. */
  readonly records: number;
  readonly blankLines: number;
  /** Whether cells begin or end with blanks. */
  readonly hasBlanks: boolean;
  readonly isGood: boolean;
  /** Whether it is not good because a cell in quotes is a word for null. */
  readonly hasQuotedNull: boolean;
  /** Whether it has read all of the file. */
  readonly isOver: boolean;
}

/** Looks at the bytes of CSV, and reports how far it is, until it is over or a report ends it by an error. */
export async function readCsvShape(
  { source, prefixBytes, delimiter, columns, nulls }: CsvCheckTask,
  report: (progress: CsvProgress) => void,
): Promise<void> {
  const shape = new CsvShape({ delimiter, columns, nulls });
  const progress = (isOver: boolean): CsvProgress => {
    const { records, blankLines, hasBlanks, isGood, hasQuotedNull } = shape;
    return { records, blankLines, hasBlanks, isGood, hasQuotedNull, isOver };
  };
  let skipped = prefixBytes;
  let isFirst = true;
  try {
    for await (const chunk of await decompress(bytesOf(source))) {
      const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
      if (hasMark) skipped += 3;
      isFirst = false;
      const bytes = chunk.subarray(Math.min(skipped, chunk.byteLength));
      skipped -= chunk.byteLength - bytes.byteLength;
      shape.read(bytes);
      report(progress(false));
      if (!shape.isGood) return;
    }
    shape.end();
  } catch (error) {
    // compressed data that is damaged
    if (asFileProblem(error) === error) throw error;
    shape.isGood = false;
  }
  report(progress(true));
}
