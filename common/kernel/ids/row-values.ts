/** One row of an INSERT as a JSONCompactEachRow line. Times are written as milliseconds since 1970. */
export function rowLine(values: readonly (string | number | null)[]): Uint8Array {
  return Buffer.from(`${JSON.stringify(values)}\n`);
}

/** Renders a time for a DateTime64(3) column. Unquoted numbers are read as whole seconds there, text is not. */
export function timestampText(time: Date): string {
  return time.toISOString().replace('T', ' ').replace('Z', '');
}
