import { expect, it, onTestFinished, vi } from 'vitest';

import { PhoneCall } from '../../infra/emulators/phone-network/phone-call.ts';
import type { KeyPress, Result } from '../../infra/emulators/phone-network/scenarios.ts';

const PACE = { ringMs: 1_000, eventMs: 100, speakMs: 2_000 };

/** A call whose service speaks one text when somebody answers, and hangs up 4 s after it. */
class PlainCall extends PhoneCall {
  readonly words: string[] = [];
  override isListening = true;

  constructor(digits: string, earlierCalls: number, hasLine: boolean) {
    const to = `+120655501${digits}`;
    super({ id: '', to, from: '', callbackUri: '', earlierCalls, hasLine, pace: PACE, print: () => undefined });
  }

  #say(word: string): void {
    this.words.push(`${word} at ${Date.now() - this.createdAt}`);
  }

  beginToListen(): void {
    this.isListening = true;
    this.beginsToListen();
  }

  protected override onRinging(): void {
    this.#say('rings');
  }

  protected override onAnswered(): void {
    this.#say('answers');
    this.timeline.after(PACE.eventMs, () => {
      this.#say('hears');
      this.speak('A message', () => {
        this.#say('heard');
        this.timeline.after(4_000, () => this.end('app'));
      });
    });
  }

  protected override onKey({ key, reported }: KeyPress): void {
    this.#say(reported === undefined ? `presses ${key}` : `presses ${key}, reported ${reported}`);
  }

  protected override onEnded(_: boolean, why: Result | undefined): void {
    this.#say(`${this.endedBy} ends it${why === undefined ? '' : ` (${why.join('/')})`}`);
  }
}

const playCall = (digits: string, earlierCalls = 0, hasLine = true): PlainCall => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const call = new PlainCall(digits, earlierCalls, hasLine);
  call.begin();
  vi.advanceTimersByTime(30_000);
  return call;
};

const [ANSWERS, HEARD] = ['rings at 0, answers at 1000, hears at 1100', 'heard at 3100'];
const ENDS = 'app ends it at 7100';

it.each([
  ['00', `${ANSWERS}, ${HEARD}, ${ENDS}`],
  ['01', 'rings at 0, network ends it (480/560480) at 1000'],
  ['09', 'rings at 0, answers at 10000, hears at 10100, heard at 12100, app ends it at 16100'],
  ['12', `${ANSWERS}, callee ends it at 2100`],
  ['19', 'rings at 0, answers at 1000, callee ends it at 1000'],
  ['23', 'rings at 0, answers at 0, hears at 100, heard at 2100, app ends it at 6100'],
  ['58', `${ANSWERS}, callee ends it at 2600`],
  ['70', `${ANSWERS}, presses 1 at 2100, ${HEARD}, ${ENDS}`],
  ['71', `${ANSWERS}, ${HEARD}, presses 1 at 3100, ${ENDS}`],
  ['72', `${ANSWERS}, presses 1 at 2100, presses 1 at 2300, ${HEARD}, ${ENDS}`],
  ['73', `${ANSWERS}, presses 1 at 1100, ${HEARD}, ${ENDS}`],
  ['75', `${ANSWERS}, ${HEARD}, ${ENDS}`],
  ['77', `${ANSWERS}, presses 1, reported after the call at 2100, ${HEARD}, ${ENDS}`],
  ['79', `${ANSWERS}, presses 1 at 2100, callee ends it at 2100`],
  ['83', `${ANSWERS}, ${HEARD}, presses 1 at 6600, ${ENDS}`],
  ['88', `${ANSWERS}, presses 3 at 2100, presses 1 at 2300, ${HEARD}, ${ENDS}`],
])('a number that ends with %s: %s', (digits, story) => {
  const { words } = playCall(digits);
  expect(words.join(', ')).toBe(story);
});

it.each([
  ['06', ['486/560486', undefined]],
  ['08', ['486/560486', '480/560480', undefined]],
  ['39', ['403/8530', undefined]],
])('a number that ends with %s changes from call to call', (digits, ends) => {
  const results = ends.map((_, earlierCalls) => {
    const { words } = playCall(digits, earlierCalls);
    return /\((.*)\)/.exec(words.at(-1) ?? '')?.[1];
  });
  expect(results).toEqual(ends);
});

it('74 presses no key in the first call, and 1 in the next', () => {
  expect(playCall('74', 0).words.some((word) => word.startsWith('presses'))).toBe(false);
  expect(playCall('74', 1).words).toContain('presses 1 at 2100');
});

it('a callee whose key nobody heard presses it again when the service listens', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const call = new PlainCall('70', 0, true);
  call.isListening = false;
  call.begin();
  vi.advanceTimersByTime(3_000);
  call.beginToListen();
  vi.advanceTimersByTime(1_000);
  expect(call.words.filter((word) => word.startsWith('presses'))).toEqual(['presses 1 at 3100']);
});

it('a call without a line is declined a moment later, and no phone is answered', () => {
  expect(playCall('00', 0, false).words).toEqual(['rings at 0', 'network ends it (603/560603) at 100']);
});

it('what the callee heard is told with its times', () => {
  const { speeches, spoken, endedBy } = playCall('58').told();
  expect([spoken, speeches, endedBy]).toEqual([
    ['A message'],
    [{ text: 'A message', startedAt: expect.any(String), spokenMs: 1_500, isComplete: false }],
    'callee',
  ]);
});
