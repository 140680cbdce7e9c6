import { parentPort, workerData } from 'node:worker_threads';
import { FileProblem } from '../imports/formats/file-problem.ts';
import { asFileProblem, decompress } from '../imports/formats/file-text.ts';
import { bytesOf } from './byte-source.ts';
import type { CsvCheckTask, CsvProgress } from './csv-check.ts';
import { CsvShape } from './csv-shape.ts';

async function check({ source, prefixBytes, delimiter, columns, nulls }: CsvCheckTask): Promise<void> {
  const shape = new CsvShape({ delimiter, columns, nulls });
  let skipped = prefixBytes;
  let isFirst = true;
  for await (const chunk of await decompress(bytesOf(source))) {
    const hasMark = isFirst && chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;
    if (hasMark) skipped += 3;
    isFirst = false;
    const bytes = chunk.subarray(Math.min(skipped, chunk.byteLength));
    skipped -= chunk.byteLength - bytes.byteLength;
    shape.read(bytes);
    report(shape, false);
    if (!shape.isGood) return;
  }
  shape.end();
  report(shape, true);
}

function report({ records, blankLines, isGood }: CsvShape, isOver: boolean): void {
  parentPort?.postMessage({ records, blankLines, isGood, isOver } satisfies CsvProgress);
}

check(workerData as CsvCheckTask).catch((error: unknown) => {
  const problem = asFileProblem(error);
  if (!(problem instanceof FileProblem)) throw problem;
  parentPort?.postMessage({ records: 0, blankLines: 0, isGood: false, isOver: true } satisfies CsvProgress);
});
