import { requirePlatform } from '../common/lifecycle/require-platform.ts';

/** The query service as a process of its own. */
requirePlatform();
const { runProcess } = await import('../common/lifecycle/run-process.ts');
const { openEvents } = await import('../events/open-events.ts');
const { queryService } = await import('./query-service.ts');
await runProcess([queryService(openEvents)]);
