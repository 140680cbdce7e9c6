import { requirePlatform } from '#process/lifecycle/require-platform.ts';

/** The dashboard as a process of its own. */
requirePlatform();
const { runProcess } = await import('#process/lifecycle/run-process.ts');
await runProcess(async () => [(await import('./console-service.ts')).consoleService]);
