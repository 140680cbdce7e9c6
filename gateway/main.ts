import { requirePlatform } from '#process/lifecycle/require-platform.ts';

/** The upload gateway as a process of its own. */
requirePlatform();
const { runProcess } = await import('#process/lifecycle/run-process.ts');
await runProcess(async () => {
  const { openEvents } = await import('#events/open-events.ts');
  const { gatewayService } = await import('./gateway-service.ts');
  return [gatewayService((services) => openEvents(services, { mails: false }))];
});
