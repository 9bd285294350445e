import { stripVTControlCharacters } from 'node:util';

import { expect, it } from 'vitest';

import { jsonLine, readableLine } from '../../infra/cli/start/readable-line.ts';

const NOW = new Date(2026, 10, 21, 8, 15, 2);
const LINE = '{"event":"events recorded","recorded":5,"reason":"at rest","invocation_id":"i","trace_id":"t"}';
const LIBRARY = "Warning: Unexpected call to 'log' on the context object after function execution has completed.";

it.each([
  [LINE, false, '08:15:02   events recorded: recorded 5, reason at rest'],
  ['{"event":"app started"}', true, '08:15:02 ! app started'],
  ['[phone] +12065550100 hears: "Fire."', false, '08:15:02 ☎ [phone] +12065550100 hears: "Fire."'],
  ['Sweep failed: Error', true, '08:15:02 ! Sweep failed: Error'],
  [LIBRARY, true, undefined],
])('%s is read as words', (line, isWrong, text) => {
  const readable = readableLine(line, isWrong, NOW);
  expect(readable && stripVTControlCharacters(readable)).toBe(text);
});

it.each([
  [LINE, LINE],
  ['[phone] +12065550100 is called', '{"event":"phone","text":"+12065550100 is called"}'],
  ['Sweep failed: Error', '{"event":"Sweep failed: Error"}'],
  [LIBRARY, undefined],
])('with --json %s stays JSON', (line, json) => {
  expect(jsonLine(line)).toBe(json);
});
