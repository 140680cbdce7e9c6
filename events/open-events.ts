import type { ProcessServices, Service } from '../common/lifecycle/service.ts';
import type { RecordEvents } from '../common/record-events/record-event.ts';
import { webhookRoutes } from './webhook-routes.ts';
import { Webhooks } from './webhooks.ts';

/** Bytes of contents that an account may have waiting; less where it may not store so many bytes of records. */
const contentShare = 256 * 1024 ** 2;

/** Events on the stores of a process. Deliveries that were left are sent from now on. */
export async function openEvents(
  services: ProcessServices,
): Promise<RecordEvents & Pick<Service, 'routes' | 'close'>> {
  const { config, authenticate } = services;
  const { maxStoredRecordBytes: limit } = config;
  const webhooks = new Webhooks({
    ...services,
    // the embedded engine serves one process
    alone: config.clickhouse === undefined,
    contentShare: limit === 0 ? contentShare : Math.min(contentShare, limit),
    allowed: config.webhookPrivateNetworks,
  });
  await webhooks.start();
  return {
    routes: webhookRoutes({ webhooks, authenticate }),
    publish: (event) => webhooks.publish(event),
    close: () => webhooks.close(),
  };
}
