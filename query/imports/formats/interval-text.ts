/** An ISO 8601 duration, such as `P1M2DT3.5S`. */
export function intervalText(months: number, days: number, seconds: number): string {
  const date = `${months === 0 ? '' : `${months}M`}${days === 0 ? '' : `${days}D`}`;
  return `P${date}${seconds !== 0 || date === '' ? `T${seconds}S` : ''}`;
}
