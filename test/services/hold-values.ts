/** A process that reserves values and holds them until it is killed. Arguments: JSON of a RedisConfig, LeaseTimes, keys. */
import { openRedis } from '#coordination/redis/open-redis.ts';
import { RedisReservations } from '#records/unique/redis-reservations.ts';
import { silentLog } from './silent-log.ts';

const [config, times, keys] = process.argv.slice(2).map((text) => JSON.parse(text));
const log = silentLog();
const redis = await openRedis(config, log);
const reservations = new RedisReservations({ redis, log, times, everUsed: async () => false });
const result = await reservations.reserve(keys, new AbortController().signal);
process.stdout.write('reservation' in result ? 'held\n' : 'taken\n');
setInterval(() => {}, 2 ** 30);
