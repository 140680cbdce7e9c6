import { requirePlatform } from './common/lifecycle/require-platform.ts';

/** Everything on one port, on the embedded stores. */
requirePlatform();
const { runProcess } = await import('./common/lifecycle/run-process.ts');
const { gatewayService } = await import('./gateway/gateway-service.ts');
const { openEvents } = await import('./events/open-events.ts');
const { queryService } = await import('./query/query-service.ts');
const { consoleService } = await import('./console/console-service.ts');
await runProcess([gatewayService, queryService(openEvents), consoleService]);
