import { expect, it } from 'vitest';

import { answerOfKey, KEYS_AFTER_MS } from '../../../src/calls/rules/keys.ts';

it('1 confirms, 2 asks for the message again, 3 says that the callee cannot go; every other key says nothing', () => {
  const keys = ['0', '1', '2', '3', '4', '9', '*', '#', '11', '', undefined];
  expect(keys.map(answerOfKey).filter((answer) => answer !== undefined)).toEqual(['confirms', 'repeat', 'cannot go']);
  expect(['1', '2', '3'].map(answerOfKey)).toEqual(['confirms', 'repeat', 'cannot go']);
});

it('keys count for 8 s after the last word', () => {
  expect(KEYS_AFTER_MS).toBe(8_000);
});
