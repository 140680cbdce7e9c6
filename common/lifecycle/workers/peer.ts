import { CommandError } from '../../errors/command-error.ts';

/** Longest list of questions that may wait for their answers. */
const mostQuestions = 1000;

/** The one end of the channel between the supervisor and a worker. Messages arrive in order, or not at all. */
export interface Peer {
  /**
   * Sends a message that has no answer.
   * @param sent called when it has left this process, or never will
   */
  tell(name: string, content: unknown, sent?: () => void): void;
  /** Rejects when the other end refuses, is gone, or does not answer within `timeout` ms. */
  ask(name: string, content: unknown, timeout: number): Promise<unknown>;
  /** What is done about messages of a name. */
  on(name: string, hear: (content: never) => void): void;
  /** What is answered to questions of a name. */
  answer(name: string, reply: (content: never) => Promise<unknown>): void;
  /** The other end is gone: fails all questions. */
  close(): void;
}

/** What goes over the channel, as JSON. */
type Message =
  | { readonly type: 'tell'; readonly name: string; readonly content: unknown }
  | { readonly type: 'ask'; readonly id: number; readonly name: string; readonly content: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly content: unknown }
  | { readonly type: 'refusal'; readonly id: number; readonly text: string; readonly command: boolean };

/** What `process` and a forked child have in common. */
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

interface Question {
  readonly timer: NodeJS.Timeout;
  resolve(content: unknown): void;
  reject(error: Error): void;
}

export function createPeer(channel: Channel): Peer {
  const listeners = new Map<string, (content: never) => void>();
  const repliers = new Map<string, (content: never) => Promise<unknown>>();
  const questions = new Map<number, Question>();
  let lastId = 0;
  let closed = false;

  const send = (message: Message, sent: (error: Error | null) => void): void => {
    if (closed || channel.connected !== true) sent(new Error('the other process is gone'));
    else channel.send?.(message, undefined, undefined, sent);
  };
  // a wait for an answer to what did not get through has a deadline
  const ignore = (): void => {};

  const replyTo = async ({ id, name, content }: Message & { type: 'ask' }): Promise<void> => {
    try {
      const reply = repliers.get(name);
      if (reply === undefined) throw new Error(`this process does not know ${name}`);
      send({ type: 'answer', id, content: await reply(content as never) }, ignore);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      send({ type: 'refusal', id, text, command: error instanceof CommandError }, ignore);
    }
  };
  const settle = (id: number, act: (question: Question) => void): void => {
    const question = questions.get(id);
    // its deadline has passed
    if (question === undefined) return;
    questions.delete(id);
    clearTimeout(question.timer);
    act(question);
  };

  channel.on('message', (received) => {
    const message = received as Message;
    if (message.type === 'tell') listeners.get(message.name)?.(message.content as never);
    else if (message.type === 'ask') void replyTo(message);
    else if (message.type === 'answer') settle(message.id, ({ resolve }) => resolve(message.content));
    else {
      const { text, command } = message;
      settle(message.id, ({ reject }) => reject(command ? new CommandError(text) : new Error(text)));
    }
  });

  return {
    tell(name, content, sent) {
      send({ type: 'tell', name, content }, sent ?? ignore);
    },
    ask(name, content, timeout) {
      if (questions.size >= mostQuestions) return Promise.reject(new Error('too many questions are open'));
      const id = ++lastId;
      return new Promise((resolve, reject) => {
        const fail = (reason: string): void => settle(id, () => reject(new Error(`${name}: ${reason}`)));
        const timer = setTimeout(() => fail(`no answer within ${timeout} ms`), timeout);
        questions.set(id, { timer, resolve, reject });
        send({ type: 'ask', id, name, content }, (error) => {
          if (error !== null) fail(error.message);
        });
      });
    },
    on: (name, hear) => void listeners.set(name, hear),
    answer: (name, reply) => void repliers.set(name, reply),
    close() {
      closed = true;
      for (const id of [...questions.keys()]) {
        settle(id, ({ reject }) => reject(new Error('the other process is gone')));
      }
    },
  };
}
