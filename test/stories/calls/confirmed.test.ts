import { expect, it } from 'vitest';

import { messageOf, setStage } from '../../harness/phone-stage.ts';

// Long enough for the start of listening, which runs beside the message.
const PACE = { eventMs: 400, speakMs: 1_500 };

const PEOPLE: Readonly<Record<string, readonly [status: string, outcome: string]>> = {
  '+12065550170': ['confirmed', 'confirmed'],
  '+12065550171': ['confirmed', 'confirmed'],
  '+12065550172': ['confirmed', 'confirmed'],
  '+12065550173': ['confirmed', 'confirmed'],
  '+12065550177': ['confirmed', 'confirmed'],
  '+12065550182': ['confirmed', 'confirmed'],
  '+12065550175': ['not_reached', 'unconfirmed'],
  '+12065550176': ['not_reached', 'unconfirmed'],
  '+12065550178': ['not_reached', 'unconfirmed'],
  '+12065550180': ['not_reached', 'unconfirmed'],
  '+12065550181': ['not_reached', 'unconfirmed'],
};

it('asks for a key: who presses one has confirmed, whenever that is; a mailbox has not', async () => {
  const stage = await setStage({ instances: 2, environment: { CALL_ATTEMPTS: '1' }, pace: PACE });
  const numbers = Object.keys(PEOPLE);
  const { status, notification_id } = await stage.alert('ConfirmedFire', numbers, { confirm: true });
  expect(status).toBe(202);
  await stage.completed(notification_id, 40_000);
  await stage.acs.settled();
  const { recipients } = await stage.notification(notification_id);
  const told = recipients.map((recipient) => [recipient.status, recipient.attempts[0]?.outcome]);
  expect(Object.fromEntries(numbers.map((number, index) => [number, told[index]]))).toEqual(PEOPLE);
  for (const number of numbers) {
    const call = await stage.callEnds(number);
    expect({ number, spoken: call.spoken }).toEqual({ number, spoken: [messageOf('ConfirmedFire', true)] });
    // The message goes on to its end, and then the line is hung up, once.
    expect({ number, ...call }).toMatchObject({ number, speeches: [{ isComplete: true }], endedBy: 'app' });
    expect({ number, ...call.requests }).toEqual({ number, createCall: 1, play: 1, listen: 1, hangUp: 1 });
  }
  stage.endsWell();
}, 60_000);

it('dials in waves, and the first who confirms stops the rest', async () => {
  const stage = await setStage({ instances: 2, pace: PACE });
  // The number of the first wave does not exist, so that the second does not wait for its time.
  const waves = [['+12065550104'], ['+12065550170'], ['+12065550100', '+12065551100']];
  const { notification_id } = await stage.alert('ConfirmedFire', waves, { confirm: true, wave_seconds: 30 });
  const { status, recipients } = await stage.completed(notification_id);
  expect(status).toBe('completed');
  expect(recipients.map((recipient) => [recipient.wave, recipient.status])).toEqual([
    [1, 'failed'],
    [2, 'confirmed'],
    [3, 'stopped'],
    [3, 'stopped'],
  ]);
  expect(stage.acs.log().calls.map(({ to }) => to)).toEqual(['+12065550104', '+12065550170']);
  stage.endsWell();
});

it('answers 400 to waves without confirm, to times out of bounds, to empty waves, and to references that cannot be shown', async () => {
  const stage = await setStage();
  for (const [more, recipients] of [
    [{ wave_seconds: 30 }, ['+12065550100']],
    [{}, [['+12065550100']]],
    [{ confirm: true, wave_seconds: 29 }, [['+12065550100']]],
    [{ confirm: true, wave_seconds: 3_601 }, [['+12065550100']]],
    [{ confirm: true }, [[]]],
    [{ confirm: true }, [['+12065550100'], '+12065551100']],
    [{ confirm: 'yes' }, ['+12065550100']],
    [{ reference: '' }, ['+12065550100']],
    [{ reference: 'x'.repeat(101) }, ['+12065550100']],
    [{ reference: 'two\nlines' }, ['+12065550100']],
  ] as const) {
    const body = JSON.stringify({ channel: 'phone', alert_type: 'Custom', recipients, ...more });
    const answer = await stage.fetch(`${stage.url}/api/notifications`, { method: 'POST', body });
    expect(answer.status, body).toBe(400);
  }
  expect(stage.acs.log().calls).toEqual([]);
});
