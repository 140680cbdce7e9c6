/** The engine's error as the HTTP interface tells it. */
export interface EngineError {
  readonly code: number;
  readonly status: number;
  readonly text: string;
}

const notFound = new Set([46, 47, 60, 81]);
const badRequest = new Set([6, 26, 27, 36, 38, 41, 43, 53, 62, 115, 117, 164, 395]);

export function engineError(error: unknown): EngineError {
  const message = error instanceof Error ? error.message : String(error);
  const code = Number(/\bCode: (\d+)/.exec(message)?.[1] ?? 1001);
  const text = /^Code: \d+/.test(message) ? message : `Code: ${code}. DB::Exception: ${message}`;
  return { code, status: statusOf(code), text: text.trim() };
}

function statusOf(code: number): number {
  if (code === 194) return 401;
  if (code === 516) return 403;
  if (notFound.has(code)) return 404;
  if (badRequest.has(code)) return 400;
  return code === 159 ? 408 : 500;
}
