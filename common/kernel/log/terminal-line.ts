interface LogEntry {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly pid?: number;
  readonly err?: { readonly stack?: string; readonly message?: string };
  readonly [fact: string]: unknown;
}

/** pino's numbers. */
const levels: Readonly<Record<number, readonly [word: string, colour: number]>> = {
  20: ['DEBUG', 90],
  30: ['INFO', 32],
  40: ['WARN', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
};

/**
 * A log line for people: time, level, message, fields, and below them the stack of an error. Everything but plain
 * characters is escaped, so a client's text can't move the cursor.
 * @param line as pino writes it
 */
export function terminalLine(line: string, { colours }: { readonly colours: boolean }): string {
  const { level, time, msg = '', pid: _, err, ...facts } = JSON.parse(line) as LogEntry;
  const [word, colour] = levels[level] ?? ['TRACE', 90];
  const label = word.padEnd(5);
  const shown = Object.entries(facts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ` ${plain(name)}=${valueText(value)}`);
  const head = `${timeText(new Date(time))} ${colours ? `\x1b[${colour}m${label}\x1b[0m` : label}`;
  return `${head} ${plain(msg)}${shown.join('')}\n${errorText(err)}`;
}

function timeText(time: Date): string {
  const two = (value: number): string => `${value}`.padStart(2, '0');
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(':');
  return `${date} ${clock}.${`${time.getMilliseconds()}`.padStart(3, '0')}`;
}

function valueText(value: unknown): string {
  const bare = typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && !/["=\\]/.test(value);
  return bare ? value : plain(JSON.stringify(value));
}

function errorText(err: LogEntry['err']): string {
  const text = err?.stack ?? err?.message;
  if (text === undefined) return '';
  return `${text
    .split('\n')
    .map((line) => `    ${plain(line.trimEnd())}\n`)
    .join('')}`;
}

/** Escapes the characters that a terminal would obey. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    return `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  });
}
