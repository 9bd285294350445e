import { describe, it, type TestContext } from 'vitest';

import { NO_FAULT } from '../../analytics/faults/fault-proxy.ts';
import type { OutgoingRequest } from '../../harness/instances.ts';
import type { Callee } from './callees.ts';
import { setStage } from './stage.ts';

/** Instances whose requests may go wrong, and the choice of who gets which request. */
const unreliable = async (speakMs: number, whenOver: TestContext['onTestFinished']) => {
  const stage = await setStage({ instances: 2, isProxied: true, pace: { speakMs } }, whenOver);
  const { frontDoor, apps } = stage;
  const [first, second] = apps;
  if (frontDoor === undefined || first === undefined || second === undefined) throw new Error('no stage');
  return { stage, frontDoor, first, second };
};

const readsCall = ({ service, method, path }: OutgoingRequest): boolean =>
  service === 'tables' && method === 'GET' && decodeURIComponent(path).includes("RowKey='call|");

const HEARD_ONCE: Callee = { calls: 1, pickedUp: 1, heardWhole: 1, heardPart: 0, openLines: 0 };

// Concurrent: most of the time they wait for the end of a message. Tried again: the deadlines of the table are real seconds, and a machine
// that stands still for half a second misses one more of them than the test means.
describe.concurrent('a message is not cut short', { timeout: 90_000, retry: 2 }, () => {
  it('whose start is reported to an instance that misses an answer of the table', async ({
    expect,
    onTestFinished,
  }) => {
    const { stage, frontDoor, second } = await unreliable(8_000, onTestFinished);
    // The answer to the request to speak gets lost, so the first instance waits for the start.
    frontDoor.choose = ({ body }) => (body.includes('PlayStarted') ? 1 : 0);
    let slow = 1;
    second.rule = (request) => (readsCall(request) && slow-- > 0 ? { kind: 'late answer', ms: 2_500 } : NO_FAULT);
    await stage.alert('ConfirmedFire', ['+12065550115']);
    await stage.callEnds('+12065550115');
    expect(slow).toBeLessThanOrEqual(0);
    expect(stage.callees().get('+12065550115')).toEqual(HEARD_ONCE);
    stage.endsWell();
  });

  it('because it cannot learn from the table that it has started', async ({ expect, onTestFinished }) => {
    const { stage, frontDoor, first } = await unreliable(8_000, onTestFinished);
    frontDoor.choose = ({ body }) => (/Play(Started|Completed)/.test(body) ? 1 : 0);
    let hasAsked = false;
    first.rule = ({ service, path }) => {
      hasAsked ||= path.includes(':play');
      return service === 'tables' && hasAsked ? { kind: 'refused', status: 503, code: 'ServerBusy' } : NO_FAULT;
    };
    await stage.alert('ConfirmedFire', ['+12065550115']);
    await stage.callEnds('+12065550115');
    expect(stage.logged('call records unreachable')).not.toEqual([]);
    expect(stage.callees().get('+12065550115')).toEqual(HEARD_ONCE);
    stage.endsWell();
  });

  it('because another instance, which did not know of it, could not speak as well', async ({
    expect,
    onTestFinished,
  }) => {
    const { stage, frontDoor, second } = await unreliable(9_000, onTestFinished);
    // CallConnected is repeated, and who gets the repeats cannot read the table for a while.
    let connected = 0;
    frontDoor.choose = ({ body }) => (body.includes('CallConnected') && connected++ > 0 ? 1 : 0);
    let asked = 0;
    let readableAt = Infinity;
    second.rule = (request) => {
      if (request.path.includes(':play')) {
        asked += 1;
        readableAt = Date.now() + 2_500;
        return { kind: 'refused', status: 400, code: '8535' };
      }
      return readsCall(request) && Date.now() < readableAt ? { kind: 'late answer', ms: 2_500 } : NO_FAULT;
    };
    await stage.alert('ConfirmedFire', ['+12065550120']);
    await stage.callEnds('+12065550120');
    expect(asked).toBe(1);
    expect(stage.callees().get('+12065550120')).toEqual(HEARD_ONCE);
    stage.endsWell();
  });
});
