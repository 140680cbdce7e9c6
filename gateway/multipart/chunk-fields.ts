import { chunksUnsupported } from '#kernel/errors/catalogue.ts';

/** Fields in which upload libraries number the chunks of a file, each sent as a form: its index, and their count. */
const numbering: readonly (readonly [index: string, total: string])[] = [
  ['dzchunkindex', 'dztotalchunkcount'],
  ['resumableChunkNumber', 'resumableTotalChunks'],
  ['flowChunkNumber', 'flowTotalChunks'],
  ['qqpartindex', 'qqtotalparts'],
];

export const chunkFields: ReadonlySet<string> = new Set(numbering.flat());

/** Throws 400 for a form that holds a chunk, which would be stored as a file. One that is the whole file passes. */
export function refuseChunk(value: (field: string) => string | undefined): void {
  const found = numbering.find(([index, total]) => value(index) !== undefined && value(total) !== '1');
  if (found !== undefined) throw chunksUnsupported(`the field ${found[0]}`);
}
