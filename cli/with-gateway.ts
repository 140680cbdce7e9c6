import { openEvents } from '#events/open-events.ts';
import { gatewayService } from '#gateway/gateway-service.ts';
import { createMetrics } from '#kernel/telemetry/create-metrics.ts';
import type { ProcessServices, Service } from '#process/lifecycle/service.ts';
import { createRunningUploads } from '#process/lifecycle/workers/running-uploads.ts';

/** Opens a gateway that takes no requests, for a command while no server runs. */
export async function withGateway(
  services: Omit<ProcessServices, 'uploads' | 'metrics'>,
  work: (gateway: Service) => Promise<string> | undefined,
): Promise<string> {
  const open = gatewayService((process) => openEvents(process, { mails: false, starts: false }));
  const gateway = await open(
    { ...services, uploads: createRunningUploads(), metrics: createMetrics({ worker: 1 }) },
    () => services.config.publicUrl ?? '',
  );
  try {
    return (await work(gateway)) ?? '';
  } finally {
    await gateway.close();
  }
}
