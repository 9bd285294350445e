import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  type Attempt,
  type AttemptEvent,
  CLAIM_LEASE_MS,
  type CallTerms,
  DIAL_LEASE_MS,
  isLive,
  lookAtOf,
  moveAttempt,
  UNCLEAR_MS,
} from '../../src/calls/attempt.ts';
import { type CallId, parseCallId } from '../../src/calls/call-id.ts';

const idOf = (text: string): CallId => {
  const id = parseCallId(text);
  if (id === undefined) throw new Error('not a call id');
  return id;
};
const callId = idOf('call-1');
const START = Date.parse('2026-11-21T08:00:00Z');
const TERMS: CallTerms = {
  confirm: false,
  isStopped: false,
  deadlineAt: START + 1_800_000,
  ringMs: 60_000,
  unitMs: 7_000,
  messageMs: 40_000,
};
const NEW: Attempt = { id: 'a', state: 'claimed', claimedAt: START };

/** Events with their times in seconds since the claim → the attempt after them, and what was asked for. */
const play = (events: readonly (readonly [seconds: number, event: AttemptEvent])[], terms: Partial<CallTerms> = {}) => {
  let attempt = NEW;
  const asks: string[] = [];
  for (const [seconds, event] of events) {
    const { next, ask } = moveAttempt(attempt, event, { ...TERMS, ...terms }, START + seconds * 1_000);
    attempt = next;
    if (ask !== undefined) asks.push(ask);
  }
  return { attempt, asks };
};

const placed: AttemptEvent = { kind: 'placed', callId };
const connected: AttemptEvent = { kind: 'connected', callId };
const accepted: AttemptEvent = { kind: 'speech accepted' };
const started: AttemptEvent = { kind: 'play started', callId };
const completed: AttemptEvent = { kind: 'play completed', callId, result: {} };
const canceled: AttemptEvent = { kind: 'play canceled', callId, result: {} };
const failed: AttemptEvent = { kind: 'play failed', callId, result: { code: 400, subCode: 8_535 } };
const disconnected: AttemptEvent = { kind: 'disconnected', callId, result: { code: 200, subCode: 0 } };
const hungUp: AttemptEvent = { kind: 'hung up' };
const tone: AttemptEvent = { kind: 'tone received', callId };
const look: AttemptEvent = { kind: 'look' };
const createFailed = (meaning: 'busy' | 'declined' | 'refused' | 'no_line' | 'set_up'): AttemptEvent => ({
  kind: 'create failed',
  callId,
  result: { code: 486, meaning, reason: meaning },
});
const notPlaced = (why: 'no_line' | 'set_up' | 'refused' | 'unclear'): AttemptEvent => ({
  kind: 'not placed',
  why,
  result: { reason: why },
});

describe('a good call', () => {
  it('is spoken to once, hung up once, and heard', () => {
    const { attempt, asks } = play([
      [0, placed],
      [9, connected],
      [9, connected],
      [10, accepted],
      [10, started],
      [25, completed],
      [25, completed],
      [26, hungUp],
      [26, disconnected],
    ]);
    expect(asks).toEqual(['speak', 'hang up']);
    expect(attempt).toMatchObject({ state: 'over', outcome: 'heard', callId });
  });

  it('is the same if its first events come before the answer to the call request', () => {
    const { attempt, asks } = play([
      [1, connected],
      [2, placed],
      [2, started],
      [20, completed],
      [21, hungUp],
    ]);
    expect(asks).toEqual(['speak', 'hang up']);
    expect(attempt).toMatchObject({ outcome: 'heard', placedAt: START + 2_000 });
  });
});

describe('the outcome', () => {
  it.each<[string, string, readonly (readonly [number, AttemptEvent])[]]>([
    [
      'nothing that was never spoken is heard',
      'unknown',
      [
        [0, placed],
        [5, started],
        [6, completed],
        [7, hungUp],
      ],
    ],
    [
      'a message whose start was not reported, however long it lasted',
      'unknown',
      [
        [0, placed],
        [5, connected],
        [6, accepted],
        [60, disconnected],
      ],
    ],
    [
      'a message that failed',
      'unknown',
      [
        [0, placed],
        [5, connected],
        [6, started],
        [9, failed],
        [9, hungUp],
      ],
    ],
    [
      'one that was completed, reported after the end',
      'heard',
      [
        [0, placed],
        [5, connected],
        [25, disconnected],
        [30, completed],
      ],
    ],
    [
      'the callee has gone before the message',
      'unknown',
      [
        [0, placed],
        [5, connected],
        [6, { kind: 'not spoken', why: 'gone', result: {} }],
      ],
    ],
    [
      'busy',
      'busy',
      [
        [0, placed],
        [5, createFailed('busy')],
        [5, disconnected],
      ],
    ],
    [
      'busy, with the end first',
      'busy',
      [
        [0, placed],
        [5, disconnected],
        [6, createFailed('busy')],
      ],
    ],
    [
      'busy, with the end long before',
      'busy',
      [
        [0, placed],
        [5, disconnected],
        [12, look],
        [14, createFailed('busy')],
      ],
    ],
    [
      'a wrong number stays one',
      'refused',
      [
        [0, placed],
        [5, createFailed('refused')],
        [6, createFailed('busy')],
        [7, disconnected],
      ],
    ],
    [
      'it has rung for long enough',
      'no_answer',
      [
        [0, placed],
        [60, look],
        [61, hungUp],
        [61, createFailed('declined')],
      ],
    ],
    [
      'it has rung for long enough, and the end comes first',
      'no_answer',
      [
        [0, placed],
        [60, look],
        [60, createFailed('declined')],
      ],
    ],
    [
      'an end without a reason',
      'unknown',
      [
        [0, placed],
        [5, disconnected],
        [11, look],
      ],
    ],
    ['no line', 'no_line', [[0, notPlaced('no_line')]]],
    [
      'our set-up',
      'set_up',
      [
        [0, placed],
        [1, createFailed('set_up')],
      ],
    ],
  ])('%s: %s', (_, outcome, events) => {
    expect(play(events).attempt).toMatchObject({ state: 'over', outcome });
  });

  it.each([
    [6, false],
    [7, true],
  ])('is cut short after %i s: a whole unit was spoken: %s', (seconds, hasHeardUnit) => {
    const { attempt } = play([
      [0, placed],
      [5, connected],
      [10, started],
      [10 + seconds, canceled],
      [30, hungUp],
    ]);
    expect(attempt).toMatchObject({ outcome: 'cut_short', hasHeardUnit });
  });

  it.each<[string, string, readonly (readonly [number, AttemptEvent])[]]>([
    [
      'before the start of the message',
      'confirmed',
      [
        [5, connected],
        [5, tone],
        [6, started],
        [25, completed],
        [25, hungUp],
      ],
    ],
    [
      'twice',
      'confirmed',
      [
        [5, connected],
        [6, started],
        [7, tone],
        [8, tone],
        [25, completed],
        [25, hungUp],
      ],
    ],
    [
      'after the end',
      'confirmed',
      [
        [5, connected],
        [6, started],
        [25, completed],
        [25, hungUp],
        [26, tone],
      ],
    ],
    [
      'by somebody who was not spoken to',
      'unknown',
      [
        [5, tone],
        [6, disconnected],
        [12, look],
      ],
    ],
    [
      'never',
      'unconfirmed',
      [
        [5, connected],
        [6, started],
        [25, completed],
        [25, hungUp],
      ],
    ],
  ])('with a key pressed %s: %s', (_, outcome, events) => {
    expect(play([[0, placed], ...events], { confirm: true }).attempt).toMatchObject({ outcome });
  });
});

describe('somebody who answers', () => {
  it('is spoken to although the end was reported before', () => {
    const { attempt, asks } = play([
      [0, placed],
      [4, createFailed('busy')],
      [5, connected],
    ]);
    expect(asks).toEqual(['speak']);
    expect(attempt).toMatchObject({ state: 'speaking', outcome: undefined });
  });

  it('is spoken to by another one when whoever had claimed it has died, and only once', () => {
    const lease = CLAIM_LEASE_MS / 1_000;
    const { asks } = play([
      [0, placed],
      [5, connected],
      [5 + lease - 1, look],
      [5 + lease, look],
      [5 + 2 * lease, look],
    ]);
    expect(asks).toEqual(['speak', 'speak', 'hang up']);
  });

  it('is hung up if the request to speak has no answer and no start is reported for some seconds', () => {
    const unclear: AttemptEvent = { kind: 'not spoken', why: 'unclear', result: {} };
    const heard = play([
      [0, placed],
      [5, connected],
      [15, unclear],
      [17, started],
      [20, look],
    ]);
    expect(heard.asks).toEqual(['speak']);
    const silent = play([
      [0, placed],
      [5, connected],
      [15, unclear],
      [17, look],
      [20, look],
    ]);
    expect(silent.asks).toEqual(['speak', 'hang up']);
  });

  it('is hung up, and not spoken to, after a stop; who is spoken to is not', () => {
    expect(
      play(
        [
          [0, placed],
          [5, connected],
        ],
        { isStopped: true },
      ).asks,
    ).toEqual(['hang up']);
    expect(
      play(
        [
          [0, placed],
          [5, look],
        ],
        { isStopped: true },
      ).attempt,
    ).toMatchObject({ state: 'hanging_up' });
    let speaking = play([
      [0, placed],
      [5, connected],
      [6, started],
    ]).attempt;
    speaking = moveAttempt(speaking, look, { ...TERMS, isStopped: true }, START + 7_000).next;
    expect(speaking.state).toBe('speaking');
  });
});

describe('a call request without a clear answer', () => {
  const lease = DIAL_LEASE_MS / 1_000;

  it('is sent again, twice at most, and is given up only when nothing can be heard of it any more', () => {
    const { asks, attempt } = play([
      [lease, look],
      [2 * lease, look],
      [3 * lease, look],
      [2 * lease + UNCLEAR_MS / 1_000, look],
    ]);
    expect(asks).toEqual(['dial', 'dial']);
    expect(attempt).toMatchObject({ state: 'over', outcome: 'unknown' });
  });

  it('is not sent again after the deadline, nor after a stop', () => {
    expect(play([[lease, look]], { deadlineAt: START + lease * 1_000 }).asks).toEqual([]);
    expect(play([[lease, look]], { isStopped: true }).asks).toEqual([]);
  });

  it('may have been done, whatever a later one was answered', () => {
    for (const why of ['no_line', 'set_up', 'refused'] as const) {
      expect(
        play([
          [1, notPlaced('unclear')],
          [lease, look],
          [lease + 1, notPlaced(why)],
        ]).attempt.state,
      ).toBe('claimed');
    }
  });
});

describe('whatever happens in whatever order', () => {
  const event = fc.constantFrom<AttemptEvent>(
    placed, connected, accepted, started, completed, canceled, failed, disconnected, hungUp, tone, look,
    createFailed('busy'), createFailed('declined'), notPlaced('no_line'), notPlaced('unclear'),
    { kind: 'not spoken', why: 'failed', result: {} }, { kind: 'not spoken', why: 'unclear', result: {} },
  ); // prettier-ignore
  const events = fc.array(fc.tuple(fc.nat({ max: 200 }), event), { maxLength: 14 });

  it('a live attempt has a time when it is looked at, and one that is over has an outcome', () => {
    fc.assert(
      fc.property(events, fc.boolean(), fc.boolean(), (list, confirm, isStopped) => {
        const ordered = list.toSorted(([one], [other]) => one - other);
        const { attempt } = play(ordered, { confirm, isStopped });
        expect(isLive(attempt)).toBe(attempt.outcome === undefined);
        expect(lookAtOf(attempt, TERMS) === undefined).toBe(!isLive(attempt));
      }),
    );
  });

  it('nothing is heard, cut short or confirmed without a claim to speak', () => {
    fc.assert(
      fc.property(events, fc.boolean(), (list, confirm) => {
        const { attempt, asks } = play(
          list.filter(([, { kind }]) => kind !== 'connected'),
          { confirm },
        );
        expect(asks).not.toContain('speak');
        expect(['heard', 'cut_short', 'confirmed', 'unconfirmed']).not.toContain(attempt.outcome);
      }),
    );
  });

  it('an attempt that is left alone comes to its end', () => {
    fc.assert(
      fc.property(events, (list) => {
        let { attempt } = play(list.toSorted(([one], [other]) => one - other));
        for (let looks = 0; looks < 60 && isLive(attempt); looks += 1) {
          const at = lookAtOf(attempt, TERMS) ?? 0;
          attempt = moveAttempt(attempt, look, TERMS, Math.max(at, START)).next;
        }
        expect(attempt.state).toBe('over');
      }),
    );
  });
});
