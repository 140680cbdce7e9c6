import { type Grants, inSpace, lackOf } from '#kernel/grants.ts';
import { address } from '../address.ts';

export interface FirstCommand {
  /** What it does. */
  readonly hint: string;
  /** For a terminal; it needs no file. */
  readonly command: string;
}

/** A command that a new token may do; null: none without knowing more than its grants. */
export function firstCommand(token: string, grants: Grants, base: string): FirstCommand | null {
  // it only works with the origin of its pages
  if (grants.publishable) return null;
  const project = grants.projects?.[0] ?? 'demo';
  const [space] = grants.spaces ?? [];
  const curl = `curl -H 'Authorization: Bearer ${token}'`;
  const files = base + address`/_f_/${project}`;
  const mayUse = (grant: 'files:read' | 'files:write'): boolean =>
    lackOf(grants, { grant, touches: 'beside spaces' }, { project }) === null;
  if (mayUse('files:write'))
    return {
      hint: `Uploads a small file to the project “${project}”, and creates the project if needed.`,
      command: `echo hello | ${curl} -F 'file=@-;filename=hello.txt' ${files}/upload`,
    };
  if (grants.projects && space !== undefined && lackOf(grants, inSpace('find'), { project, space }) === null)
    return {
      hint: `Reads a record of ${space} in the project “${project}”.`,
      command: `${curl} -H 'use-pre-stored-structure: true' '${base + address`/${project}/${space}`}?$limit=1'`,
    };
  if (mayUse('files:read'))
    return { hint: `Lists the files of the project “${project}”.`, command: `${curl} ${files}` };
  return null;
}
