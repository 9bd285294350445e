import { expect, it } from 'vitest';

import type { Change } from '../break-rule.ts';
import { BROKEN, playWithout } from '../broken-rule.ts';

/** Rules of calls. A mode of the world finds out if one is broken: its name begins with this text. */
const RULES: Readonly<Record<string, readonly [mode: string, ...changes: Change[]]>> = {
  'the row of the lines is written at the version that was read': [
    'the same people, and lost',
    ['store/store.ts', 'writeOf(LINES_KEY, etag,', "writeOf(LINES_KEY, etag && '*',"],
  ],
  'a notification is written at the version that was read': [
    'keys, waves and stops',
    ['store/store.ts', 'writeOf(liveKey(id), before?.etag,', "writeOf(liveKey(id), before && '*',"],
  ],
  'a claim and its slot are one transaction': [
    'many people',
    [
      'run/notifications.ts',
      'const committed = sent && (await store.commit(sent));',
      'const committed = sent && (await store.commit({ ...sent, lines: undefined })); if (sent?.lines) await store.writeLines(sent.lines.after, sent.lines.read);',
    ],
  ],
  'a slot is kept for the longest time of a call': [
    'repeated and',
    ['state/lines.ts', 'number, until: now + MAX_ATTEMPT_MS', 'number, until: now + 20_000'],
  ],
  'a slot is kept while its call is hung up': [
    'the same people, and hang',
    ['state/lines.ts', 'now + HANGING_UP_MS', 'now + RELEASED_AFTER_MS'],
  ],
  'a slot is kept for three leases while its call is hung up': [
    'the same people, and hang',
    ['state/lines.ts', 'HANGING_UP_MS = 60_000', 'HANGING_UP_MS = 20_000'],
  ],
  'a slot keeps its number': [
    'the same people, and lost',
    ['rules/queue.ts', '!inUse.has(number)', 'inUse.has(number) || true'],
  ],
  'an event that changes nothing is dropped only after a read': [
    'repeated and',
    ['run/notifications.ts', 'const isSure = remembered === undefined ||', 'const isSure = remembered !== null ||'],
  ],
  'after a lost answer a process carries out what its commit has claimed': [
    'keys and storage faults',
    [
      'run/notifications.ts',
      'if (row !== undefined && lost !== undefined) this.#recover',
      'if (lost === null) this.#recover',
    ],
  ],
  'after its lease an action is given to another commit': [
    'faults of the provider',
    ['state/attempt.ts', '(attempt.action?.at ?? attempt.since) + LEASE_MS', 'attempt.since + 100 * LEASE_MS'],
  ],
  'during its lease a call request belongs to its commit': [
    'Twilio, and reports',
    ['state/attempt.ts', 'DIAL_LEASE_MS = MAX_REQUEST_MS + 10_000', 'DIAL_LEASE_MS = 100'],
  ],
  'a process acts within 5 s of its commit': [
    'suspended',
    ['run/actions.ts', 'ACTS_WITHIN_MS = 5_000', 'ACTS_WITHIN_MS = 500_000'],
  ],
  'all processes go by the clock of storage': [
    'wrong clocks',
    ['phone.ts', 'clockOf(() => table.now())', 'clockOf(() => Date.now())'],
  ],
  // Either rule alone keeps such a callee from being *heard*.
  'an end is final: an answer that is reported after it begins no talk': [
    'Twilio, and reports',
    [
      'state/move-attempt.ts',
      "if (attempt.state === 'unexplained') return answeredAndEnded",
      'if (attempt === null) return answeredAndEnded',
    ],
    ['state/move-attempt.ts', '? whenGone(attempt, terms, moment)', '? ended(attempt, {}, terms, moment.now)'],
  ],
  'a call that is gone had ended at an unknown time': [
    'lost events',
    ['state/move-attempt.ts', '? whenGone(attempt, terms, moment)', '? ended(attempt, {}, terms, moment.now)'],
  ],
  'who has not been called yet comes before who is called again': [
    'repeated and',
    ['rules/queue.ts', 'Number(one.isCalledAgain) - Number(other.isCalledAgain) ||', ''],
  ],
  'an alert that is not urgent leaves a line free': [
    'repeated and',
    ['rules/queue.ts', 'leftForUrgent = callsAtOnce > 1 ? 1 : 0', 'leftForUrgent = 0'],
  ],
  'a notification that cannot be written stops no other': [
    'a row that cannot be written',
    ['run/dialing.ts', 'if (error instanceof SetAside) return undefined;', ''],
    ['run/dialing.ts', 'if (this.#notifications.isSetAside(id)) return false;', ''],
  ],
  'outcomes that a process has left are taken over': [
    'faults of the provider',
    ['run/publisher.ts', 'if (oldest === undefined || now', 'if (oldest !== null || now'],
  ],
  'one unit is heard late rather than early': [
    'repeated and',
    ['state/step.ts', 'unitMs: unitMs + REPORTS_DIFFER_MS', 'unitMs: unitMs / 2'],
  ],
};

it.concurrent.each(Object.entries(RULES))(
  'the world of calls finds out if it is broken that %s',
  async (_, [mode, ...changes]) => {
    const { without, withRule } = await playWithout(changes, 2_000, 'calls', '--mode', mode);
    expect(without).toMatch(BROKEN);
    expect(withRule, 'with the rule').not.toMatch(BROKEN);
  },
);
