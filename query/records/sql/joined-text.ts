import { forEachYielding } from '#kernel/limits/yielding-loop.ts';

/** Characters encoded at once. */
const pieceLength = 64 * 1024;

export async function joinedText<Item>(
  items: readonly Item[],
  textOf: (item: Item, index: number) => string,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Buffer[] = [];
  let text = '';
  const add = (item: Item, index: number): void => {
    text += textOf(item, index);
    if (text.length < pieceLength && index < items.length - 1) return;
    pieces.push(Buffer.from(text));
    text = '';
  };
  await forEachYielding(items, add, signal);
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
}
