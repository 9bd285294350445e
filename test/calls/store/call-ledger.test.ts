import { randomUUID } from 'node:crypto';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type CallId, parseCallId } from '../../../src/calls/call-id.ts';
import { CallLedger } from '../../../src/calls/store/call-ledger.ts';
import {
  type CallRecord,
  connected,
  disconnected,
  hungUp,
  over,
  placed,
  playAccepted,
  playStarted,
} from '../../../src/calls/call-record.ts';
import { newNotificationId } from '../../../src/calls/notification-id.ts';
import { maskPhoneNumber, parsePhoneNumber } from '../../../src/calls/phone-number.ts';
import type { Log } from '../../../src/log.ts';
import { ownTablesPrefix } from '../../harness/app.ts';
import { callsTable } from '../calls-table.ts';

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const details = { alertType: 'BurnJob' } as const;

const ledgerOn = (prefix: string, connectionString?: string): CallLedger =>
  new CallLedger(callsTable({ prefix, ...(connectionString === undefined ? {} : { connectionString }) }));

const number = parsePhoneNumber('+12065550100');
if (number === undefined) throw new Error('not a number');

const newCall = (): CallId => {
  const callId = parseCallId(randomUUID());
  if (callId === undefined) throw new Error('not a call id');
  return callId;
};

const steps = {
  placed: (known?: CallRecord) => placed(known, details, Date.now()),
  connected: (known?: CallRecord) => connected(known, details, Date.now()),
  accepted: (known?: CallRecord) => playAccepted(known, Date.now()),
  over: (known?: CallRecord) => over(known, details, { completed: true }, Date.now()),
  hungUp: (known?: CallRecord) => hungUp(known, Date.now()),
  disconnected: (known?: CallRecord) => disconnected(known, details, { code: 200 }, Date.now()),
};
const names = ['placed', 'connected', 'accepted', 'over', 'hungUp', 'disconnected'] as const;

describe('the ledger of calls', () => {
  it(
    'lets one of many instances speak and one hang up, in whatever order and wherever events come',
    { timeout: 60_000 },
    async () => {
      const prefix = ownTablesPrefix();
      // Three instances; the first to write creates the table.
      const ledgers = [ledgerOn(prefix), ledgerOn(prefix), ledgerOn(prefix)];
      const happenings = fc.array(fc.tuple(fc.constantFrom(...names), fc.integer({ min: 0, max: 2 })), {
        minLength: 2,
        maxLength: 12,
      });
      await fc.assert(
        fc.asyncProperty(happenings, async (sequence) => {
          const callId = newCall();
          // All at the same time, so that they compete in the table.
          const taken = await Promise.all(
            sequence.map(async ([name, instance]) => {
              const result = await ledgers[instance]?.step<string>(callId, steps[name], SILENT);
              expect(result?.shared).toBe(true);
              return { name, action: result?.action };
            }),
          );
          const claims = (wanted: string) =>
            taken.filter(({ name, action }) => name === wanted && action === 'claimed').length;
          expect(claims('connected')).toBeLessThanOrEqual(1);
          expect(claims('over')).toBeLessThanOrEqual(1);
          // In the end all instances read the same state.
          const seen = await Promise.all(
            ledgers.map((ledger) => ledger.step(callId, () => ({ action: 'seen' }), SILENT)),
          );
          expect(new Set(seen.map(({ record }) => record?.state)).size).toBe(1);
        }),
        { numRuns: 60 },
      );
    },
  );

  it('reads what was written, to the millisecond', async () => {
    const prefix = ownTablesPrefix();
    const callId = newCall();
    const written: CallRecord = {
      state: 'ended',
      alertType: 'PointOfInterest',
      recipient: maskPhoneNumber(number),
      attempt: { notificationId: newNotificationId(1_795_248_000_000), index: 49, attemptId: randomUUID() },
      placedAt: 1_795_248_000_001,
      playingAt: 1_795_248_000_002,
      playAcceptedAt: 1_795_248_000_003,
      playStartedAt: 1_795_248_000_007,
      playCompletedAt: 1_795_248_000_008,
      playFailedAt: 1_795_248_000_009,
      hangingUpAt: 1_795_248_000_004,
      endedAt: 1_795_248_000_005,
      disconnectedAt: 1_795_248_000_006,
      gapAt: 1_795_248_000_010,
      code: 400,
      subCode: 8_565,
      reason: 'speech refused',
      meaning: 'refused',
    };
    await ledgerOn(prefix).step(callId, () => ({ action: 'write', next: written }), SILENT);
    const { record } = await ledgerOn(prefix).step(callId, () => ({ action: 'read' }), SILENT);
    expect(record).toEqual(written);
  });

  it('takes down that the message started at an instance that remembers only that the call was placed', async () => {
    const prefix = ownTablesPrefix();
    const callId = newCall();
    const [placing, speaking] = [ledgerOn(prefix), ledgerOn(prefix)];
    await placing.step(callId, steps.placed, SILENT);
    await speaking.step(callId, steps.connected, SILENT);
    await placing.step(callId, (known) => playStarted(known, Date.now()), SILENT);
    expect((await speaking.read(callId, SILENT)).record?.playStartedAt).toEqual(expect.any(Number));
    // So nobody speaks a second time, even when the claim to speak has run out.
    const later = Date.now() + 60_000;
    expect((await placing.step(callId, (known) => connected(known, details, later), SILENT)).action).toBe('nothing');
  });

  it('without the table keeps records in memory, logs that, and lets one of many events speak', async () => {
    const warnings: unknown[] = [];
    const log: Log = { ...SILENT, warn: (event, fields) => warnings.push({ event, ...fields }) };
    const nowhere =
      'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=dGVzdA==;TableEndpoint=http://127.0.0.1:9/a';
    const ledger = ledgerOn('t', nowhere);
    const callId = newCall();
    const taken = await Promise.all(Array.from({ length: 20 }, () => ledger.step(callId, steps.connected, log)));
    expect(taken.filter(({ action }) => action === 'claimed')).toHaveLength(1);
    expect(taken.every(({ shared }) => !shared)).toBe(true);
    expect(warnings).toContainEqual({ event: 'call records unreachable', call_id: callId, kind: 'ECONNREFUSED' });
  });

  it('continues from memory when the table is back', async () => {
    const { ledger, prefix, network } = unreliable();
    const callId = newCall();
    await ledger.step(callId, steps.placed, SILENT);
    network.fails = () => 'not sent';
    expect(await ledger.step(callId, steps.connected, SILENT)).toMatchObject({ action: 'claimed', shared: false });
    await ledger.step(callId, steps.accepted, SILENT);
    network.fails = () => undefined;
    // The row still says `establishing`. This instance remembers more, and its next write brings the row up to date.
    expect(await ledger.step(callId, steps.connected, SILENT)).toMatchObject({ action: 'nothing' });
    expect(await ledger.step(callId, steps.over, SILENT)).toMatchObject({ action: 'claimed', shared: true });
    expect(await ledgerOn(prefix).step(callId, steps.connected, SILENT)).toMatchObject({ action: 'nothing' });
  });

  it('writes what it did without the table when the table is back, although the call asks for nothing more', async () => {
    const { ledger, prefix, network, unwritten } = unreliable();
    const callId = newCall();
    await ledger.step(callId, steps.placed, SILENT);
    network.fails = () => 'not sent';
    for (const step of [steps.connected, steps.accepted, steps.over, steps.hungUp]) {
      await ledger.step<string>(callId, step, SILENT);
    }
    const told = unwritten.count;
    expect(told).toBeGreaterThan(0);
    expect((await ledger.writeAgain()).size).toBe(0);
    expect(unwritten.count).toBeGreaterThan(told);
    network.fails = () => undefined;
    const known = { state: 'ended', playCompletedAt: expect.any(Number), gapAt: expect.any(Number) };
    expect([...(await ledger.writeAgain())]).toEqual([[callId, expect.objectContaining(known)]]);
    expect((await ledgerOn(prefix).read(callId, SILENT)).record).toMatchObject(known);
    expect((await ledger.writeAgain()).size).toBe(0);
  });

  it('writes what it did without the table although the table refuses the row of another call', async () => {
    const { ledger, network } = unreliable();
    const [refused, another] = [newCall(), newCall()];
    for (const callId of [refused, another]) await ledger.step(callId, steps.placed, SILENT);
    network.fails = () => 'not sent';
    for (const callId of [refused, another]) await ledger.step(callId, steps.connected, SILENT);
    network.fails = (_, url) => (url.includes(refused) ? 'not sent' : undefined);
    expect([...(await ledger.writeAgain()).keys()]).toEqual([another]);
    network.fails = () => undefined;
    expect([...(await ledger.writeAgain()).keys()]).toEqual([refused]);
  });

  it.each(['not sent', 'answer lost'] as const)(
    'does not act alone because of one bad request (%s): what another instance did is seen, and its own claim known again',
    async (failure) => {
      const { ledger, prefix, network } = unreliable();
      const [callId, another] = [newCall(), newCall()];
      await ledgerOn(prefix).step(callId, steps.connected, SILENT);
      network.fails = once(failure, 'GET');
      expect(await ledger.step(callId, steps.connected, SILENT)).toMatchObject({ action: 'wait', shared: true });

      network.fails = once(failure, 'POST');
      expect(await ledger.step(another, steps.connected, SILENT)).toMatchObject({ action: 'claimed', shared: true });
      network.fails = once(failure, 'PUT');
      expect(await ledger.step(another, steps.over, SILENT)).toMatchObject({ action: 'claimed', shared: true });
      expect(await ledgerOn(prefix).step(another, steps.over, SILENT)).toMatchObject({ action: 'wait' });
    },
  );
});

/** What goes wrong with a request: it does not reach the table, or the table's answer gets lost. */
type Failure = 'not sent' | 'answer lost' | undefined;

const once = (failure: Failure, method: string) => {
  let left = 1;
  return (asked: string): Failure => (asked === method && left-- > 0 ? failure : undefined);
};

/** A ledger whose requests may fail. */
const unreliable = () => {
  const prefix = ownTablesPrefix();
  const network = { fails: (_method: string, _url: string): Failure => undefined };
  const unwritten = { count: 0 };
  const table = callsTable({
    prefix,
    sendRequest: async (request, next) => {
      const failure = network.fails(request.method, request.url);
      if (failure === 'not sent') throw new Error('not sent');
      const answer = await next(request);
      if (failure === 'answer lost') throw new Error('answer lost');
      return answer;
    },
  });
  const ledger = new CallLedger(table, () => {
    unwritten.count += 1;
  });
  return { ledger, prefix, network, unwritten };
};
