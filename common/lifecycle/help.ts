/** Prints how a command is used, and ends it, when its arguments ask for that. */
export function helpIfAsked(text: string, args: readonly string[] = process.argv.slice(2)): void {
  if (!args.includes('--help') && !args.includes('-h')) return;
  process.stdout.write(`${text.trim()}\n`);
  process.exit(0);
}
