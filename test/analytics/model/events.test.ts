import { expect, it } from 'vitest';

import { categoriesOf, contributionOf, type Facets } from '../../../src/analytics/model/camera-event.ts';
import { CATEGORY_FORM, idProblem, MAX_ID_LENGTH } from '../../../src/analytics/model/identifier.ts';
import { applyFacets } from '../../../src/analytics/model/newest-wins.ts';
import { MAX_SHARDS, shardOf } from '../../../src/analytics/model/shard.ts';
import { NO_COUNT } from '../../../src/analytics/model/tally.ts';
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

// What facets count, and that the newest wins, is played in the world of counting.
it('of two values with the same time the first stays; a category that was removed stays, and counts 0', () => {
  expect(fold({ reviewed: true }, { detections: { fire: 1 }, reviewed: false })).toEqual(fold({ reviewed: true }));
  const known = fold({ annotations: { fire: 2, smoke: 1 } }, { time: START + 1n, annotations: { smoke: 3 } });
  expect(categoriesOf(known)).toEqual(new Set(['fire', 'smoke']));
  expect(contributionOf(known).categories.get('fire')).toEqual(NO_COUNT);
});

it('the shard of a camera never changes, because stored rows are found by it; each shard has about as many cameras', () => {
  expect(['ridge-04', 'ridge-05', '見張り台', "o'brien's 🔥"].map((id) => shardOf(id, 64))).toEqual([26, 7, 13, 39]);
  for (const shards of [1, 2, 7, MAX_SHARDS]) {
    const cameras = all(100 * shards).map((index) => shardOf(`ridge-${index}`, shards));
    const sizes = all(shards).map((shard) => cameras.filter((of) => of === shard).length);
    expect(Math.min(...sizes)).toBeGreaterThan(50);
  }
});
