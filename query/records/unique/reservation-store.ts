import { hash } from 'node:crypto';
import { type RedisConnection, type RedisScript, redisScript } from '#coordination/redis/redis-connection.ts';
import { TurnBatch } from '#kernel/limits/turn-batch.ts';

/**
 * All reservations are one hash, so that whatever removes a reservation that is not over - a flush, an
 * eviction, a restart - removes the epoch too, and shows (docs/decisions/010-unique-values-between-processes.md):
 *
 *   e            <run id of the server>:<opens at>:<session that began it>    reservations before are gone or over
 *   s<session>   <ends at>                                                    a process's lease on all that it holds
 *   k<digest>    <session>:<write>                                            a value that a write holds
 *
 * Times are milliseconds of the server's clock. A session that is over never comes back.
 */
export const reservationsKey = 'sluice:{unique}:1';

/** Characters of a digest; scripts take many as one text. */
const digestLength = 24;

const prelude = `
local reservations = KEYS[1]
local digestLength = ${digestLength}
-- Lua takes no more than 8000 values as arguments of one call
local chunk = 2000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
if not run then return redis.error_reply('NORUNID this server does not tell its run id') end
local epoch = redis.call('HGET', reservations, 'e') or ''
local epochRun, opensAt = string.match(epoch, '^(%w+):(%d+):')
local sameEpoch = epochRun == run
opensAt = tonumber(opensAt or 0)

local function whole(number) return string.format('%.0f', number) end
local known = {}
local function isAlive(session)
  if known[session] == nil then
    local endsAt = redis.call('HGET', reservations, 's' .. session)
    known[session] = endsAt and tonumber(endsAt) > now or false
  end
  return known[session]
end
local function sessionOf(owner) return string.match(owner, '^[^:]*') end
-- calls visit(names, place of the first) for the fields of the digests, some at a time
local function eachChunk(digests, visit)
  local count = #digests / digestLength
  for first = 1, count, chunk do
    local names = {}
    for place = first, math.min(first + chunk - 1, count) do
      names[#names + 1] = 'k' .. string.sub(digests, (place - 1) * digestLength + 1, place * digestLength)
    end
    local result = visit(names, first)
    if result then return result end
  end
end
`;

/**
 * session, lease. Begins a session, and an epoch when theirs is over: then nothing can be reserved for one
 * lease, because what was lost may have been given just before. Answers whether it began one, and the epoch.
 */
export const openScript = redisScript(`${prelude}
local began = 0
if not sameEpoch then
  redis.call('UNLINK', reservations)
  epoch = run .. ':' .. whole(now + ARGV[2]) .. ':' .. ARGV[1]
  redis.call('HSET', reservations, 'e', epoch)
  began = 1
end
redis.call('HSET', reservations, 's' .. ARGV[1], whole(now + ARGV[2]))
return {began, epoch}
`);

/** epoch. Lets reservations begin at once, if it is known that none were ever given before that epoch. */
const openEarlyScript = redisScript(`${prelude}
if not sameEpoch or epoch ~= ARGV[1] then return 0 end
redis.call('HSET', reservations, 'e', (string.gsub(epoch, ':%d+:', ':' .. whole(now) .. ':', 1)))
return 1
`);

/** lease, sessions. Returns for each whether it was renewed. */
const renewScript = redisScript(`${prelude}
local result = {}
for i = 2, #ARGV do
  result[i - 1] = 0
  if sameEpoch and isAlive(ARGV[i]) then
    redis.call('HSET', reservations, 's' .. ARGV[i], whole(now + ARGV[1]))
    result[i - 1] = 1
  end
end
return result
`);

/** sessions. Ends them, and with them all that they hold. */
const endScript = redisScript(`${prelude}
for i = 1, #ARGV do redis.call('HDEL', reservations, 's' .. ARGV[i]) end
return 1
`);

/** session, write, digests, and so on. Takes all or none of each write, and answers for each. */
export const reserveScript = redisScript(`${prelude}
local function reserve(session, write, digests)
  if not sameEpoch or not isAlive(session) then return {'lost'} end
  if now < opensAt then return {'closed', opensAt - now} end
  local over = {}
  local held = eachChunk(digests, function(names, first)
    for i, owner in ipairs(redis.call('HMGET', reservations, unpack(names))) do
      if owner then
        local other = sessionOf(owner)
        if isAlive(other) then return {'held', first + i - 2} end
        over[other] = true
      end
    end
  end)
  if held then return held end
  -- whose value is taken over must not go on, also when the server's clock is put back
  for other in pairs(over) do redis.call('HDEL', reservations, 's' .. other) end
  eachChunk(digests, function(names)
    local fields = {}
    for i, name in ipairs(names) do
      fields[2 * i - 1] = name
      fields[2 * i] = session .. ':' .. write
    end
    redis.call('HSET', reservations, unpack(fields))
  end)
  return {'taken'}
end
local answers = {}
for i = 1, #ARGV, 3 do answers[#answers + 1] = reserve(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
return answers
`);

/** session, write, digests, and so on. Releases the digests that each write still holds. */
const releaseScript = redisScript(`${prelude}
for i = 1, #ARGV, 3 do
  local owner = ARGV[i] .. ':' .. ARGV[i + 1]
  eachChunk(ARGV[i + 2], function(names)
    local mine = {}
    for place, holder in ipairs(redis.call('HMGET', reservations, unpack(names))) do
      if holder == owner then mine[#mine + 1] = names[place] end
    end
    if #mine > 0 then redis.call('HDEL', reservations, unpack(mine)) end
  end)
end
return 1
`);

/** digest. Answers 1 when nobody holds it. */
const freeScript = redisScript(`${prelude}
local owner = sameEpoch and redis.call('HGET', reservations, 'k' .. ARGV[1])
return owner and isAlive(sessionOf(owner)) and 0 or 1
`);

/** cursor, count. Removes reservations of dead processes; answers the next cursor. */
const sweepScript = redisScript(`${prelude}
if not sameEpoch then return '0' end
local page = redis.call('HSCAN', reservations, ARGV[1], 'COUNT', ARGV[2])
for i = 1, #page[2], 2 do
  local name, value = page[2][i], page[2][i + 1]
  local kind = string.sub(name, 1, 1)
  local over = kind == 's' and tonumber(value) <= now or kind == 'k' and not isAlive(sessionOf(value))
  if over then redis.call('HDEL', reservations, name) end
end
return page[1]
`);

/** The reservations of one write: its session, and the digests of its keys. */
export interface Claim {
  readonly session: string;
  readonly write: number;
  readonly digests: readonly string[];
}

export type ReserveAnswer =
  | { readonly kind: 'taken' }
  /** Another write has one of them. */
  | { readonly kind: 'held'; readonly digest: string }
  /** Nothing can be reserved yet. @param wait milliseconds */
  | { readonly kind: 'closed'; readonly wait: number }
  /** The session is over. */
  | { readonly kind: 'lost' };

const sweepCount = 1000;
/** Digests of the writes that share a script, which blocks Redis for a few milliseconds at most. */
const digestsTogether = 1000;

/** Reservations in Redis: its scripts as calls. All reject with a RedisFailure. */
export class ReservationStore {
  readonly #run: (script: RedisScript, values: readonly (string | number)[]) => Promise<unknown>;
  readonly #lease: number;
  readonly #reserving: TurnBatch<Claim, [kind: ReserveAnswer['kind'], number?: number]>;
  readonly #releasing: TurnBatch<Claim, void>;

  /** @param args.lease milliseconds that a session lasts without being renewed */
  constructor(args: { redis: RedisConnection; lease: number; key?: string | undefined }) {
    const { redis, lease, key = reservationsKey } = args;
    this.#run = (script, values) => redis.run(script, [key], values);
    this.#lease = lease;
    const limits = { sizeOf: ({ digests }: Claim) => digests.length, sizeLimit: digestsTogether };
    this.#releasing = new TurnBatch<Claim, void>({
      ...limits,
      run: async (claims) => {
        await this.#run(releaseScript, valuesOf(claims));
        return [];
      },
    });
    this.#reserving = new TurnBatch({
      ...limits,
      run: (claims) => {
        // everything released before is free
        this.#releasing.flush();
        return this.#run(reserveScript, valuesOf(claims)) as Promise<[ReserveAnswer['kind'], number?][]>;
      },
    });
  }

  async open(session: string): Promise<{ readonly began: boolean; readonly epoch: string }> {
    const [began, epoch] = (await this.#run(openScript, [session, this.#lease])) as [number, string];
    return { began: began === 1, epoch };
  }

  async openEarly(epoch: string): Promise<void> {
    await this.#run(openEarlyScript, [epoch]);
  }

  async renew(sessions: readonly string[]): Promise<readonly boolean[]> {
    const goOn = (await this.#run(renewScript, [this.#lease, ...sessions])) as number[];
    return goOn.map((one) => one === 1);
  }

  async end(sessions: readonly string[]): Promise<void> {
    await this.#run(endScript, sessions);
  }

  /** Batched with other writes of the same turn of the event loop. */
  async reserve(claim: Claim): Promise<ReserveAnswer> {
    const [kind, number = 0] = await this.#reserving.add(claim);
    if (kind === 'held') return { kind, digest: claim.digests[number] as string };
    return kind === 'closed' ? { kind, wait: number } : { kind };
  }

  release(claim: Claim): Promise<void> {
    return this.#releasing.add(claim);
  }

  async isFree(digest: string): Promise<boolean> {
    return (await this.#run(freeScript, [digest])) === 1;
  }

  async sweep(cursor: string): Promise<string> {
    return (await this.#run(sweepScript, [cursor, sweepCount])) as string;
  }
}

/** A key as Redis knows it: short, and nothing of the value can be read in Redis. 144 bits of SHA-256. */
export function digestOf(key: string): string {
  return hash('sha256', key, 'base64').slice(0, digestLength);
}

function valuesOf(claims: readonly Claim[]): (string | number)[] {
  return claims.flatMap(({ session, write, digests }) => [session, write, digests.join('')]);
}
