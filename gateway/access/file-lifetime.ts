import { invalidOptions } from '#kernel/errors/catalogue.ts';
import type { SentProperties } from '../files/sent-properties.ts';

type Lifetime = Pick<SentProperties, 'expiresIn'>;

/**
 * The longest that a new file may stay: by the configuration, the rules that bind its sender, and its link.
 * @param limits seconds; absent, null or 0: none @returns seconds; undefined: it may stay for good
 */
export function shortestOf(...limits: readonly (number | null | undefined)[]): number | undefined {
  const given = limits.filter((limit) => (limit ?? 0) > 0) as number[];
  return given.length === 0 ? undefined : Math.min(...given);
}

/** What a client says of a new file, which stays no longer than it may. Throws 400 if it should. */
export function withLifetime<Sent extends Lifetime>(
  { longestLifetime }: { readonly longestLifetime: number | undefined },
  sent: Sent,
): Sent {
  if (longestLifetime === undefined) return sent;
  const { expiresIn = longestLifetime } = sent;
  if (expiresIn > longestLifetime)
    throw invalidOptions([`expiresIn should be at most ${longestLifetime} here`]);
  return { ...sent, expiresIn };
}

/** The same of a copy, which stays as long as its original. Throws 400 for one that has expired. */
export function copyLifetime<Sent extends Lifetime>(
  { createdAt }: { readonly createdAt: Date },
  sent: Sent,
): Sent {
  const { expiresIn = Number.POSITIVE_INFINITY } = sent;
  if (createdAt.getTime() + expiresIn * 1000 <= Date.now())
    throw invalidOptions(['The file that is copied has expired']);
  return sent;
}
