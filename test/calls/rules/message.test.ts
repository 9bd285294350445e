import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import {
  ALERT_TYPE_NAMES,
  ALERT_TYPES,
  alertTypeOf,
  findAlertType,
  isUrgent,
} from '../../../src/calls/model/alert-types.ts';
import {
  callMessage,
  MAX_DETAILS_CHARACTERS,
  type MessageTerms,
  announcement,
  speakingTimes,
  spokenMessage,
  spokenText,
} from '../../../src/calls/rules/message.ts';

const CUSTOM = alertTypeOf('Custom');
const spoken = (alertType = CUSTOM, terms: MessageTerms = {}, serviceName = 'Ridge Watch'): string =>
  spokenMessage(callMessage(serviceName, alertType, terms));

// Written out from the contract, not derived from the code.
it.each([
  ['Anomaly', 'AnomalyCallback', 'Anomaly has been reported.'],
  ['PointOfInterest', 'PointOfInterestCallback', 'Point of interest has been reported.'],
  ['ReportOfFire', 'ReportOfFireCallback', 'Report of a fire has been reported.'],
  ['ConfirmedFire', 'ConfirmedFireCallback', 'Confirmed fire has been reported.'],
  ['BurnJob', 'BurnJobCallback', 'Burn job has been reported.'],
  ['Custom', 'CustomCallback', 'Custom Alert has been reported.'],
] as const)('the message of %s is its unit three times', (name, callbackPath, phrase) => {
  const unit = `You've received a new Alert from Ridge Watch. ${phrase} `;
  expect(spoken(alertTypeOf(name))).toBe(`${unit}${unit}${unit}`);
  expect(alertTypeOf(name).callbackPath).toBe(callbackPath);
});

it('there are six alert types, whose names are exact', () => {
  expect(ALERT_TYPES).toHaveLength(6);
  expect(['Custom', 'custom', 'toString'].map((name) => findAlertType(name)?.name)).toEqual([
    'Custom',
    undefined,
    undefined,
  ]);
});

it('only fires are urgent', () => {
  expect(ALERT_TYPE_NAMES.filter(isUrgent)).toEqual(['ReportOfFire', 'ConfirmedFire']);
});

const UNIT = "You've received a new Alert from Ridge Watch. Custom Alert has been reported. ";
const MENU = 'Press 1 to confirm, 2 to hear it again, 3 if you cannot go. ';

it.each<[MessageTerms, details: string, menu: string]>([
  [{ confirm: true }, '', MENU],
  [{ details: 'Antelope Ridge, camera 4.' }, 'Antelope Ridge, camera 4. ', ''],
  // Without its full stop the voice would run on.
  [{ confirm: true, details: 'Antelope Ridge, camera 4' }, 'Antelope Ridge, camera 4. ', MENU],
  [{ details: 'Is it smoke?' }, 'Is it smoke? ', ''],
  [{ confirm: false, details: undefined }, '', ''],
])('the message with %j has these in each unit', (terms, details, menu) => {
  expect(spoken(CUSTOM, terms)).toBe(`${UNIT}${details}${menu}`.repeat(3));
  // A callee does not have to hear the menu.
  expect(announcement('Ridge Watch', CUSTOM, terms)).toBe(`${UNIT}${details}`);
});

it('the service name is spoken unchanged, whatever its characters', () => {
  const name = '<Fire & "Rescue"> $& %20 \\n';
  expect(spoken(CUSTOM, {}, name).split(name)).toHaveLength(4);
});

it('of the speeches the message is repeated, and a goodbye is short', () => {
  const texts = ([0, 1, 2, 8, 9] as const).map((speech) => spokenText(speech, { unit: 'Fire. ', hasKeys: true }));
  const message = 'Fire. Fire. Fire. ';
  expect(texts).toEqual([message, message, message, 'Understood. Thank you.', 'Confirmed. Thank you.']);
});

it('the longest service name and details, of characters that count as two, are short enough for the line', () => {
  const terms = { confirm: true, details: '🔥'.repeat(MAX_DETAILS_CHARACTERS) };
  const lengths = ALERT_TYPES.map((type) => spoken(type, terms, '🔥'.repeat(200)).length);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(4_000);
  expect(MAX_DETAILS_CHARACTERS).toBe(200);
});

const DETAILS = fc
  .array(
    fc.oneof(
      fc.constantFrom('Antelope Ridge', 'camera', 'north of', 'BLM', 'Hwy', 'US', '100%', '#', 'o\u2019clock', '滝'),
      fc.double({ min: -180, max: 180, noNaN: true }).map((degrees) => degrees.toFixed(4)),
      fc.nat({ max: 360 }).map((degrees) => `${degrees}°`),
      fc.stringMatching(/^\+1 206 555 0\d{3}$/),
    ),
    { maxLength: 20 },
  )
  .map((parts) => parts.join(' ').slice(0, MAX_DETAILS_CHARACTERS));

const WORDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'zero one two three four five six seven eight nine'.split(' ').map((word, digit) => [digit, word]),
  ),
  '-': 'minus',
  '+': 'plus',
  '%': 'percent',
  '°': 'degrees',
  '#': 'number',
  滝: 'waterfall',
};

/** A text as a voice spells it, at its usual speed of 15 characters a second. */
const spelledMs = (text: string): number => {
  const spelled = text
    .replaceAll(/(?<=\d)\.(?=\d)/g, ' point ')
    .replaceAll(/[A-Z]{2,}/g, (word) => Array.from(word, (letter) => ` ${letter} e`).join(' '))
    .replaceAll(/[-\d+%°#滝]/g, (sign) => ` ${WORDS[sign]} `);
  return (spelled.replaceAll(/\s+/g, ' ').length / 15) * 1_000;
};

it('a unit is surely spoken after its time, with coordinates, phone numbers and capitals too, and before the message is over', () => {
  fc.assert(
    fc.property(DETAILS, fc.boolean(), (details, confirm) => {
      const terms = { details, confirm };
      const { unitMs, messageMs } = speakingTimes('Ridge Watch', CUSTOM, terms);
      expect(unitMs).toBeGreaterThanOrEqual(spelledMs(announcement('Ridge Watch', CUSTOM, terms)));
      expect(messageMs).toBeGreaterThan(3 * unitMs);
    }),
  );
});

it('speech takes 10 s to begin, 120 ms a letter and 500 ms a digit, sign or capital in a row; the time of a unit has 80 ms a letter', () => {
  const times = (details: string) => speakingTimes('Ridge Watch', CUSTOM, { details });
  const letters = times('a'.repeat(11));
  const added = (details: string) => {
    const { unitMs, messageMs } = times(details);
    return [unitMs - letters.unitMs, messageMs - letters.messageMs];
  };
  expect(added('a'.repeat(21))).toEqual([10 * 80, 3 * 10 * 120]);
  for (const spelled of ['7', '7'.repeat(10), '-', 'BLM', '4.2', '37.7749', "40'7", '°', 'ж']) {
    const count = spelled.length;
    expect(added(spelled.padEnd(11, 'a'))).toEqual([count * (500 - 80), 3 * count * (500 - 120)]);
  }
  for (const plain of ['Antelope Rid', 'camera 4. No', "it's, there"]) {
    const digits = plain.includes('4') ? 1 : 0;
    expect(added(plain)[0]).toBe((plain.length - 11) * 80 + digits * (500 - 80));
  }
  // A unit without digits, and without signs but full stops and commas.
  expect(speakingTimes('Ridge Watch', CUSTOM)).toEqual({
    unitMs: UNIT.length * 80,
    messageMs: 10_000 + 3 * UNIT.length * 120,
  });
});
