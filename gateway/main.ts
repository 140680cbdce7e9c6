import { requirePlatform } from '#process/lifecycle/require-platform.ts';

/** The upload gateway as a process of its own. */
requirePlatform();
const { runProcess } = await import('#process/lifecycle/run-process.ts');
await runProcess(async () => [(await import('./gateway-service.ts')).gatewayService]);
