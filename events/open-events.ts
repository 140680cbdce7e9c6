import { sharedPace } from '#engine/shared-pace.ts';
import type { Mails } from '#kernel/record-events/mail.ts';
import type { RecordEvents } from '#kernel/record-events/record-event.ts';
import type { ProcessServices, Service } from '#process/lifecycle/service.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { Webhooks } from './webhooks.ts';

/** Bytes of contents that an account may have pending; less if its quota of records is smaller. */
const contentShare = 256 * 1024 ** 2;

/** Opens the events of a process on its stores, and starts to send deliveries that an earlier process left. */
export async function openEvents(
  services: ProcessServices,
): Promise<RecordEvents & Mails & Pick<Service, 'routes' | 'close'>> {
  const { config, authenticate } = services;
  const { maxStoredRecordBytes: limit, smtpUrl: url, mailFrom: from = '' } = config;
  // the embedded engine serves one process
  const singleWriter = config.clickhouse === undefined;
  const webhooks = new Webhooks({
    ...services,
    singleWriter,
    isClosed: (account) => services.closed.has(account),
    contentShare: limit === 0 ? contentShare : Math.min(contentShare, limit),
    allowed: config.webhookPrivateNetworks,
    smtp: url === undefined ? undefined : { url, from },
    pace: singleWriter ? undefined : sharedPace(services, 'webhook_calls'),
  });
  services.removals.add('webhooks', (account, signal) => webhooks.removeAll(account, signal));
  await webhooks.start();
  return {
    routes: webhookRoutes({ webhooks, authenticate }),
    publish: (event) => webhooks.publish(event),
    hasSmtp: webhooks.hasSmtp,
    promise: (mail) => webhooks.promise(mail),
    makeMails: (make, admit) => webhooks.makeMails(make, admit),
    close: () => webhooks.close(),
  };
}
