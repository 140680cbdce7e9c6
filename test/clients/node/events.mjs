/** Follows a live find by eventsource of npm: node events.mjs URL. Prints each event as a line of JSON. */
import { EventSource } from 'eventsource';

const source = new EventSource(process.argv[2], {
  fetch: (url, init) =>
    fetch(url, {
      ...init,
      headers: {
        ...init.headers,
        authorization: `Bearer ${process.env.TOKEN}`,
        'use-pre-stored-structure': 'true',
      },
    }),
});
const show = ({ type, lastEventId, data }) =>
  console.log(JSON.stringify({ event: type, id: lastEventId, data }));
for (const name of ['message', 'snapshot', 'ready', 'reset', 'enter', 'change', 'leave'])
  source.addEventListener(name, show);
