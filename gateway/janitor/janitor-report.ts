/** What a run of the janitor found and did; with dryRun, what it would have done. */
export interface JanitorReport {
  readonly dryRun: boolean;
  /** Uploads that were begun long ago and never ended. */
  uploadsAborted: number;
  objectsSeen: number;
  /** Objects that an interrupted upload left without a row: their row was made from their metadata. */
  rowsMade: number;
  /** Objects under our keys that can't be given a row. */
  objectsRemoved: number;
  rowsChecked: number;
  /** Rows whose object is not there. */
  rowsRemoved: number;
  /** Objects whose keys are not ours: never touched. */
  foreignObjects: number;
  /** What could not be done this time; the next run tries again. */
  failures: number;
  milliseconds: number;
}

export function emptyReport(dryRun: boolean): JanitorReport {
  return {
    dryRun,
    uploadsAborted: 0,
    objectsSeen: 0,
    rowsMade: 0,
    objectsRemoved: 0,
    rowsChecked: 0,
    rowsRemoved: 0,
    foreignObjects: 0,
    failures: 0,
    milliseconds: 0,
  };
}
