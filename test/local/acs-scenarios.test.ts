import { describe, expect, it } from 'vitest';

import type { AcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { until } from '../system/calls/until.ts';
import { ask, callIdOf, createCall, play, repeatable, startAcs } from './acs-requests.ts';

/** Calls a number until the call has ended, and speaks when it is answered. */
const callOnce = async (acs: AcsSimulator, number: string) => {
  const callId = callIdOf((await ask(acs, '', createCall(number), repeatable())).body);
  const told = () => acs.log().calls.find(({ id }) => id === callId);
  await until(() => told()?.state !== 'ringing', 'somebody answers, or nobody');
  if (told()?.state === 'connected') {
    await ask(acs, `/${callId}:play`, play('A message'));
    await until(() => told()?.state === 'ended' || told()?.speeches[0]?.isComplete === true, 'the message is over');
    if (told()?.state === 'connected') await ask(acs, `/${callId}:terminate`, undefined, repeatable());
  }
  const over = /^(CallDisconnected|CreateCallFailed)$/;
  await until(() => told()?.story.some(({ text }) => over.test(text)) === true, 'ACS has told the end, or lost it');
  const call = told();
  if (call === undefined) throw new Error('no such call');
  return { ...call, events: call.story.filter(({ kind }) => kind === 'event') };
};

describe('what a number makes of its calls', () => {
  it.each([
    ['+12065550106', ['network', 'app', 'app']],
    ['+12065550107', ['network', 'app', 'app']],
    ['+12065550108', ['network', 'network', 'app']],
    ['+12065550101', ['network', 'network', 'network']],
    ['+12065550139', ['network', 'app', 'app']],
  ])('%s: its calls are ended by %j, whatever other numbers do', async (number, endedBy) => {
    const acs = await startAcs();
    const other = `${number.slice(0, -4)}9${number.slice(-3)}`;
    await callOnce(acs, other);
    const calls = [await callOnce(acs, number), await callOnce(acs, number), await callOnce(acs, number)];
    expect(calls.map((call) => call.endedBy)).toEqual(endedBy);
    expect(calls.map(({ speeches }) => speeches.filter(({ isComplete }) => isComplete).length)).toEqual(
      endedBy.map((by) => (by === 'app' ? 1 : 0)),
    );
    expect(acs.log().refused).toEqual([]);
  });

  it('tells how far a message was spoken, when it rang, and who ended it', async () => {
    const acs = await startAcs({ pace: { ringMs: 50, eventMs: 5, speakMs: 400 } });
    const whole = await callOnce(acs, '+12065550100');
    expect(whole).toMatchObject({ endedBy: 'app', speeches: [{ text: 'A message', isComplete: true }] });
    expect(whole.speeches[0]?.spokenMs).toBeGreaterThan(380);

    const [rang, answered, started, ended] = [
      whole.rangAt,
      whole.answeredAt ?? '',
      whole.speeches[0]?.startedAt ?? '',
      whole.endedAt ?? '',
    ].map((text) => Date.parse(text));
    expect(Number(answered) - Number(rang)).toBeGreaterThanOrEqual(49);
    expect(started).toBeGreaterThanOrEqual(Number(answered));
    expect(Number(ended) - Number(started)).toBeGreaterThan(380);

    const cut = await callOnce(acs, '+12065550112');
    expect(cut).toMatchObject({ endedBy: 'callee', spoken: ['A message'], speeches: [{ isComplete: false }] });
    expect(cut.speeches[0]?.spokenMs).toBeLessThan(390);
  });

  it.each([
    ['+12065550127', ['PlayStarted'], 'app'],
    ['+12065550128', ['PlayStarted', 'PlayCompleted'], 'app'],
    ['+12065550129', ['CreateCallFailed'], 'network'],
    ['+12065550144', ['PlayCanceled', 'CallDisconnected'], 'callee'],
  ])('%s: %j never arrive', async (number, names, endedBy) => {
    const { events, endedBy: by } = await callOnce(await startAcs(), number);
    expect(events.filter(({ answer }) => answer === 'lost').map(({ text }) => text)).toEqual(names);
    expect(by).toBe(endedBy);
  });

  it('19: the callee has hung up before anything can be said; that the app could not know', async () => {
    const acs = await startAcs();
    const callId = callIdOf((await ask(acs, '', createCall('+12065550119'), repeatable())).body);
    await until(() => acs.log().calls[0]?.state === 'ended', 'the callee hangs up');
    expect((await ask(acs, `/${callId}:play`, play('x'))).status).toBe(404);
    await until(() => acs.log().calls[0]?.story.at(-1)?.text === 'CallDisconnected', 'ACS tells it');
    expect(acs.log()).toMatchObject({ calls: [{ endedBy: 'callee', speeches: [] }], refused: [] });
  });

  it('43: nothing is said when the request to speak has no answer, and the callee hangs up', async () => {
    const acs = await startAcs();
    const callId = callIdOf((await ask(acs, '', createCall('+12065550143'), repeatable())).body);
    await until(() => acs.log().calls[0]?.state === 'connected', 'somebody answers');
    void ask(acs, `/${callId}:play`, play('x')).catch(() => undefined);
    await until(() => acs.log().calls[0]?.state === 'ended', 'the callee hangs up');
    expect(acs.log().calls).toMatchObject([{ endedBy: 'callee', speeches: [] }]);
  });

  it('38: every answer to a request for a call is lost, and it rings once', async () => {
    const acs = await startAcs();
    const headers = repeatable();
    await expect(ask(acs, '', createCall('+12065550138'), headers)).rejects.toThrow('fetch failed');
    await expect(ask(acs, '', createCall('+12065550138'), headers)).rejects.toThrow('fetch failed');
    expect(acs.log().calls).toMatchObject([{ to: '+12065550138' }]);
  });

  it('09: it rings ten times as long', async () => {
    const acs = await startAcs({ pace: { ringMs: 20 } });
    const call = await callOnce(acs, '+12065550109');
    expect(Date.parse(call.answeredAt ?? '') - Date.parse(call.rangAt)).toBeGreaterThanOrEqual(199);
  });
});
