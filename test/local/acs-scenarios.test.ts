import { describe, expect, it } from 'vitest';

import type { AcsSimulator } from '../../infra/local/acs-simulator/simulator.ts';
import { until } from '../harness/until.ts';
import { ask, callIdOf, createCall, errorSchema, listen, play, repeatable, startAcs } from './acs-requests.ts';

/** Calls a number until the call has ended, and speaks and listens when it is answered. */
const callOnce = async (acs: AcsSimulator, number: string, listens = false) => {
  const callId = callIdOf((await ask(acs, '', createCall(number), repeatable())).body);
  const told = () => acs.log().calls.find(({ id }) => id === callId);
  await until(() => told()?.state !== 'ringing', 'somebody answers, or nobody');
  if (told()?.state === 'connected') {
    if (listens) await ask(acs, `/${callId}:startContinuousDtmfRecognition`, listen(number)).catch(() => undefined);
    await ask(acs, `/${callId}:play`, play('A message'));
    await until(() => told()?.state === 'ended' || told()?.speeches[0]?.isComplete === true, 'the message is over');
    if (told()?.state === 'connected') await ask(acs, `/${callId}:terminate`, undefined, repeatable());
  }
  // Nothing comes after these two, but a late event about a key.
  await until(() => told()?.story.some(({ text }) => text === 'CallDisconnected') === true, 'ACS has told the end');
  if (told()?.endedBy === 'network') {
    await until(() => told()?.story.some(({ text }) => text === 'CreateCallFailed') === true, 'and why');
  }
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
    ['+12065550146', ['network', 'app', 'app']],
    ['+12065550154', ['network', 'app', 'app']],
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
    ['+12065550129', ['CreateCallFailed', 'CallDisconnected'], 'network'],
    ['+12065550148', ['CreateCallFailed'], 'network'],
    ['+12065550157', ['PlayStarted'], 'callee'],
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

  it.each([
    ['+12065550103', ['CreateCallFailed', 'CallDisconnected']],
    ['+12065550147', ['CallDisconnected', 'CreateCallFailed']],
    ['+12065550145', ['CreateCallFailed', 'CallDisconnected']],
  ])('%s: nobody is reached, which is told twice: %j', async (number, names) => {
    const { events } = await callOnce(await startAcs(), number);
    expect(events.map(({ text }) => text)).toEqual(names);
  });

  it('a ringing call that is hung up rings no longer, and is told like one that was not answered', async () => {
    const acs = await startAcs({ pace: { ringMs: 60_000 } });
    const callId = callIdOf((await ask(acs, '', createCall(), repeatable())).body);
    expect((await ask(acs, `/${callId}:terminate`, undefined, repeatable())).status).toBe(204);
    await until(() => acs.log().calls[0]?.story.at(-1)?.text === 'CallDisconnected', 'ACS tells it');
    expect(acs.log().calls[0]).toMatchObject({ state: 'ended', endedBy: 'app' });
    expect(acs.log().calls[0]?.story.map(({ text }) => text)).toContain('CreateCallFailed');
  });

  it.each([
    ['+12065550150', 403, '7504'],
    ['+12065550151', 401, 'Denied'],
    ['+12065550152', 404, 'NotFound'],
    ['+12065550153', 403, '8529'],
  ])('%s: a request for a call is answered %i/%s twice, then taken', async (number, status, code) => {
    const acs = await startAcs();
    const answers = [];
    for (let request = 1; request <= 3; request += 1)
      answers.push(await ask(acs, '', createCall(number), repeatable()));
    expect(answers.map((answer) => answer.status)).toEqual([status, status, 201]);
    expect(errorSchema.parse(answers[0]?.body)).toBe(code);
    expect(acs.log().calls).toHaveLength(1);
  });

  it.each([
    ['+12065550160', 410, 'Gone'],
    ['+12065550161', 400, '8528'],
    ['+12065550162', 400, '8501'],
    ['+12065550163', 400, '8585'],
  ])('%s: the call has ended when it is hung up, which is answered %i/%s', async (number, status, code) => {
    const acs = await startAcs();
    const callId = callIdOf((await ask(acs, '', createCall(number), repeatable())).body);
    await until(() => acs.log().calls[0]?.state === 'connected', 'somebody answers');
    const answer = await ask(acs, `/${callId}:terminate`, undefined, repeatable());
    expect([answer.status, errorSchema.parse(answer.body)]).toEqual([status, code]);
    expect(acs.log()).toMatchObject({ calls: [{ state: 'ended' }], refused: [] });
  });

  const RECEIVED = 'ContinuousDtmfRecognitionToneReceived';
  it.each([
    ['+12065550170', ['PlayStarted', RECEIVED, 'PlayCompleted']],
    ['+12065550171', ['PlayStarted', 'PlayCompleted', RECEIVED]],
    ['+12065550172', ['PlayStarted', RECEIVED, RECEIVED, 'PlayCompleted']],
    ['+12065550173', [RECEIVED, 'PlayStarted', 'PlayCompleted']],
    ['+12065550174', ['PlayStarted', 'PlayCompleted']],
    ['+12065550175', ['PlayStarted', 'PlayCompleted']],
    ['+12065550178', ['PlayStarted', 'ContinuousDtmfRecognitionToneFailed', 'PlayCompleted']],
    ['+12065550179', ['PlayStarted', RECEIVED, 'PlayCanceled']],
    ['+12065550180', ['PlayStarted', 'PlayCompleted']],
    ['+12065550182', ['PlayStarted', RECEIVED, 'PlayCompleted']],
  ])('%s: a service that listens is told %j, and one that does not is told of no key', async (number, names) => {
    const acs = await startAcs();
    const told = ({ events }: Awaited<ReturnType<typeof callOnce>>) =>
      events.map(({ text }) => text).filter((text) => /^Play|Dtmf/.test(text));
    const heard = await callOnce(acs, number, true);
    expect(told(heard)).toEqual(names);
    expect(heard.requests.listen).toBe(1);
    const deaf = await callOnce(acs, `${number.slice(0, -3)}9${number.slice(-2)}`);
    expect(told(deaf)).toEqual(names.filter((name) => !name.includes('Dtmf')));
    expect(acs.log().refused).toEqual([]);
  });

  it('74 and 77: a key in the second call only; an event about a key when the call is over', async () => {
    const acs = await startAcs();
    await callOnce(acs, '+12065550174', true);
    const { events } = await callOnce(acs, '+12065550174', true);
    expect(events.map(({ text }) => text)).toContain(RECEIVED);
    const late = await callOnce(acs, '+12065550177', true);
    const log = () => acs.log().calls.find(({ id }) => id === late.id);
    await until(() => log()?.story.at(-1)?.text === RECEIVED, 'the late event');
  });
});
