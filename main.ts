import { runProcess } from './common/lifecycle/run-process.ts';
import { gatewayService } from './gateway/gateway-service.ts';
import { queryService } from './query/query-service.ts';

/** Everything on one port, on the embedded stores. */
await runProcess([gatewayService, queryService]);
