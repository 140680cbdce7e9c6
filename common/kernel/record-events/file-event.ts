/** What webhooks of a project's files may hear of. */
export const fileEventTypes = ['file.created', 'file.deleted', 'file.refused'] as const;
export type FileEventType = (typeof fileEventTypes)[number];

/** An address that hears of some events of a project's files. */
export interface FileWebhook {
  readonly url: string;
  readonly events: readonly FileEventType[];
}

/** What happened to a file, for one address. */
export interface FileEvent {
  readonly type: FileEventType;
  readonly ownerId: string;
  readonly projectId: string;
  /** Its slug. */
  readonly project: string;
  readonly url: string;
  /** Of the file. Calls about one name are made in their order. */
  readonly name: string;
  /** What the body has beside its head: the file, and why. JSON. */
  readonly about: Readonly<Record<string, unknown>>;
}

/** A listener for files. */
export interface FileEvents {
  /** Resolves when the event is durable. */
  publishFile(event: FileEvent): Promise<void>;
}
