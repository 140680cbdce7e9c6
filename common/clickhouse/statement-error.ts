/** The engine refused a statement, or failed at it: what it was to write is not there. */
export class StatementError extends Error {
  /** The engine's number for what went wrong: https://clickhouse.com/docs/operations/system-tables/errors */
  readonly engineCode: number;

  constructor(engineCode: number, message: string) {
    super(message);
    this.name = 'StatementError';
    this.engineCode = engineCode;
  }
}
