import type { RunResult, Window } from '../run/result.ts';

/** A result that `--json` wrote. @param name of the file, for errors. Throws a sentence when it is something else */
export function readResult(text: string, name: string): RunResult {
  let result: Partial<RunResult> | null;
  try {
    result = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON, and so not a result of sluice load`);
  }
  const version: unknown = result?.version;
  if (typeof version === 'number' && version !== 1)
    throw new Error(`${name} is a result of another version of sluice load: ${version}`);
  const { mix, target, phases, windows, warnings } = result ?? {};
  const lists = [phases, windows, warnings].every(Array.isArray);
  if (
    version !== 1 ||
    !lists ||
    typeof mix !== 'object' ||
    typeof target !== 'object' ||
    !windows?.every(isWindow)
  )
    throw new Error(`${name} is not a result of sluice load`);
  return result as RunResult;
}

function isWindow(window: Partial<Window> | null): boolean {
  const { phase, good, failed } = window ?? {};
  return typeof phase === 'string' && Number.isFinite(good) && Number.isFinite(failed);
}
