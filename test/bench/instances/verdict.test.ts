import { describe, expect, it } from 'vitest';

import { acknowledgedOf, isWrong, verdictOn } from './verdict.ts';

const sent = (...statuses: (number | undefined)[]) =>
  statuses.map((status) => ({ instance: 0, events: 10, ms: 1, lateMs: 0, status }));

describe('the verdict on a total', () => {
  it('counts the events of requests that were answered with 200', () => {
    expect(acknowledgedOf(sent(200, 503, undefined, 200))).toBe(20);
  });

  it.each([
    ['exact', 20, sent(200, 200), false],
    ['WRONG: 19, acknowledged 20 of 20', 19, sent(200, 200), true],
    ['WRONG: 21, acknowledged 20 of 20', 21, sent(200, 200), true],
    ['15, acknowledged 10 of 30', 15, sent(200, 503, undefined), false],
    ['WRONG: 9, acknowledged 10 of 30', 9, sent(200, 503, undefined), true],
    ['WRONG: 31, acknowledged 10 of 30', 31, sent(200, 503, undefined), true],
    ['no answer', undefined, sent(200), false],
  ])('is "%s" for %s events', (verdict, total, requests, wrong) => {
    expect(verdictOn(total, requests)).toBe(verdict);
    expect(isWrong(verdict)).toBe(wrong);
  });
});
