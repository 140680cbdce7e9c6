import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { formContentType } from '#load/files/upload-form.ts';
import type { Target } from './send-upload.ts';

/** The part of autocannon's JSON that is used. */
export interface AutocannonResult {
  /** Seconds. */
  readonly duration: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly non2xx: number;
  readonly '2xx': number;
  readonly latency: { readonly p50: number; readonly p99: number };
}

/** The path of autocannon; null: it is not installed. */
export function findAutocannon(): string | null {
  try {
    return createRequire(import.meta.url).resolve('autocannon');
  } catch {
    return null;
  }
}

/** Sends the body of a file repeatedly over keep-alive connections, from a separate process. */
export async function runAutocannon(args: {
  readonly autocannon: string;
  readonly target: Target;
  readonly bodyFile: string;
  readonly connections: number;
  readonly seconds: number;
}): Promise<AutocannonResult> {
  const { target, connections, seconds } = args;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      args.autocannon,
      '--connections',
      String(connections),
      '--duration',
      String(seconds),
      '--method',
      'POST',
      '--headers',
      `content-type: ${formContentType}`,
      '--headers',
      `authorization: Bearer ${target.token}`,
      '--input',
      args.bodyFile,
      '--json',
      '--no-progress',
      `${target.baseUrl}${target.path}`,
    ],
    { maxBuffer: 16 * 1024 ** 2, timeout: (seconds + 60) * 1000 },
  );
  return JSON.parse(stdout) as AutocannonResult;
}
