import { address } from '../address.ts';
import { callJson } from '../api.ts';
import { Problem } from '../problem.ts';

/** The records that each operation may be applied to. */
export type Reach = Readonly<Record<string, 'all' | 'none' | { readonly where: string }>>;

export interface StoredRules {
  /** Null: no rules. */
  readonly rules: object | null;
  readonly warnings: readonly string[];
  readonly stranger: Reach;
  readonly user: Reach;
}

export interface RuleTrial {
  /** Null: a new record. */
  readonly id: string | null;
  readonly allowed: boolean;
  readonly why: readonly string[];
  /** As the user would see it. */
  readonly record: object | null;
}

function rulesOf(project: string, space: string): string {
  return address`/_projects_/${project}/spaces/${space}/rules`;
}

export function getRules(project: string, space: string, signal: AbortSignal): Promise<StoredRules> {
  return callJson(rulesOf(project, space), { signal });
}

/** @param rules null: remove the rules */
export function setRules(
  project: string,
  space: string,
  rules: unknown,
  signal: AbortSignal,
): Promise<StoredRules> {
  return callJson(rulesOf(project, space), { method: 'PUT', json: rules, signal });
}

export function tryRules(
  project: string,
  space: string,
  trial: object,
  signal: AbortSignal,
): Promise<{ readonly records: readonly RuleTrial[] }> {
  return callJson(`${rulesOf(project, space)}/try`, { method: 'POST', json: trial, signal });
}

/**
 * The id of a user. Throws a Problem unless exactly one has the value.
 * @param text an id, or a field and its value: `name=ada`
 */
export async function findUser(
  { project, users = 'users' }: { readonly project: string; readonly users?: string | undefined },
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const [, field, value] = /^([^=]+?)\s*=\s*(.*)$/s.exec(text) ?? [];
  if (field === undefined || value === undefined) return text;
  const headers = { 'use-pre-stored-structure': 'true', 'auto-create-record-space': 'false' };
  const query = { [field]: value, $limit: 2, $select: 'id' };
  const path = address`/${project}/${users}`;
  const [user, other] = await callJson<readonly { readonly id: string }[]>(path, { headers, query, signal });
  if (user === undefined) throw new Problem(`No user has ${text}.`);
  if (other !== undefined) throw new Problem(`Several users have ${text}. Write the id of one.`);
  return user.id;
}
