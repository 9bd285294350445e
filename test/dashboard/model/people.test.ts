import { expect, it } from 'vitest';

import { confirmedText, dotsOf, peopleText } from '../../../src/dashboard/browser/model/people.ts';
import { nextOf, wavesOf } from '../../../src/dashboard/browser/model/timeline.ts';
import { before, notification, person, WAVES } from '../answers.ts';

const people = (...statuses: readonly string[]) => statuses.map((status) => person('00', status));

it('has a dot for each person, at most five, confirmed people first; the words name everybody', () => {
  const of = people('not_reached', 'waiting', 'confirmed', 'ringing', 'cannot_go');
  expect(dotsOf(of)).toEqual(['confirmed', 'calling', 'open', 'lost', 'lost']);
  expect(dotsOf(people(...Array<string>(50).fill('heard')))).toHaveLength(5);
  expect(peopleText(of)).toBe('1 not reached, 1 waiting, 1 confirmed, 1 ringing, 1 cannot go');
  expect(confirmedText(of)).toBe('1 of 5');
});

it('a voicemail hears a message, too: a person to whom it was only played has no full dot, and is not counted', () => {
  const of = people('not_reached', 'heard', 'ringing', 'heard');
  expect(dotsOf(of)).toEqual(['played', 'played', 'calling', 'lost']);
  expect(confirmedText(of)).toBe('Played to 2');
  expect(confirmedText(people('heard', 'confirmed'))).toBe('1 of 2');
  expect(confirmedText(people('ringing', 'cannot_go'))).toBe('0 of 2');
});

it('next is the next wave, or the next call and to whom; nothing if the calls are over', () => {
  expect(nextOf(notification('n', { recipients: WAVES, next_wave_at: before(-40) }))).toEqual({
    what: 'Wave 2',
    at: before(-40),
  });
  expect(nextOf(notification('n', { recipients: WAVES }))).toEqual({ what: 'Call to Bo', at: before(-30) });
  expect(nextOf(notification('n', { recipients: WAVES, status: 'completed' }))).toBeUndefined();
  expect(nextOf(notification('n'))).toBeUndefined();
});

it('the timeline has wave after wave, each with its first call', () => {
  const names = wavesOf({ recipients: WAVES }).map(({ number, startedAt, recipients }) => [
    number,
    startedAt,
    recipients.map(({ recipient }) => recipient.slice(-2)),
  ]);
  expect(names).toEqual([
    [1, before(50), ['10', '11']],
    [2, undefined, ['12']],
  ]);
  expect(wavesOf({ recipients: people('heard') })).toMatchObject([{ number: undefined }]);
});
