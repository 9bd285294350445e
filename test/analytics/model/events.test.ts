import { expect, it } from 'vitest';

import {
  CATEGORY_FORM,
  contributionOf,
  type Facets,
  idProblem,
  MAX_ID_LENGTH,
} from '../../../src/analytics/model/camera-event.ts';
import { applyFacets } from '../../../src/analytics/model/newest-wins.ts';
import { MAX_SHARDS, shardOf, tableOfShards } from '../../../src/analytics/rows/keys.ts';
import { EMPTY_TALLY } from '../../../src/analytics/model/tally.ts';
import { all, frame, START, toEventMessage } from '../counting.ts';
import type { PlainMessage } from '../oracle.ts';

it.each([
  [undefined, ['ridge-04', '/'.repeat(128), '|%#?\\', 'o\'brien "x"']],
  [undefined, ['🔥'.repeat(64), '\uFF0F', 'Ust‧Kut', '__proto__']],
  ['is empty', ['']],
  ['is longer than 128 characters', ['x'.repeat(MAX_ID_LENGTH + 1), '🔥'.repeat(65)]],
  ['has no visible character', [' ', '\u3000', '\u3164']],
  ['has a control character', ['a\u2028', 'a\u0000', 'a\nb', 'a\tb', '\u007F', '\u0085', '\u009F']],
  ['has a code point that is not a character', ['\uD83D', '\uDD25\uD83D']],
  ['has a code point that is not a character', ['\uFDD0', '\uFDEF', '\uFFFE', '\uFFFF', '\u{1FFFE}']],
])('an id: %s: %j', (problem, ids) => {
  expect(ids.map(idProblem)).toEqual(ids.map(() => problem));
});

it.each([
  [true, ['fire', 'F', 'a-b_c9', 'constructor', `x${'y'.repeat(63)}`]],
  [false, ['', '9a', '-a', '_a', '__proto__', 'a b', 'a\n', 'é', 'a.b', 'a/b', `x${'y'.repeat(64)}`]],
])('a category: %s: %j', (isCategory, names) => {
  expect(names.map((name) => CATEGORY_FORM.test(name))).toEqual(names.map(() => isCategory));
});

const fold = (...messages: readonly Partial<PlainMessage>[]): Facets =>
  messages
    .map((more) => toEventMessage(frame('ridge-04', 'f', START, { time: START, ...more })).facets)
    .reduce(applyFacets, {});

// The world of counting plays the counts of facets, and that the newest wins.
it('of two values with the same time the first stays; a category that is taken away leaves nothing behind', () => {
  expect(fold({ reviewed: true }, { detections: { fire: 1 }, reviewed: false })).toEqual(fold({ reviewed: true }));
  const known = fold({ annotations: { fire: 2, smoke: 1 } }, { time: START + 1n, annotations: { smoke: 3 } });
  const never = fold({ time: START + 1n, annotations: { smoke: 3, fire: 0 } });
  expect(contributionOf(known)).toEqual(contributionOf(never));
});

it('an event that is removed contributes nothing; its other messages are kept by their time, and count once it is not', () => {
  const removed = fold(
    { removed: true },
    { time: START + 2n, detections: { fire: 1 } },
    { time: START + 1n, reviewed: true },
  );
  expect(contributionOf(removed)).toEqual(EMPTY_TALLY);
  const { facets } = toEventMessage({
    cameraId: 'ridge-04',
    eventId: 'f',
    ts: START,
    time: START + 3n,
    removed: false,
  });
  const again = fold({ time: START + 2n, detections: { fire: 1 }, reviewed: true });
  expect(contributionOf(applyFacets(removed, facets))).toEqual(contributionOf(again));
});

it('each number of shards has its table', () => {
  expect([1, 8, 64].map(tableOfShards)).toEqual(['analytics', 'analytics8', 'analytics64']);
});

it('the shard of a camera never changes, because stored rows are found by it; each shard has about as many cameras', () => {
  expect(['ridge-04', 'ridge-05', '見張り台', "o'brien's 🔥"].map((id) => shardOf(id, 64))).toEqual([26, 7, 13, 39]);
  for (const shards of [1, 2, 7, MAX_SHARDS]) {
    const cameras = all(100 * shards).map((index) => shardOf(`ridge-${index}`, shards));
    const sizes = all(shards).map((shard) => cameras.filter((of) => of === shard).length);
    expect(Math.min(...sizes)).toBeGreaterThan(50);
  }
});
