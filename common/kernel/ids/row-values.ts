/** One row of an INSERT as a JSONCompactEachRow line. Times are written as milliseconds since 1970. */
export function rowLine(values: readonly (string | number | null)[]): Uint8Array {
  return Buffer.from(`${JSON.stringify(values)}\n`);
}

/** A time for a DateTime64(3) column, as text: the column reads an unquoted number as whole seconds. */
export function timestampText(time: Date): string {
  return time.toISOString().replace('T', ' ').replace('Z', '');
}
