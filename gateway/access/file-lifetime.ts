import { invalidOptions } from '#kernel/errors/catalogue.ts';
import type { SentProperties } from '../files/sent-properties.ts';
import type { UploadGrant } from './upload-access.ts';

/**
 * The longest that a new file may stay: by the configuration, the rules that bind its sender, and its link.
 * @param limits seconds; absent, null or 0: none @returns seconds; undefined: it may stay for good
 */
export function shortestOf(...limits: readonly (number | null | undefined)[]): number | undefined {
  const given = limits.filter((limit) => (limit ?? 0) > 0) as number[];
  return given.length === 0 ? undefined : Math.min(...given);
}

/** What a client says of a new file, which stays no longer than the grant allows. Throws 400 if it should. */
export function withLifetime<Sent extends Pick<SentProperties, 'expiresIn'>>(
  { longestLifetime }: Pick<UploadGrant, 'longestLifetime'>,
  sent: Sent,
): Sent {
  if (longestLifetime === undefined) return sent;
  const { expiresIn = longestLifetime } = sent;
  if (expiresIn > longestLifetime)
    throw invalidOptions([`expiresIn should be at most ${longestLifetime} here`]);
  return { ...sent, expiresIn };
}
