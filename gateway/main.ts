import { runProcess } from '../common/lifecycle/run-process.ts';
import { gatewayService } from './gateway-service.ts';

/** The upload gateway as a process of its own. */
await runProcess([gatewayService]);
