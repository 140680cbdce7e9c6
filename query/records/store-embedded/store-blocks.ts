import { addToList } from '../store/add-to-list.ts';
import type { Engine } from '../store/record-store.ts';
import type { UpdateValues } from '../store/update-values.ts';
import { firstIdIn, type PendingBlock } from './pending-block.ts';
import { storeWrites } from './store-writes.ts';

/** The most bytes of an INSERT, which becomes one part of the table. */
const insertBytes = 32 * 1024 * 1024;
/**
 * A part of less than 10 MiB in the engine's memory is a single file, and another one has some 190, each of them synced: as
 * many as cost four times as much as the rows, unless these are many.
 */
const compactBytes = 10_000_000;
const manyBytes = 20 * 1024 * 1024;
/** What the engine's memory has for a row in addition to its bytes, mostly for columns without a value. */
const rowBytes = 470;

/**
 * Flushes blocks into the table, many of them by one INSERT. It can be repeated.
 * @param again whether some may be in the table already
 */
export async function storeBlocks(
  engine: Engine & { readonly values: Pick<UpdateValues, 'wrote'> },
  blocks: readonly PendingBlock[],
  again: boolean,
): Promise<void> {
  const { db, table } = engine;
  const receipts = blocks.flatMap(({ receipt }) => receipt ?? []);
  if (receipts.length > 0) await storeWrites(engine, receipts, again);
  const left: PendingBlock[] = [];
  for (const block of blocks) if (!again || !(await isStored(engine, block))) left.push(block);
  for (const some of insertsOf(left)) {
    const [{ columns, types, spaceId, rows }] = some as [PendingBlock];
    const lines = some.length === 1 ? rows : Buffer.concat(some.map((block) => block.rows));
    await db.insert({ ...table.recordRows, columns, types, lines, home: table.homeOf(spaceId) });
  }
}

/** The blocks of each INSERT. */
function* insertsOf(blocks: readonly PendingBlock[]): Generator<readonly PendingBlock[]> {
  const shapes = new Map<string, PendingBlock[]>();
  for (const block of blocks) addToList(shapes, block.columns.join(), block);
  for (const same of shapes.values())
    for (const many of packed(same, bytesOf, insertBytes)) {
      if (sum(many, bytesOf) >= manyBytes) yield many;
      else yield* packed(many, sizeInEngine, compactBytes);
    }
}

/** Runs of blocks that have at most so many bytes together; a larger block is alone. */
function* packed(
  blocks: readonly PendingBlock[],
  sizeOf: (block: PendingBlock) => number,
  most: number,
): Generator<readonly PendingBlock[]> {
  let some: PendingBlock[] = [];
  let size = 0;
  for (const block of blocks) {
    if (some.length > 0 && size + sizeOf(block) > most) {
      yield some;
      some = [];
      size = 0;
    }
    some.push(block);
    size += sizeOf(block);
  }
  if (some.length > 0) yield some;
}

function bytesOf({ rows }: PendingBlock): number {
  return rows.byteLength;
}

function sizeInEngine({ rows, begins }: PendingBlock): number {
  return rows.byteLength + rowBytes * begins.length;
}

function sum(blocks: readonly PendingBlock[], sizeOf: (block: PendingBlock) => number): number {
  return blocks.reduce((all, block) => all + sizeOf(block), 0);
}

/** A block is stored as a whole, so its first record proves all. None is changed or removed while the log has the block. */
async function isStored({ db, table }: Engine, { spaceId, rows }: PendingBlock): Promise<boolean> {
  return (await db.rows(table.selectByIds([{ spaceId, id: firstIdIn(rows) }], '_id'))).length > 0;
}
