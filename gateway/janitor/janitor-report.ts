/** Findings and actions of one run of the janitor; with dryRun, the actions that it would have taken. */
export interface JanitorReport {
  readonly dryRun: boolean;
  /** Unfinished uploads of this deployment that have had no new part for too long. */
  uploadsAborted: number;
  /** Resumable uploads that have had no new bytes for too long. */
  uploadsExpired: number;
  /** Files that the virus scanner refused, and whose time in quarantine is over. */
  refusedRemoved: number;
  /** Files that have expired, and files that were in the trash for TRASH_DAYS: they were deleted. */
  filesExpired: number;
  filesEmptied: number;
  objectsSeen: number;
  /** The run reached its limit of objects: the next one continues there. */
  objectsGoOn: boolean;
  /** Objects that an interrupted upload left without a row, which was made from their metadata. */
  rowsMade: number;
  /** Objects with neither a row nor metadata for one. They are never removed. */
  objectsLeft: number;
  /** Pictures of files that are gone. */
  picturesRemoved: number;
  rowsChecked: number;
  /** Rows whose object was missing. */
  rowsWithoutObject: number;
  /** Rows without an object in an earlier run too, which were removed. */
  rowsRemoved: number;
  /** Files of folders whose path has a newer one. */
  replacedRemoved: number;
  /** Failed actions; the next run retries them. */
  failures: number;
  milliseconds: number;
}

export function emptyReport(dryRun: boolean): JanitorReport {
  return {
    dryRun,
    uploadsAborted: 0,
    uploadsExpired: 0,
    refusedRemoved: 0,
    filesExpired: 0,
    filesEmptied: 0,
    objectsSeen: 0,
    objectsGoOn: false,
    rowsMade: 0,
    objectsLeft: 0,
    picturesRemoved: 0,
    rowsChecked: 0,
    rowsWithoutObject: 0,
    rowsRemoved: 0,
    replacedRemoved: 0,
    failures: 0,
    milliseconds: 0,
  };
}
