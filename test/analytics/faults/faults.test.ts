import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';

import { randomFrom } from '../../../infra/local/demo/random.ts';
import { sharesOf, sendAll, type Way } from './delivery.ts';
import { anyOf, FaultProxy, NO_FAULT, type Fault, type FaultRule } from './fault-proxy.ts';
import { countOf, Ledger, type Count } from './ledger.ts';
import { contendedMessages, type Load } from './messages.ts';
import { Sender } from './sender.ts';

const PROCESSES = 4;
const FEW: Load = { messages: 240, events: 80, cameras: 12 };
const SOME: Load = { messages: 1_500, events: 500, cameras: 40 };
const MANY: Load = { messages: 2_500, events: 800, cameras: 40 };

/** A deadline that late requests and answers miss by far, although the processes and Azurite share few cores. */
const DEADLINE_MS = 500;
const TOO_LATE_MS = 800;

/** Most faults in a test of a kind that makes every sender wait. */
const COSTLY_FAULTS = 12;

let senders: readonly Sender[] = [];
let proxy: FaultProxy;

beforeAll(async () => {
  senders = await Promise.all(Array.from({ length: PROCESSES }, async () => Sender.start()));
});
afterAll(async () => {
  await Promise.all(senders.map(async (sender) => sender.stop()));
});
beforeEach(async () => {
  proxy = await FaultProxy.start(inject('tablesConnectionString'));
});
afterEach(async () => {
  await proxy.stop();
});

/** A rule that ends after so many faults. */
const atMost = (faults: number, rule: FaultRule): FaultRule => {
  let left = faults;
  return async (request) => {
    const fault = left > 0 ? await rule(request) : NO_FAULT;
    if (fault.kind !== 'none') left -= 1;
    return fault;
  };
};

/** A fault in every second transaction. There are few transactions, because each takes many messages. */
const everySecondWrite = (fault: Fault): FaultRule => {
  let writes = 0;
  return ({ isTransaction }) => (isTransaction && writes++ % 2 === 1 ? fault : NO_FAULT);
};

/** Four processes send a load of messages through the proxy until all are acknowledged. */
const sendLoad = async (
  load: Load,
  rule: FaultRule,
  way: Partial<Pick<Way, 'counterShards' | 'deadlineMs'>> = {},
): Promise<{ given: Count & { acknowledged: number }; wanted: Count & { acknowledged: number } }> => {
  const random = randomFrom(`${load.messages}`);
  const messages = contendedMessages(random, load);
  const ledger = new Ledger(inject('tablesConnectionString'));
  proxy.rule = rule;
  const { connectionString } = proxy;
  const shares = sharesOf(random, messages, PROCESSES, { connectionString, table: ledger.table, ...way });
  const acknowledged = new Set(await sendAll(senders, shares)).size;
  await proxy.quiet();
  expect(await ledger.stripes(), 'processes that meet write to stripes of their own').toBeGreaterThan(1);
  return {
    given: { ...(await ledger.count()), acknowledged },
    wanted: { ...countOf(messages), acknowledged: messages.length },
  };
};

const REFUSALS: readonly (readonly [string, Fault])[] = [
  ['503', { kind: 'refused', status: 503, code: 'ServerBusy' }],
  ['503 with Retry-After', { kind: 'refused', status: 503, code: 'ServerBusy', retryAfterSeconds: 1 }],
  ['429', { kind: 'refused', status: 429, code: 'TooManyRequests' }],
  ['429 with Retry-After', { kind: 'refused', status: 429, code: 'TooManyRequests', retryAfterSeconds: 1 }],
  ['500', { kind: 'refused', status: 500, code: 'InternalError' }],
];

describe('four processes on the same events of one shard: every message is counted once', { timeout: 60_000 }, () => {
  it('where nothing goes wrong', async () => {
    const { given, wanted } = await sendLoad(FEW, () => NO_FAULT);
    expect(given).toEqual(wanted);
  });

  it.each<readonly [string, Fault]>([
    ['never arrive', { kind: 'answer lost' }],
    ['break off in the middle', { kind: 'answer cut' }],
    ['cannot be read', { kind: 'answer garbled' }],
  ])('where answers %s although the write was applied', async (_, fault) => {
    const { given, wanted } = await sendLoad(FEW, everySecondWrite(fault));
    expect(given).toEqual(wanted);
    expect(proxy.chosen.get(fault.kind)).toBeGreaterThan(1);
  });

  it.each(REFUSALS)('where storage answers %s', async (name, fault) => {
    const rule = name.includes('Retry-After')
      ? atMost(COSTLY_FAULTS, everySecondWrite(fault))
      : anyOf(randomFrom(name), [[0.2, fault]]);
    const { given, wanted } = await sendLoad(FEW, rule);
    expect(given).toEqual(wanted);
    expect(proxy.chosen.get(fault.kind)).toBeGreaterThan(1);
  });

  it('where connections are reset', async () => {
    const { given, wanted } = await sendLoad(FEW, anyOf(randomFrom('reset'), [[0.2, { kind: 'connection reset' }]]));
    expect(given).toEqual(wanted);
    expect(proxy.chosen.get('connection reset')).toBeGreaterThan(5);
  });

  it.each(['late request', 'late answer'] as const)('where a %s comes after the deadline', async (kind) => {
    const rule = anyOf(randomFrom(kind), [[0.2, { kind, ms: TOO_LATE_MS }]]);
    const { given, wanted } = await sendLoad(FEW, atMost(COSTLY_FAULTS, rule), { deadlineMs: DEADLINE_MS });
    expect(given).toEqual(wanted);
    expect(proxy.chosen.get(kind)).toBeGreaterThan(5);
  });

  it('where pages are empty or short and go on', async () => {
    const rule = anyOf(randomFrom('pages'), [
      [0.4, { kind: 'empty page' }],
      [0.5, { kind: 'short page', rows: 2 }],
    ]);
    const { given, wanted } = await sendLoad(FEW, rule);
    expect(given).toEqual(wanted);
    expect(proxy.chosen.get('empty page')).toBeGreaterThan(5);
  });
});

const WRITES_GO_WRONG: readonly (readonly [number, Fault])[] = [
  [0.03, { kind: 'answer lost' }],
  [0.02, { kind: 'answer cut' }],
  [0.02, { kind: 'answer garbled' }],
  ...REFUSALS.map(([name, fault]) => [name.includes('Retry-After') ? 0.003 : 0.02, fault] as const),
  [0.03, { kind: 'connection reset' }],
  [0.02, { kind: 'late request', ms: TOO_LATE_MS }],
  [0.02, { kind: 'late answer', ms: TOO_LATE_MS }],
  [0.1, { kind: 'late request', ms: 20 }],
];

// A batch takes many reads, so each fault is rare.
const READS_GO_WRONG: readonly (readonly [number, Fault])[] = [
  [0.003, { kind: 'answer lost' }],
  [0.003, { kind: 'answer cut' }],
  [0.003, { kind: 'answer garbled' }],
  ...REFUSALS.map(([name, fault]) => [name.includes('Retry-After') ? 0.0002 : 0.003, fault] as const),
  [0.003, { kind: 'connection reset' }],
  [0.0005, { kind: 'late answer', ms: TOO_LATE_MS }],
  [0.05, { kind: 'empty page' }],
  [0.05, { kind: 'short page', rows: 5 }],
];

describe('four processes with all faults at random: every message is counted once', () => {
  it.each([
    { shards: 1, load: MANY },
    { shards: 4, load: SOME },
  ])('of $load.messages messages on $shards shards', { timeout: 180_000 }, async ({ shards, load }) => {
    const random = randomFrom(`mixed ${shards}`);
    const toWrites = anyOf(random, WRITES_GO_WRONG);
    const toReads = anyOf(random, READS_GO_WRONG);
    const rule: FaultRule = (request) => (request.isTransaction ? toWrites(request) : toReads(request));
    const { given, wanted } = await sendLoad(load, rule, { counterShards: shards, deadlineMs: DEADLINE_MS });
    expect(given).toEqual(wanted);
    for (const kind of ['answer lost', 'refused', 'connection reset', 'late request', 'empty page'] as const) {
      expect(proxy.chosen.get(kind), kind).toBeGreaterThan(0);
    }
  });
});
