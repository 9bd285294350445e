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
  messageUnit,
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
  // The menu is no part of what a callee has to hear.
  expect(messageUnit('Ridge Watch', CUSTOM, terms)).toBe(`${UNIT}${details}`);
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

it('speech takes 10 s to begin, 120 ms a letter and 400 ms a digit or sign; one unit was surely spoken after 80 ms a character', () => {
  const times = (details: string) => speakingTimes('Ridge Watch', CUSTOM, { details });
  const [letters, digits, more] = [times('a'.repeat(10)), times('7'.repeat(10)), times('a'.repeat(20))];
  expect(digits.messageMs - letters.messageMs).toBe(3 * 10 * (400 - 120));
  expect(more.messageMs - letters.messageMs).toBe(3 * 10 * 120);
  expect(more.unitMs - letters.unitMs).toBe(10 * 80);
  // A unit without digits, and without signs but full stops and commas.
  expect(speakingTimes('Ridge Watch', CUSTOM)).toEqual({
    unitMs: UNIT.length * 80,
    messageMs: 10_000 + 3 * UNIT.length * 120,
  });
});
