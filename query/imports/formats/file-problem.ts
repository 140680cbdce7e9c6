/** A problem of a file after which none of its records can be read. */
export class FileProblem extends Error {
  /** From 1; null: the problem has no line. */
  readonly line: number | null;

  /** @param message a clause about the file, such as "it is encrypted" */
  constructor(line: number | null, message: string) {
    super(message);
    this.line = line;
  }
}
