import type { BucketReport } from './check-bucket.ts';
import { type Behaviour, behaviours, type Seen } from './probe-store.ts';

/** What Sluice does where the store does it, and where it does not. */
const consequences: Readonly<Record<Behaviour, readonly [good: string, bad: string]>> = {
  altered: ['addresses hold', 'UNSAFE: anybody can write anywhere in this bucket'],
  expired: ['addresses end', 'UNSAFE: an address can be used for ever'],
  omitted: ['types and names are as planned', 'a client may leave out a type or a name'],
  length: ['sizes are as planned', 'sizes are compared at completion'],
  md5: ['a client’s MD5 is checked as it arrives', 'the ETag is compared at completion, if it is the MD5'],
  crc32c: ['a client’s CRC-32C is checked as it arrives', 'CRC-32C is not relied on'],
  overwrite: ['an address stores one object', 'an address can store again until it ends'],
  etag: ['a client’s MD5 is compared at completion', 'only ?verify=bytes compares the bytes'],
  whole: ['a client’s CRC-32C is compared at completion', 'only ?verify=bytes compares a CRC-32C'],
  partMd5: ['as for objects', 'as for objects'],
  partCrc32c: ['as for objects', 'as for objects'],
  partNumber: ['none is signed', 'none is signed'],
  partEtag: ['a part’s MD5 is compared at completion', 'only sizes of parts are compared'],
  listed: ['nothing relies on it', 'nothing relies on it'],
  completeOver: ['keys are random and used once', 'keys are random and used once'],
};

/** A store without these is not safe with addresses for clients. */
const required: readonly Behaviour[] = ['altered', 'expired'];

/** Whether the bucket has all that browsers and direct uploads need. */
export function isFit({ pages, probed, abort }: BucketReport): boolean {
  return (
    pages.every(({ problems }) => problems.length === 0) &&
    probed.refusal === null &&
    !abort.tooEarly &&
    probed.seen.every(({ behaviour, good }) => good || !required.includes(behaviour))
  );
}

/** The report for an operator. */
export function bucketText(
  report: BucketReport,
  { fix, fixCommand }: { fix: boolean; fixCommand: string },
): string {
  const lines = [
    `Bucket ${report.bucket} at ${report.origin}`,
    '',
    ...corsLines(report),
    '',
    ...abortLines(report),
    '',
  ];
  lines.push(...probeLines(report), '');
  if (isFit(report)) lines.push('All that browsers and direct uploads need is there.');
  else if (fix) lines.push('Something is missing that could not be set: see above.');
  else lines.push(`Something is missing: see above. ${fixCommand} sets what it can.`);
  return lines.join('\n');
}

function corsLines({ pages, cors }: BucketReport): string[] {
  const lines = pages.flatMap(({ origin, problems }) =>
    problems.length === 0
      ? [`CORS for ${origin}: ok${cors.wasSet ? ', set now' : ''}`]
      : [`CORS for ${origin}:`, ...problems.map((text) => `  ! ${text}`)],
  );
  if (pages.every(({ problems }) => problems.length === 0)) return lines;
  if (cors.wasSet)
    lines.push('  The rules are set, but the store, or a proxy before it, does not follow them yet.');
  if (cors.refusal !== null) lines.push(`  ${refusedText(cors.refusal)}`);
  else if (!cors.wasSet) lines.push('  It needs:');
  lines.push(`  ${JSON.stringify({ CORSRules: cors.needed })}`);
  return lines;
}

function refusedText(refusal: string): string {
  return refusal.startsWith('403')
    ? `This key may not set CORS (${refusal}). Set it with the key of an administrator:`
    : `The store has no requests for CORS (${refusal}). Set this in the settings of its server:`;
}

function abortLines({ abort, origin }: BucketReport): string[] {
  const { days, neededDays } = abort;
  const what = 'Rule that aborts incomplete uploads';
  if (days !== null && abort.tooEarly)
    return [
      `${what}: after ${days} days`,
      `  ! The server still serves them then: ${neededDays} days are enough.`,
    ];
  if (days !== null) {
    const obeyed = /\.amazonaws\.com(?:\.cn)?$/.test(origin)
      ? ''
      : '. Whether the store obeys it can’t be seen';
    return [`${what}: after ${days} days${abort.wasSet ? ', set now' : ''}${obeyed}.`];
  }
  if (abort.refusal !== null) return [`${what}: not possible (${abort.refusal}). The janitor aborts them.`];
  return [
    `${what}: none. The janitor aborts them, as long as a server runs; a rule of ${neededDays} days would, too.`,
  ];
}

function probeLines({ probed }: BucketReport): string[] {
  const { refusal, seen } = probed;
  if (refusal !== null)
    return [`! The store refuses a presigned PUT (${refusal}): direct uploads can’t work.`];
  const rows = seen.map((one) => [behaviours[one.behaviour], one.outcome, consequence(one)]);
  const table = [['behaviour', 'seen', 'so'], ...rows];
  const widths = [0, 1].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table.map((row) =>
    row
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function consequence({ behaviour, good }: Seen): string {
  return consequences[behaviour][good ? 0 : 1];
}
