import { requirePlatform } from '#process/lifecycle/require-platform.ts';

/** The query service as a process of its own. */
requirePlatform();
const { runProcess } = await import('#process/lifecycle/run-process.ts');
await runProcess(async () => {
  const { openEvents } = await import('#events/open-events.ts');
  const { queryService } = await import('./query-service.ts');
  return [queryService(openEvents)];
});
