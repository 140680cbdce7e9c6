import { sharedPace } from '#engine/shared-pace.ts';
import type { FileEvents } from '#kernel/record-events/file-event.ts';
import type { Mails } from '#kernel/record-events/mail.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { ProcessServices, Service } from '#process/lifecycle/service.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { Webhooks } from './webhooks.ts';

/** Bytes of contents that an account may have pending; less if its quota of records is smaller. */
const contentShare = 256 * 1024 ** 2;

type Events = RecordEvents & FileEvents & Mails & Pick<Service, 'routes' | 'close'>;

/**
 * Opens the events of a process on its stores, and starts to send deliveries that an earlier process left.
 * @param use.mails false: no service of the process makes mails, so that it sends none that others left
 * @param use.starts false: deliveries of others are left to the next process
 */
export async function openEvents(
  services: ProcessServices,
  { mails = true, starts = true }: { readonly mails?: boolean; readonly starts?: boolean } = {},
): Promise<Events> {
  const { config, authenticate } = services;
  const { maxStoredRecordBytes: limit, smtpUrl: url, mailFrom: from = '' } = config;
  // the embedded engine serves one process
  const singleWriter = config.clickhouse === undefined;
  const webhooks = new Webhooks({
    ...services,
    singleWriter,
    mails,
    isClosed: (account) => services.closed.has(account),
    contentShare: limit === 0 ? contentShare : Math.min(contentShare, limit),
    allowed: config.webhookPrivateNetworks,
    smtp: url === undefined ? undefined : { url, from },
    pace: singleWriter ? undefined : sharedPace(services, 'webhook_calls'),
  });
  services.removals.add('webhooks', (account, signal) => webhooks.removeAll(account, signal));
  if (starts) await webhooks.start();
  return {
    routes: webhookRoutes({ webhooks, authenticate }),
    publish: (event) => webhooks.publish(event),
    publishFile: (event) => webhooks.publishFile(event),
    hasSmtp: webhooks.hasSmtp,
    promise: (mail) => webhooks.promise(mail),
    makeMails: (make, admit) => webhooks.makeMails(make, admit),
    close: () => webhooks.close(),
  };
}

/** Opens the events of a process once for all of its services. They are closed with the last one. */
export function sharedEvents(): (services: ProcessServices) => Promise<Events> {
  let opening: Promise<Events> | undefined;
  let users = 0;
  return async (services) => {
    opening ??= openEvents(services);
    users++;
    const events = await opening;
    return {
      ...events,
      close: async () => {
        if (--users === 0) await events.close();
      },
    };
  };
}
