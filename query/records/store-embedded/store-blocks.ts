import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { Engine } from '../store/record-store.ts';
import type { UpdateValues } from '../store/update-values.ts';
import { idsIn, type PendingBlock } from './pending-block.ts';
import { storeWrites } from './store-writes.ts';

/** Bytes of one INSERT. Each becomes one part of the table. */
const insertBytes = 32 * 1024 * 1024;
/** Ids of one look-up. */
const lookLimit = 1000;

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
  let some: PendingBlock[] = [];
  let bytes = 0;
  const insert = async (): Promise<void> => {
    const [first] = some;
    if (first === undefined) return;
    const { columns, types, spaceId } = first;
    const lines = some.length === 1 ? first.rows : Buffer.concat(some.map(({ rows }) => rows));
    await db.insert({ ...table.recordRows, columns, types, lines, home: table.homeOf(spaceId) });
  };
  for (const block of [...blocks].sort(byShape)) {
    if (again && (await isStored(engine, block))) continue;
    const fits = bytes + block.rows.byteLength <= insertBytes && shapeOf(block) === shapeOf(some[0] ?? block);
    if (!fits) {
      await insert();
      some = [];
      bytes = 0;
    }
    some.push(block);
    bytes += block.rows.byteLength;
  }
  await insert();
}

/** A block is stored as a whole, so one of its records proves all. Those that later writes removed are removed again. */
async function isStored({ db, table }: Engine, block: PendingBlock): Promise<boolean> {
  const { spaceId } = block;
  for (const ids of chunksOf(idsIn(block), lookLimit)) {
    const addresses = ids.map((id) => ({ spaceId, id }));
    if ((await db.rows(table.selectByIds(addresses, '_id'))).length > 0) return true;
  }
  return false;
}

function shapeOf({ columns }: PendingBlock): string {
  return columns.join();
}

function byShape(a: PendingBlock, b: PendingBlock): number {
  const [left, right] = [shapeOf(a), shapeOf(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
