/** Says on standard error what is being done; standard output is for the table alone. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
