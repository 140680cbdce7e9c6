/** The engine refused a statement, or failed at it: nothing was written. */
export class StatementError extends Error {
  /** The engine's number of the error: https://clickhouse.com/docs/operations/system-tables/errors */
  readonly engineCode: number;

  constructor(engineCode: number, message: string) {
    super(message);
    this.name = 'StatementError';
    this.engineCode = engineCode;
  }
}
