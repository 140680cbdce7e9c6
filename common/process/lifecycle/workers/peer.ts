/** One end of the channel between the supervisor and a worker. Few calls are pending: /metrics makes one at a time. */
export interface Peer {
  /** Rejects when the other end fails, is gone, or does not respond within `timeout` ms. */
  ask(name: string, timeout: number): Promise<unknown>;
  /** The handlers of calls, by name. */
  on(name: string, answer: () => unknown): void;
}

interface Answer {
  readonly content?: unknown;
  /** The error, if there is no answer. */
  readonly failure?: string;
}

/** A message of the channel, as JSON. */
type Message = { readonly id: number; readonly name: string } | ({ readonly answerTo: number } & Answer);

/** The interface that `process` and a forked child share. */
export interface Channel {
  readonly connected?: boolean;
  send?(
    message: unknown,
    handle: undefined,
    options: undefined,
    sent: (error: Error | null) => void,
  ): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
}

export function createPeer(channel: Channel): Peer {
  const answers = new Map<string, () => unknown>();
  const questions = new Map<number, (answer: Answer) => void>();
  let lastId = 0;

  const send = (message: Message, failed: (error: Error) => void): void => {
    if (channel.connected !== true) failed(new Error('the other process is gone'));
    else channel.send?.(message, undefined, undefined, (error) => error !== null && failed(error));
  };
  const answer = async (name: string): Promise<unknown> => {
    const known = answers.get(name);
    if (known === undefined) throw new Error(`this process does not know ${name}`);
    return known();
  };

  channel.on('message', (received) => {
    const message = received as Message;
    if ('answerTo' in message) {
      questions.get(message.answerTo)?.(message);
      return;
    }
    // if the answer gets lost, the caller has a deadline
    const reply = (answer: Answer): void => send({ answerTo: message.id, ...answer }, () => {});
    answer(message.name).then(
      (content) => reply({ content }),
      (error: unknown) => reply({ failure: error instanceof Error ? error.message : String(error) }),
    );
  });

  return {
    async ask(name, timeout) {
      const id = ++lastId;
      let timer: NodeJS.Timeout | undefined;
      try {
        return await new Promise((resolve, reject) => {
          const fail = (reason: string): void => reject(new Error(`${name}: ${reason}`));
          timer = setTimeout(() => fail(`no answer within ${timeout} ms`), timeout);
          questions.set(id, ({ content, failure }) =>
            failure === undefined ? resolve(content) : fail(failure),
          );
          send({ id, name }, ({ message }) => fail(message));
        });
      } finally {
        clearTimeout(timer);
        questions.delete(id);
      }
    },
    on: (name, act) => void answers.set(name, act),
  };
}
