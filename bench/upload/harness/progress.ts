/** Reports progress on standard error; standard output is only for the table. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
