import { shownName } from '#kernel/errors/shown-name.ts';
import { type FileEventType, type FileWebhook, fileEventTypes } from '#kernel/record-events/file-event.ts';
import { isHttpUrl, longestUrl } from '#records/structure/parse-structure.ts';
import { isObject } from '#records/types/is-object.ts';

/** Most addresses of a project's files. */
export const mostFileWebhooks = 5;

/**
 * Reads the `webhooks` of rules of files: `[{"url": "https://…", "events": ["file.created"]}]`. Without `events`, the
 * address hears of all. If it adds problems, the result must not be used.
 */
export function readFileWebhooks(input: unknown, problems: string[]): readonly FileWebhook[] {
  if (input === null) return [];
  if (!Array.isArray(input) || input.length > mostFileWebhooks) {
    problems.push(`webhooks should be an array of up to ${mostFileWebhooks} objects with a url`);
    return [];
  }
  const webhooks = input.map((one: unknown) => readOne(one, problems));
  if (new Set(webhooks.map(({ url }) => url)).size < webhooks.length)
    problems.push('webhooks should name each url once');
  return webhooks;
}

function readOne(input: unknown, problems: string[]): FileWebhook {
  const { url, events = fileEventTypes, ...others } = isObject(input) ? input : {};
  for (const key of Object.keys(others))
    problems.push(`webhooks have no ${shownName(key)}, only url and events`);
  if (typeof url !== 'string' || !isHttpUrl(url))
    problems.push(
      `webhooks should have a url each: an http or https address of up to ${longestUrl} characters`,
    );
  if (!areEvents(events))
    problems.push(`events of webhooks should be an array of some of ${fileEventTypes.join(', ')}`);
  return { url: String(url), events: events as readonly FileEventType[] };
}

function areEvents(events: unknown): boolean {
  if (!Array.isArray(events) || events.length === 0) return false;
  return events.every((event) => (fileEventTypes as readonly unknown[]).includes(event));
}
