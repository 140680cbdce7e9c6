import { destination, type Logger, pino } from 'pino';
import type { LogLevel } from '../config/read-config.ts';

/** JSON lines on standard error. No token, body or header is ever put into one. */
export type Log = Pick<Logger, 'fatal' | 'error' | 'warn' | 'info' | 'debug'>;

export function createLog(level: LogLevel): Log {
  return pino({ level, base: { pid: process.pid } }, destination({ fd: 2, sync: true }));
}
