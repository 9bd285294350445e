import type { RecipientBody } from '../../../src/calls/state/view.ts';
import { type Broken, brokenToAll, hadNoTime, isAllKnown, those } from './promises.ts';
import { idOf, type SentRequest } from './senders.ts';
import { SPEAK_MS, type TwilioWorld } from './twilio-world.ts';

// The promises of the world of Twilio, in addition to the promises of each world. The call itself speaks, answers keys, and ends.

/** A callee has heard one of three units. Twilio tells whole seconds. */
const UNIT_MS = SPEAK_MS / 3 - 1_000;

/** All broken promises. */
export const brokenPromisesOfTwilio = async (world: TwilioWorld): Promise<Broken> => [
  ...(await brokenToAll(world, brokenToRecipient)),
  ...world.account.log().refused.flatMap(({ request, reason }) => {
    // A webhook without an answer is not a mistake of the app.
    return those([!reason.startsWith('11200') && `Twilio refused ${request}: ${reason}`]);
  }),
  ...those([!world.hasNoOpenCall && 'a call was never ended']),
];

const brokenToRecipient = (
  { status, attempts }: RecipientBody,
  index: number,
  sent: SentRequest,
  world: TwilioWorld,
): Broken => {
  const calls = world.placed.filter((one) => one.notificationId === idOf(sent) && one.index === index);
  const heard = calls.map(({ of }) => of.logEntry().speeches.reduce((sum, { spokenMs }) => sum + spokenMs, 0));
  const whole = calls.filter(({ of }) => of.logEntry().speeches.some(({ isComplete }) => isComplete));
  const confirm = sent.request.confirm === true;
  const declined = attempts.filter(({ outcome }) => outcome === 'declined').length;
  const isGivenUp = attempts.length >= world.mode.attempts || declined >= 2 || hadNoTime(sent, index, world);
  return [
    ...those([
      status === 'heard' && confirm && 'heard where a key was asked for',
      status === 'heard' && Math.max(0, ...heard) < UNIT_MS && 'heard without a message',
      status === 'not_reached' && !isGivenUp && 'given up too early',
      isAllKnown(world) && !confirm && whole.length > 1 && `heard ${whole.length} times`,
      isAllKnown(world) && !confirm && whole.length > 0 && status === 'not_reached' && 'heard, and nobody knows',
    ]),
    ...attempts.flatMap(({ outcome, call_connection_id: callId }) => {
      const call = calls.find(({ of }) => of.id === callId);
      // A request that was sent again may have placed two calls.
      const own = calls.filter(({ attemptId }) => attemptId === call?.attemptId);
      const isAnswered = own.some(({ of }) => of.status === 'completed');
      return those([
        outcome === undefined && 'an attempt without an outcome',
        ANSWERED.has(outcome) && !isAnswered && `${outcome} without an answer`,
      ]);
    }),
  ];
};

const ANSWERED: ReadonlySet<string | undefined> = new Set([
  'heard',
  'confirmed',
  'cannot_go',
  'unconfirmed',
  'cut_short',
]);
