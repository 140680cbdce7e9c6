import type { LiveResult } from '../run/result.ts';
import { formatCount, formatTime } from './format.ts';

/** What came of the streams of a run. */
export function describeLive({ streams, events, lost, delay }: LiveResult): string {
  const changes = `${formatCount(streams)} streams were open. ${formatCount(events)} changes came, and ${formatCount(lost)} did not.`;
  if (delay === null) return changes;
  const [half, most, longest] = [delay.p50, delay.p99, delay.max].map(formatTime);
  return `${changes} From the answer of a write to its event: p50 ${half}, p99 ${most}, max ${longest}.`;
}
