import { address } from '../address.ts';
import { callJson } from '../api.ts';
import { toProblem } from '../problem.ts';
import type { Reach, StoredRules } from '../projects/rules-api.ts';

interface FileTrial {
  /** Null: a new file. */
  readonly name: string | null;
  readonly allowed: boolean;
  readonly why: readonly string[];
}

/** What a user may do with a file, and why. */
export interface SeenFile {
  /** Null: a new file. */
  readonly name: string | null;
  /** By operation. */
  readonly allowed: Readonly<Record<string, boolean>>;
  readonly why: readonly string[];
}

export interface Viewer {
  /** Id; null: not logged in. */
  readonly user: string | null;
  /** Absent: the stored ones. */
  readonly rules?: unknown;
}

const nothing: Reach = { upload: 'none', read: 'none', list: 'none', delete: 'none' };

function rulesOf(project: string): string {
  return address`/_projects_/${project}/files/rules`;
}

/** A project that does not exist yet has no rules. */
export async function getFileRules(project: string, signal: AbortSignal): Promise<StoredRules> {
  try {
    return await callJson<StoredRules>(rulesOf(project), { signal });
  } catch (thrown) {
    if (toProblem(thrown).status !== 404) throw thrown;
    return { rules: null, warnings: [], stranger: nothing, user: nothing };
  }
}

/** @param rules null: remove the rules */
export function setFileRules(project: string, rules: unknown, signal: AbortSignal): Promise<StoredRules> {
  return callJson(rulesOf(project), { method: 'PUT', json: rules, signal });
}

/** The newest files, and whether a user would be shown them, could read them, and could delete them. */
export async function seeFiles(
  project: string,
  viewer: Viewer,
  signal: AbortSignal,
): Promise<readonly SeenFile[]> {
  const listed = await tryFiles(project, { ...viewer, operation: 'list' }, signal);
  // the same files, even if others are uploaded meanwhile
  const names = listed.map(({ name }) => name);
  const [read, deleted] = await Promise.all(
    ['read', 'delete'].map((operation) => tryFiles(project, { ...viewer, operation, names }, signal)),
  );
  return listed.map(({ name, allowed, why }, at) => {
    const [reading, deleting] = [read?.[at], deleted?.[at]];
    return {
      name,
      allowed: {
        list: allowed,
        read: reading?.allowed === true,
        delete: deleting?.allowed === true,
      },
      why: [...new Set([...why, ...(reading?.why ?? []), ...(deleting?.why ?? [])])],
    };
  });
}

export interface NewFile {
  readonly originalName: string;
  readonly contentType: string;
  readonly size: number;
}

/** Whether a user could upload a file. */
export async function seeUpload(
  project: string,
  viewer: Viewer & { readonly file: NewFile },
  signal: AbortSignal,
): Promise<readonly SeenFile[]> {
  const tried = await tryFiles(project, { ...viewer, operation: 'upload' }, signal);
  return tried.map(({ allowed, ...one }) => ({ ...one, allowed: { upload: allowed } }));
}

async function tryFiles(project: string, trial: object, signal: AbortSignal): Promise<readonly FileTrial[]> {
  const call = { method: 'POST', json: trial, signal };
  return (await callJson<{ readonly files: readonly FileTrial[] }>(`${rulesOf(project)}/try`, call)).files;
}
