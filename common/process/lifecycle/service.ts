import type { Metrics } from '#kernel/telemetry/create-metrics.ts';
import type { Route } from '#server/http/http-types.ts';
import type { ReadinessCheck } from '../process-routes/health-routes.ts';
import type { Commands } from './control-socket.ts';
import type { Examples } from './first-start-text.ts';
import type { Services } from './open-services.ts';
import type { RunningUploads } from './workers/running-uploads.ts';

/** A service of a process: its routes, and the resources behind them. */
export interface Service {
  readonly routes: readonly Route[];
  readonly readiness: readonly ReadinessCheck[];
  /** Examples for the text of the first start. */
  readonly examples: Examples;
  /** Called once the process serves requests, in only one of several workers. */
  started?(): void;
  /** Called at the start of the drain, so that long requests can send their clients to another process. */
  draining?(): void;
  /** Commands for operators while it runs. */
  readonly commands?: Commands;
  close(): Promise<void>;
}

/** What a service is built on: the stores, and facts about the process. */
export interface ProcessServices extends Services {
  readonly uploads: RunningUploads;
  readonly metrics: Metrics;
}

/** Creates a service on the stores of a process. @param baseUrl of the process, without trailing slash */
export type ServiceFactory = (services: ProcessServices, baseUrl: () => string) => Promise<Service>;
