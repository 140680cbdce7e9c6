import type { Collector } from './collector.ts';
import type { LiveCounts } from './messages.ts';

/** A start this much later than the schedule is worth a word, in milliseconds. */
const lateStart = 20;
/** And in this share of the seconds. */
const lateShare = 0.02;

/** What a reader must know before trusting the figures. */
export function warningsOf(collector: Collector, inFlight: number): string[] {
  const { windows, busySeconds, waited } = collector;
  const warnings: string[] = [];
  const of = (count: number): string => `${count} of ${windows.length} seconds`;
  if (busySeconds > 0)
    warnings.push(
      `The tool was the bottleneck in ${of(busySeconds)}: a thread worked more than 80 % of the time. Latencies are its own too.`,
    );
  const late = windows.filter((window) => window.late > lateStart);
  if (late.length > windows.length * lateShare)
    warnings.push(
      `Requests started more than ${lateStart} ms after their time in ${of(late.length)}: at most ${Math.round(Math.max(...late.map((window) => window.late)))} ms. The machine of the tool is too busy.`,
    );
  if (waited > 0)
    warnings.push(
      `Requests waited because ${inFlight} were under way already. Their latency counts from the intended start.`,
    );
  return warnings;
}

/** What to know of streams that did not stay open. */
export function streamWarnings({ ends }: LiveCounts): string[] {
  const reasons = Object.entries(ends).map(([reason, count]) => `${reason} (${count})`);
  return reasons.length === 0
    ? []
    : [`Streams ended or were refused, and were opened again: ${reasons.join(', ')}.`];
}
