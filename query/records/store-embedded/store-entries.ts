import { chunksOf } from '#kernel/limits/chunks-of.ts';
import type { Engine } from '../store/record-store.ts';
import type { UpdateValues } from '../store/update-values.ts';
import type { RecordWrite } from './known-records.ts';
import { idsIn, type PendingBlock } from './pending-block.ts';
import { storeWrites } from './store-writes.ts';

/** The writes of one request: a block, or some others. */
export interface StoredEntry {
  readonly writes: readonly RecordWrite[];
  readonly block: PendingBlock | null;
}

/** Bytes of one INSERT. Each becomes one part of the table. */
const insertBytes = 32 * 1024 * 1024;
/** Ids of one look-up. */
const lookLimit = 1000;

/** Entries that few statements can store without changing the order of the writes to any space. */
class Stage {
  readonly early: RecordWrite[] = [];
  readonly blocks: PendingBlock[] = [];
  /** Writes to spaces of the blocks that came after them. */
  readonly late: RecordWrite[] = [];
  readonly #withBlocks = new Set<string>();
  readonly #withLate = new Set<string>();

  /** False: it has to come into the next stage. */
  add({ writes, block }: StoredEntry): boolean {
    if (block !== null) {
      if (this.#withLate.has(block.spaceId)) return false;
      this.#withBlocks.add(block.spaceId);
      this.blocks.push(block);
      if (block.receipt !== null) this.early.push(block.receipt);
    }
    for (const write of writes) {
      if (!this.#withBlocks.has(write.spaceId)) this.early.push(write);
      else {
        this.#withLate.add(write.spaceId);
        this.late.push(write);
      }
    }
    return true;
  }
}

/** Flushes entries into the table. It can be repeated. @param again whether some may be in the table already */
export async function storeEntries(
  engine: Engine & { readonly values: Pick<UpdateValues, 'wrote'> },
  entries: readonly StoredEntry[],
  again: boolean,
): Promise<void> {
  for (const { early, blocks, late } of stagesOf(entries)) {
    if (early.length > 0) await storeWrites(engine, early, again);
    await storeBlocks(engine, blocks, again);
    if (late.length > 0) await storeWrites(engine, late, again);
  }
}

function stagesOf(entries: readonly StoredEntry[]): readonly Stage[] {
  const stages: Stage[] = [];
  for (const entry of entries) {
    if (stages.at(-1)?.add(entry)) continue;
    const stage = new Stage();
    stage.add(entry);
    stages.push(stage);
  }
  return stages;
}

async function storeBlocks(engine: Engine, blocks: readonly PendingBlock[], again: boolean): Promise<void> {
  const { db, table } = engine;
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
