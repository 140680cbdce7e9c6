import { destination, type Logger, pino } from 'pino';
import type { LogLevel } from '../config/read-config.ts';

/** JSON lines on standard error. No token, body or header is ever put into one. */
export type Log = Pick<Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug'>;

/** @param facts that stand in every line */
export function createLog(level: LogLevel, facts: Readonly<Record<string, unknown>> = {}): Log {
  return pino({ level, base: { pid: process.pid, ...facts } }, destination({ fd: 2, sync: true }));
}
