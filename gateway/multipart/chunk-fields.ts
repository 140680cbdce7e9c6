import { chunksUnsupported } from '#kernel/errors/catalogue.ts';

/** Form fields in which upload libraries send the index of a chunk, and the number of chunks. */
const numbering: readonly (readonly [index: string, total: string])[] = [
  ['dzchunkindex', 'dztotalchunkcount'],
  ['resumableChunkNumber', 'resumableTotalChunks'],
  ['flowChunkNumber', 'flowTotalChunks'],
  ['qqpartindex', 'qqtotalparts'],
];

export const chunkFields: ReadonlySet<string> = new Set(numbering.flat());

/** Throws 400 for a form with a chunk of a file, which would be stored as a file. A single chunk is a whole file. */
export function refuseChunk(value: (field: string) => string | undefined): void {
  const found = numbering.find(([index, total]) => value(index) !== undefined && value(total) !== '1');
  if (found !== undefined) throw chunksUnsupported(`the field ${found[0]}`);
}
