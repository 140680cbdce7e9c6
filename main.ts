import { requirePlatform } from '#process/lifecycle/require-platform.ts';

/** Runs all services on one port. */
requirePlatform();
const { runProcess } = await import('#process/lifecycle/run-process.ts');
await runProcess(async () => {
  const [{ gatewayService }, { sharedEvents }, { queryService }, { consoleService }] = await Promise.all([
    import('#gateway/gateway-service.ts'),
    import('#events/open-events.ts'),
    import('#query/query-service.ts'),
    import('#console/console-service.ts'),
  ]);
  const openEvents = sharedEvents();
  return [gatewayService(openEvents), queryService(openEvents), consoleService];
});
