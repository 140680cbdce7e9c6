/** A problem of a whole file: no record behind it can be read. */
export class FileProblem extends Error {
  /** From 1; null: not of a line. */
  readonly line: number | null;

  /** @param message the rest of a sentence about the file */
  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}
