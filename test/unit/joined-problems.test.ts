import t from 'tap';
import { invalidValue } from '#kernel/errors/catalogue.ts';
import { renderError } from '#kernel/errors/render-error.ts';

const rendered = (problems: readonly string[]) =>
  JSON.parse(
    renderError(invalidValue(problems), { path: '/p/s', id: 'request', accept: undefined }).body,
  ) as {
    message: string;
    error: string[];
  };

t.test('message joins all problems, error lists them', async (t) => {
  t.match(rendered(['one', 'two']), { message: 'one; two', error: ['one', 'two'] });
  t.match(rendered(['one']), { message: 'one', error: ['one'] });
});

t.test('the message of very many problems is short', async (t) => {
  const { message, error } = rendered(new Array(1001).fill('x'.repeat(1000)));
  t.equal(error.length, 1001);
  t.ok(message.length < 5000);
  t.match(message, /; and 997 more$/);
  t.equal(rendered(['x'.repeat(5000)]).message.length, 5000);
});
