import { expect, it } from 'vitest';

import { faultsOf } from '../prose/rules.ts';
import { sentencesOf, sentencesOfBicep, sentencesOfComments, sentencesOfHashComments } from '../prose/sentences.ts';

const faultsIn = (text: string): readonly string[] => sentencesOf(text).flatMap((sentence) => faultsOf(sentence.text));

it.each([
  'Who is busy is called again.',
  'Whoever finds it due goes on, and so does a process that was started beside.',
  'Send the halves: the same again would fail for ever.',
  'What is due of it all the same is not looked at without a pause.',
  'A check of something of which nothing was heard until its time.',
  'The next one is dialled as soon as those of the waves before who have confirmed are enough.',
  'One for whom there is never a line does not keep the others waiting.',
  'With Node 22 or later at hand, the part in quotes is enough.',
  'A late report is taken for the lost one if there is none that fits.',
  'Waiting uses no attempt; answering and hearing nothing uses one.',
  'The sweep looks at a row without the mark of the generation that counts.',
  'A row has the whole number until the story of the call ends.',
  'What any handler gives back.',
  'Most reads of one question at a time.',
  'Event Grid takes no larger batch, and its headers begin so.',
  'The notification as the table has it.',
  'The value of a JSON text; undefined where the text is no JSON.',
  'A day that fails holds up no other one.',
  'The tally of the days that end with one.',
  'Networks release a line so late.',
  'A call as the log of the simulator tells it.',
  'Spreadsheets take UTF-8 for something else.',
  'Of the connected call.',
  'When each did last.',
])('rejects: %s', (sentence) => {
  expect(faultsIn(sentence)).not.toEqual([]);
});

it.each([
  'The service calls a busy recipient again.',
  'To rotate the key, set the new key, tell the caller, and delete the old key.',
  'Users who have the Owner role can create role assignments at this scope.',
  'What happens if an instance stops while it holds a lease?',
  'There is no longer a lease, and no instance is so late that it waits for more than one.',
  'The function runs on one instance at a time, even if several instances are available.',
  'If you do not have a storage account, create one in the same region as your function app.',
  'For more information about what the timer logs, see the [table](#logs).',
  'A retry policy tells the runtime to rerun a failed execution until it succeeds or the maximum number of retries occurs.',
])('accepts: %s', (sentence) => {
  expect(faultsIn(sentence)).toEqual([]);
});

/** A sentence of a number of words, from 3, most of them code. */
const words = (count: number): string => `The log has${' `a b`'.repeat(count - 3)}.`;

it('rejects a sentence of more than 35 words, in which code is one word', () => {
  expect(faultsIn(words(35))).toEqual([]);
  expect(faultsIn(words(36))).toEqual(['36 words: at most 35']);
});

it('reads table cells, list items and comments, and tells the line', () => {
  const table = '# Who waits\n\n| What |\n| --- |\n| who waits |\n\n- One at 3 p.m. or `B`. 503: two.\n';
  expect(sentencesOf(table).map(({ text }) => text)).toEqual(['who waits', 'One at 3 p.m. or CODE.', '503: two.']);
  const source =
    '// First,\n// continued.\nconst url = "https://x"; // not read\n\n/**\n * Second.\n *\n * @returns third\n */\n';
  expect(sentencesOfComments(source)).toEqual([
    { text: 'First, continued.', line: 1 },
    { text: 'Second.', line: 6 },
    { text: 'CODE third', line: 8 },
  ]);
});

it('reads the comments and descriptions of Bicep files, and the comments of scripts', () => {
  const bicep = "// First.\nvar a = 1\n@description('Second.')\nparam b string\n    description: 'Third.'\n";
  expect(sentencesOfBicep(bicep)).toEqual([
    { text: 'First.', line: 1 },
    { text: 'Second.', line: 3 },
    { text: 'Third.', line: 5 },
  ]);
  expect(sentencesOfHashComments('#!/bin/sh\n# First.\nrun # not read\n  # Second.\n')).toEqual([
    { text: 'First.', line: 2 },
    { text: 'Second.', line: 4 },
  ]);
});
