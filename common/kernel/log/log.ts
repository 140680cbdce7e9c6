import { isatty } from 'node:tty';
import { destination, type LevelWithSilent, type Logger, pino } from 'pino';
import { createRedaction } from './redact.ts';
import { terminalLine } from './terminal-line.ts';

/** The log, on standard error. No line ever holds a token, a body or a header. */
export type Log = Pick<Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'isLevelEnabled'>;

export interface LogOptions {
  /** Fields of every line. */
  readonly facts?: Readonly<Record<string, unknown>>;
  /** Texts that no line may hold. */
  readonly secrets?: readonly string[];
  /** Absent: standard error. */
  readonly output?: { readonly write: (text: string) => void; readonly terminal: boolean };
}

/** Writes JSON lines, or readable lines on a terminal. */
export function createLog(
  level: LevelWithSilent,
  { facts = {}, secrets = [], output }: LogOptions = {},
): Log {
  const redacted = createRedaction(secrets);
  const terminal = output?.terminal ?? isatty(2);
  const stream = output ?? destination({ fd: 2, sync: true });
  const colours = terminal && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb';
  return pino(
    { level, base: { pid: process.pid, ...facts } },
    {
      write(line: string) {
        const clean = redacted(line);
        stream.write(terminal ? terminalLine(clean, { colours }) : clean);
      },
    },
  );
}
