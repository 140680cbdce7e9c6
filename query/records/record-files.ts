import type { WritePermit } from '#engine/write-permit.ts';
import type { RecordValues } from './input/validate-record.ts';
import type { RecordSpace } from './structure/record-space.ts';

/** Of a name that is no file of the project, and of a file that the sender may not read. */
export const noFile = 'should be a valid file: the project has no such file';

/** The files that values of a request name. */
export interface FoundFiles {
  /** The texts of their answers by name (`factsText`). */
  readonly texts: ReadonlyMap<string, string>;
  /** The names of those that go with their records. */
  readonly owned: ReadonlySet<string>;
}

/** Uses of files whose records are about to be stored. */
export interface BegunUses {
  /** The records have to be stored within it. */
  readonly permit: WritePermit;
  /**
   * To be called when the write has ended. Never rejects.
   * @param stored `never`: none of the records exists, and the uses are removed
   */
  end(stored: 'never' | 'maybe'): Promise<void>;
}

/** What writes of records do about the files that they name (docs/decisions/074-a-file-field.md). */
export interface RecordFiles {
  /**
   * The files that the records name. Throws a 400 for a name that is no file of the project that the sender may read. Null:
   * they name none.
   */
  find(space: RecordSpace, records: readonly RecordValues[], signal: AbortSignal): Promise<FoundFiles | null>;
  /**
   * Makes uses of the files durable. Throws a 400 if one of the files was deleted meanwhile.
   * @param records `isNew`: nobody else writes them, so that a failure can take back their uses
   */
  begin(
    space: RecordSpace,
    records: readonly { readonly id: string; readonly values: RecordValues; readonly isNew?: true }[],
    found: FoundFiles,
    signal: AbortSignal,
  ): Promise<BegunUses>;
  /**
   * Notes durably that records may stop naming files. To be called before the write; the function that it resolves with
   * after it.
   * @param records ids; `all` of the space
   */
  drop(
    space: Pick<RecordSpace, 'ownerId' | 'catalogueId' | 'stored'>,
    records: readonly string[] | 'all',
    signal: AbortSignal,
  ): Promise<() => void>;
}

/** One permit for two. */
export function bothPermits(
  one: WritePermit | null | undefined,
  other: WritePermit | null | undefined,
): WritePermit | null {
  if (!one || !other) return one ?? other ?? null;
  return {
    check() {
      one.check();
      other.check();
    },
    timeLimit: Math.min(one.timeLimit, other.timeLimit),
  };
}
