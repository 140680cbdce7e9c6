/** Ends a start that can't succeed: one sentence on standard error, exit status 1. */
export function failStart(error: unknown): never {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`sluice: ${text}\n`);
  process.exit(1);
}
