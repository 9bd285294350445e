import { expect, it } from 'vitest';

import { scenarioOf } from '../../infra/local/acs-simulator/scenarios.ts';
import { freshCallees } from '../../infra/local/demo/callees.ts';

const SCENARIOS = ['answered', 'no answer', 'presses a key in the middle of the message', 'answered'];

it('calls other numbers in every demo on one simulator, and the same happens to them', () => {
  const called = new Set<string>();
  for (let demo = 1; demo <= 50; demo += 1) {
    const { tested, alerted } = freshCallees(called);
    const callees = [tested, ...alerted];
    expect(callees.filter((number) => called.has(number))).toEqual([]);
    expect(callees.map((number) => scenarioOf(number).name)).toEqual(SCENARIOS);
    // Numbers like these belong to nobody.
    expect(callees.every((number) => /^\+1[2-9]\d\d55501\d\d$/.test(number))).toBe(true);
    for (const number of callees) called.add(number);
  }
});

it('leaves out a demo of which only one number was called, and says when there are no more', () => {
  expect(freshCallees(new Set(['+12065550170'])).tested).toBe('+12075550100');
  const all = new Set(Array.from({ length: 800 }, (_, index) => `+1${String(206 + index)}5550100`));
  expect(() => freshCallees(all)).toThrow('Start the service again');
});
