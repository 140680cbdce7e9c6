import { runProcess } from '../common/lifecycle/run-process.ts';
import { queryService } from './query-service.ts';

/** The query service as a process of its own. */
await runProcess([queryService]);
