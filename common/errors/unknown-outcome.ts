/**
 * The connection to the engine broke while it had a statement that writes. Whether that was carried out has to be
 * looked up, and doing it again may do it twice.
 */
export class UnknownOutcome extends Error {
  constructor(cause: unknown) {
    super('the connection to the database broke: the statement may or may not have been carried out', {
      cause,
    });
    this.name = 'UnknownOutcome';
  }
}
