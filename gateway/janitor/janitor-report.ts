/** What a run of the janitor found and did; with dryRun, what it would have done. */
export interface JanitorReport {
  readonly dryRun: boolean;
  /** Uploads of this deployment that were begun long ago, never ended, and got no part for long. */
  uploadsAborted: number;
  /** Uploads that could go on, and to which no bytes came for long. */
  uploadsExpired: number;
  objectsSeen: number;
  /** It saw as many as a run may: the next one goes on there. */
  objectsGoOn: boolean;
  /** Objects that an interrupted upload left without a row: their row was made from their metadata. */
  rowsMade: number;
  /** Objects without a row whose metadata tell of none. An object is never removed. */
  objectsLeft: number;
  rowsChecked: number;
  /** Rows whose object was not there. */
  rowsWithoutObject: number;
  /** Those of them that an earlier run had found so, too. */
  rowsRemoved: number;
  /** What could not be done this time; the next run tries again. */
  failures: number;
  milliseconds: number;
}

export function emptyReport(dryRun: boolean): JanitorReport {
  return {
    dryRun,
    uploadsAborted: 0,
    uploadsExpired: 0,
    objectsSeen: 0,
    objectsGoOn: false,
    rowsMade: 0,
    objectsLeft: 0,
    rowsChecked: 0,
    rowsWithoutObject: 0,
    rowsRemoved: 0,
    failures: 0,
    milliseconds: 0,
  };
}
