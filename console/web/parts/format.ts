const units = ['kB', 'MB', 'GB', 'TB', 'PB'];

/** Powers of 1000, as the limits of the API are: 1.5 MB. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes;
  let unit = -1;
  // 999.95 would be shown as 1000.0
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** 2,000 */
export const formatNumber = new Intl.NumberFormat('en').format;
/** 1.2M */
export const formatCompact = new Intl.NumberFormat('en', {
  notation: 'compact',
  maximumFractionDigits: 1,
}).format;
const dates = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const times = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** 1 file, 2,000 files */
export function countOf(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** Nov 22, 2026 */
export function formatDate(date: string | Date): string {
  return dates.format(new Date(date));
}

/** Nov 22, 2026, 10:42:32 AM */
export function formatTime(date: string | Date): string {
  return times.format(new Date(date));
}

const spans = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;
const relative = new Intl.RelativeTimeFormat('en');

/** "3 hours ago", "in 2 days"; by the day when it is longer than a month. */
export function formatSince(date: string | Date, now = Date.now()): string {
  const seconds = Math.round((now - new Date(date).getTime()) / 1000);
  const distance = Math.abs(seconds);
  if (distance > 31 * 86_400) return formatDate(date);
  const [length, unit] = spans.find(([limit]) => distance >= limit) ?? [];
  if (length === undefined) return seconds < 0 ? 'in less than a minute' : 'just now';
  // what was made just now for seven days expires in seven days, not in six
  const count = seconds < 0 ? Math.trunc(distance / length + 0.05) : -Math.trunc(distance / length);
  return relative.format(count, unit);
}

/** The remaining time: "40 s", "3 min", "2 h". */
export function formatDuration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.ceil(seconds))} s`;
  if (seconds < 3_600) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 3_600)} h`;
}
