import { callJson } from '../api.ts';
import type { UsageDay } from './series.ts';

/** @param from the first day, YYYY-MM-DD; `to` the last one */
export async function loadUsage(from: string, to: string, signal: AbortSignal): Promise<readonly UsageDay[]> {
  const { days } = await callJson<{ days: UsageDay[] }>('/_usage_', { query: { from, to }, signal });
  return days;
}
