/** A project, as rows of files and of their uses name it. */
export interface FilesPlace {
  readonly ownerId: string;
  readonly slug: string;
}

export interface PlacedFile {
  readonly place: FilesPlace;
  readonly name: string;
}

/** A record of a space of a project. */
export interface RecordPlace {
  /** Id of the space in the catalogue. */
  readonly space: string;
  readonly record: string;
}

/** A record names a file, or may have named it. */
export interface FileUse extends RecordPlace {
  readonly name: string;
  /** Whether the file goes with the record: who named it could delete it, too. */
  readonly owns: boolean;
}

/** A use as it was read. */
export interface StoredUse extends FileUse {
  /** Whether its record may still be on its way (`youngFor`). */
  readonly isYoung: boolean;
}

/** Uses that may have ended: those of a record, or of all records of a space. */
export interface FileDrop {
  readonly place: FilesPlace;
  readonly space: string;
  /** Null: all records. */
  readonly record: string | null;
  /** Of its row. */
  readonly token: string;
}

/** Milliseconds from the row of a use, for its record's write to begin, and for that write. Less than `youngFor`. */
export const permitted = { begin: 30_000, write: 30_000 } as const;
/** Seconds after which the record of a use is stored, or never will be. Longer than a write takes (`permitted`). */
export const youngFor = 120;
/** Seconds for which a mark keeps writes from naming a file. Longer than any cache of rows of files. */
export const markedFor = 600;
/** Seconds after a mark until which a file may be condemned. */
export const decidedWithin = 300;
