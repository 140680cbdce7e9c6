import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { Route } from '#server/http/http-types.ts';
import type { ReadinessCheck } from '../process-routes/health-routes.ts';
import type { Commands } from './control-socket.ts';
import type { Examples } from './first-start-text.ts';
import type { Services } from './open-services.ts';
import type { RunningUploads } from './workers/running-uploads.ts';

/** A service as a process runs it: its routes, and the resources behind them. */
export interface Service {
  readonly routes: readonly Route[];
  readonly readiness: readonly ReadinessCheck[];
  /** Examples for the text of the first start. */
  readonly examples: Examples;
  /** Called once the process serves requests, in one worker of several. */
  started?(): void;
  /** Called when the process is about to end its requests: those that last send their clients elsewhere. */
  draining?(): void;
  /** The commands for its operator while it runs. */
  readonly commands?: Commands;
  close(): Promise<void>;
}

/** The base of a service: the stores, and facts about the process. */
export interface ProcessServices extends Services {
  readonly uploads: RunningUploads;
  readonly metrics: Metrics;
}

/** Makes a service on the stores that a process opened. @param baseUrl of the process, without trailing slash */
export type ServiceFactory = (services: ProcessServices, baseUrl: () => string) => Promise<Service>;
