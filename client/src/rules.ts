import type { Abortable } from './ask.ts';
import { type Client, json, send } from './client.ts';
import type { Space } from './space.ts';

/** Who may do something: everybody, nobody, or with which records or files. Values may be `$user.id` and other variables. */
export type Rule = boolean | object;

/** The rules of a record space (docs/security.md, "Rules"). */
export interface SpaceRules {
  /** The slug of the space of the users; by default `users`. */
  readonly users?: string;
  readonly find?: Rule;
  readonly insert?: Rule;
  readonly update?: Rule;
  readonly delete?: Rule;
  /** Values of new records. */
  readonly set?: Readonly<Record<string, unknown>>;
  readonly readonly?: readonly string[];
  readonly hidden?: readonly string[];
}

/** The rules of a project's files (docs/security.md, "Rules of files"). */
export interface FileRules {
  readonly users?: string;
  readonly upload?: Rule;
  readonly read?: Rule;
  readonly list?: Rule;
  readonly delete?: Rule;
  /** Most bytes of an upload. */
  readonly maxBytes?: number;
  /** Types of uploads, such as `image/png`, or `image/` for all images. */
  readonly types?: readonly string[];
  /** Addresses that are called for files (docs/api.md, "Webhooks of files"). Without `events`: for all three. */
  readonly webhooks?: readonly {
    readonly url: string;
    readonly events?: readonly ('file.created' | 'file.deleted' | 'file.refused')[];
  }[];
}

/** Rules as they are stored, and what they let people do. */
export interface StoredRules<Rules> {
  /** null: none, so publishable tokens reach nothing. */
  readonly rules: Rules | null;
  readonly warnings: readonly string[];
  readonly stranger: Readonly<Record<string, unknown>>;
  readonly user: Readonly<Record<string, unknown>>;
}

type RulesOf<Of extends Space | 'files'> = Of extends 'files' ? FileRules : SpaceRules;

/** Sets the rules of a record space, or of the files of the project. null removes them. Not with a publishable token. */
export function setRules<Of extends Space | 'files'>(
  client: Client,
  of: Of,
  rules: RulesOf<Of> | null,
  { signal }: Abortable = {},
): Promise<StoredRules<RulesOf<Of>>> {
  return send(
    client,
    { method: 'PUT', path: pathTo(client, of), body: rules, signal, repeatable: true },
    json<StoredRules<RulesOf<Of>>>,
  );
}

export function getRules<Of extends Space | 'files'>(
  client: Client,
  of: Of,
  { signal }: Abortable = {},
): Promise<StoredRules<RulesOf<Of>>> {
  return send(
    client,
    { method: 'GET', path: pathTo(client, of), signal, repeatable: true },
    json<StoredRules<RulesOf<Of>>>,
  );
}

function pathTo({ project }: Client, of: Space | 'files'): string {
  const place = of === 'files' ? of : `spaces/${encodeURIComponent(of.slug)}`;
  return `/_projects_/${encodeURIComponent(project)}/${place}/rules`;
}
