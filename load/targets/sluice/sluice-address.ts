import type { MixSpace } from '../../mix/mix.ts';
import type { TargetAddress } from '../target.ts';

/** Marks the spaces of this tool, so that it never empties a space of somebody else. */
export const spaceDescription = 'made by sluice load';

/** Where a load goes on a Sluice, and what all its requests begin with. */
export interface SluiceAddress {
  readonly url: URL;
  readonly project: string;
  /** Path of the server, without a slash at its end. */
  readonly base: string;
  readonly token: string;
  /** The field lines `host` and `authorization`. */
  readonly lines: string;
}

/** Throws a sentence when the token is missing. */
export function sluiceAddress({ url: text, credential, options }: TargetAddress): SluiceAddress {
  if (credential === null) throw new Error('the target needs an access token: --token, or SLUICE_TOKEN');
  const url = new URL(text);
  return {
    url,
    project: options.project ?? 'load',
    base: url.pathname.replace(/\/$/, ''),
    token: credential,
    lines: `host: ${url.host}\r\nauthorization: Bearer ${credential}\r\n`,
  };
}

/** The structure of a space as the header `structure` says it. */
export function structureOf(project: string, { name, fields }: MixSpace): string {
  return JSON.stringify({
    name,
    description: spaceDescription,
    projectSlug: project,
    slug: name,
    recordStructure: fields.map((field) => ({
      name: field.name,
      slug: field.name,
      type: field.type,
      unique: field.unique,
      required: false,
      hashed: false,
      description: '',
      comment: '',
    })),
  });
}
