import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AnswerCallContext, answerCall } from './answer-call.ts';
import { splitUrl } from './canonical-request.ts';
import { ConnectionGone } from './connection-gone.ts';
import type { FaultRules } from './fault-rules.ts';
import { type ReadCall, readCall } from './read-call.ts';
import type { RequestLog } from './request-log.ts';
import { S3Error, s3Error } from './s3-error.ts';
import { errorAnswer, sendAnswer } from './send-answer.ts';
import { strikeFaults } from './strike-faults.ts';

export interface HandlerContext extends AnswerCallContext {
  readonly faults: FaultRules;
  readonly log: RequestLog;
  newRequestId(): string;
}

/** One request from its head to its answer. Never rejects. */
export async function handleRequest(
  req: IncomingMessage,
  res: ServerResponse,
  context: HandlerContext,
): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  // who reads the body sees an abort as 'close'; node emits an error as well, which must have a listener
  req.on('error', () => {});
  res.on('error', () => {});
  const requestId = context.newRequestId();
  const resource = splitUrl(req.url ?? '/').path;
  let read: ReadCall | undefined;
  try {
    read = readCall(req, context);
    const { faults } = read;
    const exchange = {
      ...read,
      req,
      strike: (stage: Parameters<typeof strikeFaults>[1]) =>
        strikeFaults(faults, stage, { socket: req.socket, gone: gone.signal }),
    };
    const answer = await answerCall(exchange, context);
    read.finish(answer.status, null);
    await sendAnswer(res, answer, { requestId, faults });
  } catch (error) {
    await answerError(error).catch(() => res.destroy());
  }

  async function answerError(error: unknown): Promise<void> {
    if (error instanceof ConnectionGone || res.headersSent) {
      read?.finish(null, null);
      res.destroy();
      return;
    }
    const shown = error instanceof S3Error ? error : s3Error('InternalError', String(error));
    read?.finish(shown.status, shown.code);
    // the rest of the body is drained, so that the client surely reads the answer
    req.resume();
    const answer = errorAnswer(shown, { requestId, resource }, req.method === 'HEAD');
    await sendAnswer(res, answer, { requestId, faults: [] });
  }
}
