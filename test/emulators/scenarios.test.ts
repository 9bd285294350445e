import { expect, it } from 'vitest';

import { SCENARIOS } from '../../infra/emulators/phone-network/scenarios.ts';
import { acs, twilio } from './wires.ts';

/** The steps at ACS and at Twilio, with the milliseconds since the call request. */
type Course = readonly [acs: string, twilio: string];

const CONNECTED = 'CallConnected 1000, ParticipantsUpdated 1100';
const SPEAKS = `${CONNECTED}, PlayStarted 1100`;
const HEARD = `${SPEAKS}, PlayCompleted 3000`;
const ENDS = `${HEARD}, CallDisconnected 7100`;
const ANSWERED = 'initiated 0, in-progress 1000';
const OVER = `${ANSWERED}, end 7100, completed 200 7100`;
const ALL_WELL: Course = [ENDS, OVER];
const KEY_1 = `${ANSWERED}, key 1 2100, completed 200 4100`;
const KEY_3 = KEY_1.replace('key 1', 'key 3');
/** ACS: at each key the service interrupts its current speech by another. */
const pressed = (...keys: readonly (readonly [tone: string, at: number])[]): string => {
  const answered = keys.map(([tone, at]) => `ToneReceived ${tone} ${at}, PlayCanceled ${at}, PlayStarted ${at + 100}`);
  const [, last = 0] = keys.at(-1) ?? [];
  return [SPEAKS, ...answered, `PlayCompleted ${last + 2_000}`, `CallDisconnected ${last + 6_100}`].join(', ');
};
const unreached = (codes: string, status: string, at = 1_000): Course => [
  `CreateCallFailed ${codes} ${at}, CallDisconnected ${at}`,
  `initiated 0, ${status} ${at}`,
];
const NO_ANSWER = unreached('480/560480', 'no-answer 480');
const BUSY = unreached('486/560486', 'busy 486');
const DECLINED = unreached('603/560603', 'busy 603');
const throttled = (seconds: number): Course => [
  `429/TooManyRequests;retry-after=${seconds} 0`,
  `429/20429;retry-after=${seconds} 0`,
];
const HANGS: Course = ['hangs 0', 'hangs 0'];
const INVALID: Course = ['400/560484 0', '400/21211 0'];
/** Each event after the request comes later by `ms`. */
const later = (course: string, ms: number): string =>
  course.replaceAll(/[1-9]\d{3}(?=,|$)/g, (at) => String(Number(at) + ms));
/** The steps of the first calls to a number. */
const inTurn = (...courses: readonly Course[]): Course => [
  courses.map(([one]) => one).join(' | '),
  courses.map(([, other]) => other).join(' | '),
];

const COURSES: readonly (readonly [digits: string, ...Course])[] = [
  ['00', ...ALL_WELL],
  ['01', ...NO_ANSWER],
  ['02', ...BUSY],
  ['03', ...unreached('487/10024', 'busy 603')],
  ['04', ...unreached('484/560484', 'failed 484')],
  ['05', ...unreached('403/510403', 'failed 403')],
  ['06', ...inTurn(BUSY, ALL_WELL)],
  ['07', ...inTurn(NO_ANSWER, ALL_WELL)],
  ['08', ...inTurn(BUSY, NO_ANSWER, ALL_WELL)],
  ['09', later(ENDS, 9_000), later(OVER, 9_000)],
  ['10', `${CONNECTED}, PlayFailed 400/8565 1100, CallDisconnected 5200`, OVER],
  ['12', `${SPEAKS}, PlayCanceled 2000, CallDisconnected 2100`, `${ANSWERED}, completed 200 2100`],
  ['13', CONNECTED.replace(',', ', 400/8535 1000,'), OVER],
  ['15', ENDS.replace(',', ', answer lost 1000,'), OVER],
  ['16', `${CONNECTED.replace(',', ', hangs 1000,')} | ${ENDS}`, OVER],
  ['19', 'CallConnected 1000, CallDisconnected 1100', `${ANSWERED}, completed 200 1000`],
  ['21', ENDS.replaceAll(/\w+ \d+/g, '$&, $&'), OVER.replaceAll(/[a-z]\S*( 200)? \d+/g, '$&, $&')],
  [
    '22',
    'ParticipantsUpdated 1000, CallConnected 1100, PlayCompleted 3100, PlayStarted 3200, CallDisconnected 7200, CallConnected 7300',
    'in-progress 1000, initiated 5000, end 7100, completed 200 7100',
  ],
  ['23', later(ENDS, -1_000), later(OVER, -1_000)],
  ['24', SPEAKS, `${ANSWERED}, completed 200 7100`],
  ['25', 'ParticipantsUpdated 1100', 'initiated 0, end 7100, completed 200 7100'],
  ['29', '', 'initiated 0'],
  ['30', ...inTurn(throttled(1), ALL_WELL)],
  ['31', ...inTurn(throttled(600), throttled(600))],
  ['32', ...inTurn(HANGS, ALL_WELL)],
  ['33', ...inTurn(HANGS, HANGS)],
  ['34', `answer lost 0, ${ENDS}`, `answer lost 0, ${OVER}`],
  ['36', ...inTurn(INVALID, INVALID)],
  ['39', ...inTurn(unreached('403/8530', 'failed 487 10004', 100), ALL_WELL)],
  ['40', `${HEARD}, answer lost 7000, CallDisconnected 7100`, OVER],
  ['44', SPEAKS, ANSWERED],
  ['45', ...DECLINED],
  ['46', ...inTurn(DECLINED, ALL_WELL)],
  ['48', 'CallDisconnected 1000', 'initiated 0'],
  ['49', ...unreached('487/10004', 'no-answer 487')],
  ['50', NO_ANSWER[0], 'initiated 0, no-answer 480 1000, in-progress 1100'],
  ['51', unreached('484/560484', '')[0], 'initiated 0, in-progress 200, failed 484 1000'],
  ['52', `${SPEAKS}, PlayCanceled 1200, CallDisconnected 1300`, 'initiated 0, completed 200 1300, in-progress 1400'],
  ['55', `${CONNECTED.replace(',', ', 400/8585 1000,')} | ${ENDS}`, OVER],
  ['58', `${SPEAKS}, PlayCanceled 2500, CallDisconnected 2600`, `${ANSWERED}, completed 200 2600`],
  ['60', `${HEARD}, 410/Gone 7000, CallDisconnected 7100`, OVER],
  ['70', pressed(['one', 2_000]), KEY_1],
  [
    '71',
    `${HEARD}, ToneReceived one 3000, PlayStarted 3100, PlayCompleted 5000, CallDisconnected 7100`,
    `${ANSWERED}, key 1 3100, completed 200 5100`,
  ],
  ['72', pressed(['one', 2_000], ['one', 2_200]), KEY_1],
  // ACS: the service listens after the first word, and the callee presses the key again.
  ['73', pressed(['one', 1_100]), `${ANSWERED}, key 1 1100, completed 200 3100`],
  ['74', `${ENDS} | ${pressed(['one', 2_000])}`, `${OVER} | ${KEY_1}`],
  ['75', ...ALL_WELL],
  ['76', ENDS, `${ANSWERED}, completed 200 2100`],
  ['77', `${ENDS}, ToneReceived one 7300`, `${ANSWERED}, completed 200 2200, key 1 2500`],
  ['78', `${SPEAKS}, ToneFailed 400/8500 2000, PlayCompleted 3000, CallDisconnected 7100`, OVER],
  [
    '79',
    `${SPEAKS}, ToneReceived one 2000, PlayCanceled 2000, CallDisconnected 2100`,
    `${ANSWERED}, key 1 2100, completed 200 2100`,
  ],
  ['80', ENDS.replace(',', ', 400/8500 1000,'), KEY_1],
  ['82', pressed(['one', 2_000]).replace(',', ', answer lost 1000,'), KEY_1],
  [
    '83',
    `${HEARD}, ToneReceived one 6500, PlayStarted 6600, PlayCanceled 7000, CallDisconnected 7100`,
    `${ANSWERED}, key 1 6600, completed 200 8600`,
  ],
  ['84', pressed(['two', 2_000], ['one', 3_000]), `${ANSWERED}, key 2 2100, key 1 3100, completed 200 5100`],
  ['85', pressed(['three', 2_000]), KEY_3],
  ['86', pressed(['nine', 2_000]), KEY_1.replace('key 1', 'key 9')],
  ['87', pressed(['one', 2_000], ['three', 2_200]), KEY_1],
  ['88', pressed(['three', 2_000], ['one', 2_200]), KEY_3],
  ['91', `${pressed(['three', 2_000])}, ToneReceived one 8300`, KEY_3],
  [
    '92',
    pressed(['two', 2_000], ['two', 3_000], ['two', 4_000]),
    `${ANSWERED}, key 2 2100, key 2 3100, key 2 4100, end 10100, completed 200 10100`,
  ],
  ['94', `${SPEAKS}, ToneReceived one 2000, 400/8535 2000, PlayCompleted 3000, CallDisconnected 7100`, KEY_1],
];

it.each(COURSES)('a number that ends with %s has its course, at ACS and at Twilio', async (digits, ...courses) => {
  for (const { name, call, read, network } of [acs(), twilio()]) {
    const calls: string[] = [];
    const course = courses[name === 'ACS' ? 0 : 1];
    for (const _ of course.split(' | ')) {
      await call(`+120655501${digits}`);
      calls.push(await read());
    }
    expect(calls.join(' | '), name).toBe(course);
    expect(network.log().refused).toEqual([]);
  }
});

it('each scenario has its course', () => {
  const digitsOfCourses = COURSES.map(([digits]) => digits);
  expect(digitsOfCourses).toEqual(expect.arrayContaining(SCENARIOS.map(({ digits }) => digits)));
});

it('the log tells how much of a text the callee heard, who ended the call, and which events are lost', async () => {
  for (const { call, read, network } of [acs(), twilio()]) {
    for (const number of ['+12065550158', '+12065550148']) {
      await call(number);
      await read();
    }
    const heard = { text: 'A message', startedAt: expect.any(String), spokenMs: 1_500, isComplete: false };
    const [heardPart, unheard] = network.log().calls;
    expect(heardPart).toMatchObject({ spoken: ['A message'], speeches: [heard], endedBy: 'callee', state: 'ended' });
    expect(unheard?.steps.filter(({ answer }) => answer === 'lost')).toHaveLength(1);
  }
});
