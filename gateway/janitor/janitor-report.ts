/** Findings and actions of a run of the janitor; with dryRun, the actions that it would have taken. */
export interface JanitorReport {
  readonly dryRun: boolean;
  /** Uploads of this deployment that were begun long ago, never ended, and got no part for long. */
  uploadsAborted: number;
  /** Resumable uploads that got no bytes for long. */
  uploadsExpired: number;
  objectsSeen: number;
  /** The run saw as many as it may: the next one continues there. */
  objectsGoOn: boolean;
  /** Objects that an interrupted upload left without a row: their row was made from their metadata. */
  rowsMade: number;
  /** Objects without a row whose metadata describes none. They are never removed. */
  objectsLeft: number;
  rowsChecked: number;
  /** Rows whose object was missing. */
  rowsWithoutObject: number;
  /** Rows among them whose object an earlier run had missed as well. */
  rowsRemoved: number;
  /** Actions that failed; the next run tries them again. */
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
